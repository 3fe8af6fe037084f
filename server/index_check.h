/* Checks the index in the background, so that /ready reports damage before an upload meets it. */
#ifndef CAIRN_SERVER_INDEX_CHECK_H
#define CAIRN_SERVER_INDEX_CHECK_H

#include "base/workers.h"
#include "cas/cas.h"

#include <stdatomic.h>

/** A member of struct app; zeroed at first. */
struct index_check {
	struct cairn_work work;
	struct cairn_cas *cas;
	const atomic_bool *stopping;
	atomic_bool running;
	int64_t next_ms; /* time of the next check, on the monotonic clock; 0: at once; only for the sweeper */
};

/** When a check is due, starts it on a worker for long work: soon after the start, then once a day. A check that finds
 * damage marks the index as damaged. Call once a second, from one thread. All arguments are borrowed until the workers
 * are closed. @param stopping  once this is true, the check ends early */
void index_check_tick(struct index_check *check, struct cairn_cas *cas, struct cairn_workers *long_workers,
		      const atomic_bool *stopping);

#endif
