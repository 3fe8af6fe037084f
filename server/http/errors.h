/* Maps library statuses to HTTP; no other place does. Pure. */
#ifndef CAIRN_SERVER_ERRORS_H
#define CAIRN_SERVER_ERRORS_H

#include "base/status.h"

/** The HTTP error for a status. Static strings. */
struct errors_reply {
	unsigned code;
	const char *rule;    /* machine-readable; used if the diagnosis has no rule */
	const char *message; /* for a person; used if the diagnosis has no message */
};

/** Returns the HTTP error for a status. The stock clients retry 429 and 5xx except 501, and nothing else. So 409 fits
 * errors that a retry cannot cure: a contradiction, or a removed xorb, which must be uploaded again. A full disk is
 * 507. @param status  not CAIRN_OK (which counts as a bug: 500) @param upload  the request has a body. If an upload
 * refers to a missing object, the error is a 400: after a 404 the stock clients believe that the endpoint does not
 * exist, and use an older one */
struct errors_reply errors_of_status(enum cairn_status status, bool upload);

/** Does what errors_of_status() does, for a failure with a rule. Damaged or lost bytes are 410: only an upload helps,
 * so clients must give up at once, and they would retry a 500. @param rule  of the diagnosis; NULL: none */
struct errors_reply errors_of_failure(enum cairn_status status, const char *rule, bool upload);

/** Returns the reason phrase of a code with which uploads are refused; "Error" for other codes. */
const char *errors_reason(unsigned code);

#endif
