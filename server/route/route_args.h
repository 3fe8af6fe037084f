/* Arguments that many routes take, and replies that many give. */
#ifndef CAIRN_SERVER_ROUTE_ARGS_H
#define CAIRN_SERVER_ROUTE_ARGS_H

#include "hash/hash.h"
#include "server/http/http.h"

/** Is {prefix} "default", or the other name that it has here (NULL: none)? @return false: a 404 was replied */
bool route_prefix(struct http_request *req, const char *other);

/** Are xorbs kept here, and not elsewhere (xorbs = external)? @return false: a 501 was replied */
bool route_xorbs_kept_here(struct http_request *req);

/** Read {hash}. @return false: a 400 was replied */
bool route_hash(struct http_request *req, struct cairn_hash *out);

/** How many rows of a list are asked for: ?limit=N, 1 to most. @param by_default  when it is not said
 *  @return false: it is no such number; nothing was replied */
bool route_limit(struct http_request *req, uint32_t by_default, uint32_t most, uint32_t *limit);

/** Reply 200 with the JSON that was made, which is taken over; or why it could not be made: its status, else the
 *  buffer's. */
void route_reply_made(struct http_request *req, enum cairn_status status, struct cairn_buf *json);

/** Verification of an upload failed, or it could not be done: what is wrong with the upload is a 400 whatever its
 * status (a 404 or 409 would mean something else to the stock clients), the rest as http_reply_status() has it. */
void route_reply_refused(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag);

/** A file cannot be had: 404 for one that is unknown or another's (never 416: the stock clients would take it for an
 * empty file), 500 for one of which a xorb is gone, the rest as http_reply_status() has it. */
void route_reply_no_file(struct http_request *req, enum cairn_status status);

#endif
