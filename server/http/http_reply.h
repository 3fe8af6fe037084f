/* Inside of the HTTP service: what its replies share. Routes see http.h. */
#ifndef CAIRN_SERVER_HTTP_REPLY_H
#define CAIRN_SERVER_HTTP_REPLY_H

#include "server/http/http_request.h"

/** Every reply of this server passes here, refusals included, except for those that are sent past the library.
 * @param content_type  NULL: none
 * @param response      is the library's then; NULL: it could not be made, and the connection is cut */
void http_reply(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		struct MHD_Response *response);

/** Send the refusal that stopped a body (HTTP_STAGE_LINGER), once nothing is held for that body any more. */
void http_say_midway(struct http_request *req);

#endif
