/* A request's body that is read into memory, within a limit. What has come counts as the sender's. */
#ifndef CAIRN_SERVER_ROUTE_BODY_H
#define CAIRN_SERVER_ROUTE_BODY_H

#include "base/buf.h"
#include "base/json.h"
#include "cas/budget.h"
#include "server/http/http.h"

/** Part of a route's state; zeroed at first. */
struct route_body {
	struct cairn_buf bytes;
	struct cairn_use use; /* may be handed on with the bytes */
};

/** From head(). @param bytes_max  at least the route's body_max. @return false: there is no room for it now, which was
 * replied */
bool route_body_begin(struct http_request *req, struct route_body *body, size_t bytes_max);

/** From body(); replies when it cannot be taken. */
void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len);

/** From done(): the body as JSON, owned by the caller; NULL: it is none. */
struct cairn_json *route_body_json(const struct route_body *body);

/** From free(). Harmless when it was not begun. */
void route_body_fini(struct route_body *body);

#endif
