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

/** Likewise, counted as this sender's. */
bool route_body_begin_as(struct http_request *req, struct route_body *body, size_t bytes_max,
			 const struct cairn_hash *sender);

/** From body(); replies when it cannot be taken. */
void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len);

/** From done(): the body as JSON, of at most 200 values; owned by the caller; NULL: it is none. A value takes 200 bytes
 *  where "{}," came, and nobody counts that: so few may be kept while the request waits for a worker. */
struct cairn_json *route_body_json(const struct route_body *body);
/** Likewise for lists, of at most 100,000 values: 20 MiB. To be ended by whoever began it, before anything is waited
 *  for. */
struct cairn_json *route_body_json_list(const struct route_body *body);

/** From free(). Harmless when it was not begun. */
void route_body_fini(struct route_body *body);

#endif
