/* Arguments and replies that many routes share. */
#ifndef CAIRN_SERVER_ROUTE_ARGS_H
#define CAIRN_SERVER_ROUTE_ARGS_H

#include "hash/hash.h"
#include "server/http/http.h"

/** Is {prefix} "default", or the other name that this route accepts (NULL: none)? @return false: a 404 was replied */
bool route_prefix(struct http_request *req, const char *other);

/** Are xorbs kept here, and not elsewhere (xorbs = external)? @return false: a 501 was replied */
bool route_xorbs_kept_here(struct http_request *req);

/** Reads {hash}. @return false: a 400 was replied */
bool route_hash(struct http_request *req, struct cairn_hash *out);

/** Reads ?limit=N, the number of rows to list: 1 to most. @param by_default  used if it is absent @return false: N is
 * not such a number; nothing was replied */
bool route_limit(struct http_request *req, uint32_t by_default, uint32_t most, uint32_t *limit);

/** Replies 200 with the JSON, which is taken over. After a failure replies the error: of status, or of the buffer. */
void route_reply_made(struct http_request *req, enum cairn_status status, struct cairn_buf *json);

/** Replies that an upload could not be accepted. A fault of the upload is a 400, whatever its status: the stock clients
 * would read a 404 or 409 differently. Replies other failures as http_reply_status() does. */
void route_reply_refused(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag);

/** Replies that a file is not available: 404 if it is unknown or the asker may not read it, 500 if one of its xorbs is
 * lost. Never 416, which the stock clients take for an empty file. Replies other failures as http_reply_status(). */
void route_reply_no_file(struct http_request *req, enum cairn_status status);

#endif
