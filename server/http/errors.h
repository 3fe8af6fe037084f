/* The one mapping of library statuses to HTTP. Pure. */
#ifndef CAIRN_SERVER_ERRORS_H
#define CAIRN_SERVER_ERRORS_H

#include "base/status.h"

/** The HTTP error for a status. Static strings. */
struct errors_reply {
	unsigned code;
	const char *rule;    /* machine-readable; used if the diagnosis has none */
	const char *message; /* for a person; used if the diagnosis has none */
};

/** @param status  not CAIRN_OK (which is taken for a bug: 500)
 * @param upload  the request carried a body. If an upload refers to a missing object, the error is a 400. A 404 would
 * make the stock clients believe that the endpoint does not exist, and use an older one.
 *
 * The stock clients retry 429 and 5xx except 501, and nothing else. So 409 fits errors that a retry cannot cure: a
 * contradiction, or a removed xorb, which must be uploaded again. A full disk is 507.
 */
struct errors_reply errors_of_status(enum cairn_status status, bool upload);

/** Does what errors_of_status() does, for a failure with a rule. Damaged or lost bytes are 410: only an upload helps,
 * and clients give up at once, while they would retry a 500. @param rule  of the diagnosis; NULL: none */
struct errors_reply errors_of_failure(enum cairn_status status, const char *rule, bool upload);

/** Reason phrase of a code with which an upload is refused, "Error" for others. */
const char *errors_reason(unsigned code);

#endif
