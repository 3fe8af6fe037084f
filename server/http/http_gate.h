/* Admits or refuses a request by its head alone. The head must be well-formed and name a known resource, its token must
 * suffice, and the body size and the rate must be within the limits. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_GATE_H
#define CAIRN_SERVER_HTTP_GATE_H

#include "server/http/http_request.h"

/** The answer to a request that is not admitted: an error, or 204 without a body for a preflight. */
struct http_gate_answer {
	unsigned code;
	const char *rule, *message; /* of an error; static */
	struct cairn_diag diag;     /* of an error; if it has no rule, it adds nothing to rule and message */
};

/** Fills the request from its head, and admits or refuses it. Sets the request's `close_after` if the connection may be
 * out of sync.
 * @param head_bytes  length of the head as it came
 * @return true: the route and identity are set; false: send the answer, with the headers that were added to the
 *         request */
bool http_gate(struct http_request *req, const struct http_head *head, const char *method, const char *version,
	       size_t head_bytes, struct http_gate_answer *answer);

#endif
