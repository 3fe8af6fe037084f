/* A request's body that is gathered before it is looked at: a long one not in memory (cas/body.h). */
#ifndef CAIRN_SERVER_ROUTE_BODY_H
#define CAIRN_SERVER_ROUTE_BODY_H

#include "base/json.h"
#include "cas/body.h"
#include "server/route/route_piece.h"

/** Part of a route's state, which is not moved; zeroed at first. */
struct route_body {
	struct cairn_body in;
	struct route_piece piece; /* while it comes */
};

/** From head(). @return false: there is no room for it now, which was replied */
bool route_body_begin(struct http_request *req, struct route_body *body);

/** Likewise, counted as this sender's. */
bool route_body_begin_as(struct http_request *req, struct route_body *body, const struct cairn_hash *sender);

/** From body(), last of all; replies when it cannot be taken. */
void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len);

/** From done(), last of all, where the route's body_max is over CAIRN_BODY_MEMORY_BYTES: starts the request's job,
 * whose run() has the bytes, and no one after it. Replies when they could not be kept. */
void route_body_start(struct http_request *req, struct route_body *body);

/** The body as JSON, of at most 200 values; owned by the caller; NULL: it is none. A short one also from done(). A
 *  value takes 200 bytes where "{}," came, and nobody counts that: so few may be kept while the request waits for a
 *  worker. */
struct cairn_json *route_body_json(const struct route_body *body);
/** Likewise for lists, of at most 100,000 values: 20 MiB. To be ended by whoever began it, before anything is waited
 *  for. */
struct cairn_json *route_body_json_list(const struct route_body *body);

/** From free(). Harmless when it was not begun. */
void route_body_fini(struct route_body *body);

#endif
