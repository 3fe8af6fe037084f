/* May a request in? From its head alone: well-formed, a resource there is, a token that permits it, a body of a size
 * that is taken, and not too many requests of the kind lately. Knows no HTTP library. */
#ifndef CAIRN_SERVER_HTTP_GATE_H
#define CAIRN_SERVER_HTTP_GATE_H

#include "server/http/http_request.h"

/** What a request is answered that is not let in: 204 of a preflight, without a body, or an error. */
struct http_gate_answer {
	unsigned code;
	const char *rule, *message; /* static; of an error */
	struct cairn_diag diag;     /* of an error; without a rule it says no more than the above */
};

/**
 * Fill the request from its head, and judge it.
 * @param head_bytes  size of the head as it came
 * @return true: the route and its identity are set; false: it gets the answer, with the headers that are added to the
 * request. close_after is set where the connection may be out of step.
 */
bool http_gate(struct http_request *req, const struct http_head *head, const char *method, const char *version,
	       size_t head_bytes, struct http_gate_answer *answer);

#endif
