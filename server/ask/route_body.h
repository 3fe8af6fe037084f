/* Collects the whole body of a request before it is parsed. Long bodies are not held in memory (cas/body.h). */
#ifndef CAIRN_SERVER_ROUTE_BODY_H
#define CAIRN_SERVER_ROUTE_BODY_H

#include "base/json.h"
#include "cas/body.h"
#include "server/ask/route_piece.h"

/** Part of a route's state, which is not moved; zeroed at first. */
struct route_body {
	struct cairn_body in;
	struct route_piece piece; /* while the body arrives */
};

/** Call from head(). @return false: no room for the body now; an error was replied */
bool route_body_begin(struct http_request *req, struct route_body *body);

/** Does what route_body_begin() does, but the body counts as this sender's. */
bool route_body_begin_as(struct http_request *req, struct route_body *body, const struct cairn_hash *sender);

/** Call last in body(). Replies an error if the bytes cannot be taken. */
void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len);

/** Call last in done(), if the route's bodies may be over CAIRN_BODY_MEMORY_BYTES. Starts the request's job; only its
 * run() has the bytes. Replies an error if the bytes could not be kept. */
void route_body_start(struct http_request *req, struct route_body *body);

/** Parses the body as JSON of at most 200 values; owned by the caller; NULL: not JSON. done() may call this, too, if
 * the body is short. The limit is low: "{}," takes 200 bytes once parsed, outside any budget while the request waits.
 */
struct cairn_json *route_body_json(const struct route_body *body);
/** Does what route_body_json() does, for at most 100,000 values: 20 MiB. The caller must free it before any wait. */
struct cairn_json *route_body_json_list(const struct route_body *body);

/** Call from free(). Harmless if the body was not begun. */
void route_body_fini(struct route_body *body);

#endif
