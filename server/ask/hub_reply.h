/* Replies in the forms that a hub's clients expect: errors, links to the next page, times. */
#ifndef CAIRN_SERVER_HUB_REPLY_H
#define CAIRN_SERVER_HUB_REPLY_H

#include "server/ask/hub_call.h"

/** Replies an error of a route whose errors are HTTP_ERRORS_HUB.
 * @param error_code  X-Error-Code, by which clients tell errors apart; NULL: none */
void hub_reply_error(struct http_request *req, unsigned code, const char *error_code, const char *rule,
		     const char *text);

/** Replies the failure of a call. An unknown key is a 401 that reveals nothing about the resource. For a hidden or
 * missing resource, a client without a key gets 401, too, and a client with a key gets 404. */
void hub_reply_failure(struct http_request *req, const struct hub_call *call);

/** The answer to a path below /api/ that the hub does not know. */
extern const struct http_unknown HUB_NO_ROUTE;

/** Replies 501 for a feature that this hub lacks, with X-Error-Code NotImplemented and this text. */
void hub_reply_left_out(struct http_request *req, const char *text);

/** Adds a Link header with the next page's URL, in the form of printf(). @return false: an error was replied */
bool hub_reply_next(struct http_request *req, const char *url, ...) CAIRN_PRINTF(2, 3);

/** Room for "2026-11-03T14:05:06.000Z". */
enum { HUB_TIME_BYTES = 32 };
const char *hub_time(char out[static HUB_TIME_BYTES], int64_t unix_ms);

#endif
