/* Reports answers that do not come from a store. */
#ifndef CAIRN_CLI_PUSH_ANSWER_H
#define CAIRN_CLI_PUSH_ANSWER_H

#include "base/status.h"

/** A 2xx answer without the member it must have comes from something that is not a store. @return CAIRN_E_BUSY */
static inline enum cairn_status push_not_a_store(struct cairn_diag *diag, const char *path, const char *member)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
			  "the answer to %.40s has no \"%s\": this is not a store of the protocol", path, member);
}

#endif
