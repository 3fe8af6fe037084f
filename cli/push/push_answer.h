/* Reports an answer that no Cairn server would give. */
#ifndef CAIRN_CLI_PUSH_ANSWER_H
#define CAIRN_CLI_PUSH_ANSWER_H

#include "base/status.h"

/** Reports a 2xx answer without its required member: another program serves this address. @return CAIRN_E_BUSY */
static inline enum cairn_status push_not_a_store(struct cairn_diag *diag, const char *path, const char *member)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
			  "the answer to %.40s has no \"%s\": this is not a store of the protocol", path, member);
}

#endif
