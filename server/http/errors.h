/* The one mapping of library statuses to HTTP. Pure. */
#ifndef CAIRN_SERVER_ERRORS_H
#define CAIRN_SERVER_ERRORS_H

#include "base/status.h"

/** What a status says over HTTP. Static strings. */
struct errors_reply {
	unsigned code;
	const char *rule;    /* machine-readable, for when the diagnosis has none */
	const char *message; /* for a person, for when the diagnosis has none */
};

/**
 * @param status  not CAIRN_OK (which is taken for a bug: 500)
 * @param upload  the request carried a body. What an upload refers to and is not here makes it a bad request: a 404
 *                would tell the stock clients that the endpoint does not exist, and to use an older one.
 *
 * The stock clients try 429 and 5xx but 501 again, and nothing else. So 409 is right for what the same bytes can't
 * cure (a contradiction; a xorb that was removed meanwhile, which has to be uploaded anew), and a full disk is 507.
 */
struct errors_reply errors_of_status(enum cairn_status status, bool upload);

/** Likewise of a failure with a rule. Bytes of the store that are damaged or gone are 410: clients give up at once,
 * where they would repeat a 500, and only an upload helps. @param rule  of the diagnosis; NULL: none */
struct errors_reply errors_of_failure(enum cairn_status status, const char *rule, bool upload);

/** Reason phrase of a code with which an upload is refused, "Error" for others. */
const char *errors_reason(unsigned code);

#endif
