/* The answer of the hub's token endpoints. */
#ifndef CAIRN_SERVER_ROUTE_TOKEN_H
#define CAIRN_SERVER_ROUTE_TOKEN_H

#include "server/http/http.h"

/** Replies with a token, as JSON and in headers: each client reads one of both, and one that misses its form asks
 * forever. @param base  base URL of the store */
void route_reply_token(struct http_request *req, const char *token, int64_t expires_unix_s, const char *base);

#endif
