/* The answer of the hub's token endpoints. */
#ifndef CAIRN_SERVER_ROUTE_TOKEN_H
#define CAIRN_SERVER_ROUTE_TOKEN_H

#include "server/http/http.h"

/** Replies with a token, both as JSON and in headers. Each client reads only one of the two, and a client that misses
 * its form asks again and again. @param base  base URL of the store */
void route_reply_token(struct http_request *req, const char *token, int64_t expires_unix_s, const char *base);

#endif
