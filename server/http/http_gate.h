/* Admits or refuses a request by its head alone: well-formed, known resource, sufficient token, allowed body size,
 * within the rate limits. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_GATE_H
#define CAIRN_SERVER_HTTP_GATE_H

#include "server/http/http_request.h"

/** The answer to a request that is not admitted: 204 without a body for a preflight, or an error. */
struct http_gate_answer {
	unsigned code;
	const char *rule, *message; /* static; of an error */
	struct cairn_diag diag;     /* of an error; without a rule it adds nothing to the above */
};

/** Fills the request from its head, and admits or refuses it.
 * @param head_bytes  size of the head as it came
 * @return true: the route and identity are set; false: send the answer, with the headers added to the request.
 * close_after is set if the connection may be out of sync.
 */
bool http_gate(struct http_request *req, const struct http_head *head, const char *method, const char *version,
	       size_t head_bytes, struct http_gate_answer *answer);

#endif
