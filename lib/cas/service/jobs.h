/* Jobs that one daemon does for all daemons that share the index. */
#ifndef CAIRN_CAS_SERVICE_JOBS_H
#define CAIRN_CAS_SERVICE_JOBS_H

#include "cas/cas.h"
#include "index/daemon/lease.h"

/** Do several daemons share the index? */
bool cairn_cas_is_shared(const struct cairn_cas *cas);
/** Is the index on another machine, so that a read may fail because that machine does not answer? */
bool cairn_cas_asks_index(const struct cairn_cas *cas);

/** Sets this daemon's name, which its jobs show. Call it once, first of all. @return the name shown */
const char *cairn_cas_introduce(struct cairn_cas *cas, const char *who);

/** Finds which daemon does a job, and when it last ended; up to 1 s old. Zeroed without other daemons. Any thread. */
void cairn_cas_job(struct cairn_cas *cas, enum cairn_index_job job, struct cairn_index_job_state *out);

#endif
