/* Errors as a hub's clients expect them, and other forms that its answers share. */
#ifndef CAIRN_SERVER_HUB_REPLY_H
#define CAIRN_SERVER_HUB_REPLY_H

#include "server/hub/hub_call.h"

/**
 * An error of a route whose errors are HTTP_ERRORS_HUB.
 * @param error_code  X-Error-Code, by which clients tell errors apart; NULL: none
 */
void hub_reply_error(struct http_request *req, unsigned code, const char *error_code, const char *rule,
		     const char *text);

/** What became of a call that failed. A key that is not known is 401 without a word on what was asked for; a client
 * without a key gets 401, too, for what is hidden or missing; a client with a key gets 404. */
void hub_reply_failure(struct http_request *req, const struct hub_call *call);

/** What a hub has and this one has not: 501, with X-Error-Code NotImplemented and a sentence on it. */
void hub_reply_left_out(struct http_request *req, const char *text);

/** Say in a Link header where the next page is: its URL, as printf() makes it.
 * @return false: that could not be said, and why was replied */
bool hub_reply_next(struct http_request *req, const char *url, ...) CAIRN_PRINTF(2, 3);

/** Room for "2026-11-03T14:05:06.000Z". */
enum { HUB_TIME_BYTES = 32 };
const char *hub_time(char out[static HUB_TIME_BYTES], int64_t unix_ms);

#endif
