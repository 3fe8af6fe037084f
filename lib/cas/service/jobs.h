/* Jobs that one daemon does for all daemons that share the index. */
#ifndef CAIRN_CAS_SERVICE_JOBS_H
#define CAIRN_CAS_SERVICE_JOBS_H

#include "cas/cas.h"
#include "index/daemon/lease.h"

/** Do several daemons share the index? */
bool cairn_cas_is_shared(const struct cairn_cas *cas);
/** Is the index on another machine, so that a read of it may fail for want of an answer? */
bool cairn_cas_asks_index(const struct cairn_cas *cas);

/** Names this daemon, so that its jobs show where they run. Call it once, before all else. @return the name shown */
const char *cairn_cas_introduce(struct cairn_cas *cas, const char *who);

/** Finds which daemon does a job, and when it last ended, as of a second ago. Zeroed if one process has the index. Any
 *  thread. */
void cairn_cas_job(struct cairn_cas *cas, enum cairn_index_job job, struct cairn_index_job_state *out);

#endif
