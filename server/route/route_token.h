/* The answer of the hub's token endpoints. */
#ifndef CAIRN_SERVER_ROUTE_TOKEN_H
#define CAIRN_SERVER_ROUTE_TOKEN_H

#include "server/http/http.h"

/** Reply a token twice, as JSON and in headers: some clients read the ones, some the others, and one that misses its
 * own asks again and again. @param base  of the addresses of the store */
void route_reply_token(struct http_request *req, const char *token, int64_t expires_unix_s, const char *base);

#endif
