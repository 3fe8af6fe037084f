/* Collects the whole body of a request before it is parsed. Long bodies are not held in memory (cas/body.h). */
#ifndef CAIRN_SERVER_ROUTE_BODY_H
#define CAIRN_SERVER_ROUTE_BODY_H

#include "base/json.h"
#include "cas/body.h"
#include "server/ask/route_piece.h"

/** Part of a route's state, which must not move; zeroed at first. */
struct route_body {
	struct cairn_body in;
	struct route_piece piece; /* passes on the body while it arrives */
};

/** Begins to receive a body. Call from head(). @return false: no memory budget is left now; an error was replied */
bool route_body_begin(struct http_request *req, struct route_body *body);

/** Does what route_body_begin() does, but the body counts for this sender. */
bool route_body_begin_as(struct http_request *req, struct route_body *body, const struct cairn_hash *sender);

/** Adds bytes of the body. If they cannot be taken, replies an error. Call last in body(). */
void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len);

/** Starts the request's job. Only its run() has the bytes. Replies an error if the bytes could not be kept. Call last
 * in done(), if the bodies of the route may exceed CAIRN_BODY_MEMORY_BYTES. */
void route_body_start(struct http_request *req, struct route_body *body);

/** Parses the body as JSON of at most 200 values. The limit is low because "{}," takes 200 bytes once parsed, outside
 * any budget while the request waits. done() may call it with a short body. @return the caller's; NULL: not JSON */
struct cairn_json *route_body_json(const struct route_body *body);
/** Does what route_body_json() does, for at most 100,000 values: 20 MiB. The caller must free it before any wait. */
struct cairn_json *route_body_json_list(const struct route_body *body);

/** Frees the body; harmless if it was not begun. Call from free(). */
void route_body_fini(struct route_body *body);

#endif
