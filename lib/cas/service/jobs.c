#include "cas/service/jobs.h"

#include "cas/internal.h"

bool cairn_cas_is_shared(const struct cairn_cas *cas)
{
	return cairn_index_is_shared(cas->index);
}

bool cairn_cas_asks_index(const struct cairn_cas *cas)
{
	return cairn_index_is_remote(cas->index);
}

const char *cairn_cas_introduce(struct cairn_cas *cas, const char *who)
{
	return cairn_index_introduce(cas->index, who);
}

void cairn_cas_job(struct cairn_cas *cas, enum cairn_index_job job, struct cairn_index_job_state *out)
{
	cairn_index_job_state(cas->index, job, out);
}
