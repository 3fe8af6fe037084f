/* Beside other daemons that share the index: who does what for all of them. */
#ifndef CAIRN_CAS_JOBS_H
#define CAIRN_CAS_JOBS_H

#include "cas/cas.h"
#include "index/lease.h"

/** Do several daemons share the index? */
bool cairn_cas_is_shared(const struct cairn_cas *cas);

/** Say where this daemon is: what it does for all tells it. Once, before anything is done. @return what it tells */
const char *cairn_cas_introduce(struct cairn_cas *cas, const char *who);

/** Who does a job, and when it ended last, as of a second ago; zeroed where one process has the index. Any thread. */
void cairn_cas_job(struct cairn_cas *cas, enum cairn_index_job job, struct cairn_index_job_state *out);

#endif
