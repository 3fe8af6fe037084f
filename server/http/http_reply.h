/* Internal to the HTTP service: the common path of all replies. Routes use http.h. */
#ifndef CAIRN_SERVER_HTTP_REPLY_H
#define CAIRN_SERVER_HTTP_REPLY_H

#include "server/http/http_request.h"

/** Sends a reply. All replies use it, refusals included, except those sent past the library. @param content_type  NULL:
 * none @param response  taken over by the library; NULL: it could not be made, and the connection is cut */
void http_reply(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		struct MHD_Response *response);

/** Sends the refusal that ended a body (HTTP_STAGE_LINGER). Call when the body is no longer held. */
void http_say_midway(struct http_request *req);

#endif
