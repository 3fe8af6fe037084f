/* Checks the index in the background, so that /ready reports damage before an upload meets it. */
#ifndef CAIRN_SERVER_INDEX_CHECK_H
#define CAIRN_SERVER_INDEX_CHECK_H

#include "base/workers.h"
#include "cas/cas.h"

#include <stdatomic.h>

/** Part of the app; zeroed at first. */
struct index_check {
	struct cairn_work work;
	struct cairn_cas *cas;
	const atomic_bool *stopping;
	atomic_bool running;
	int64_t next_ms; /* the sweeper's: on the monotonic clock; 0: at once */
};

/** Starts a check on a worker for long work when one is due: soon after the start, then once a day. A check that finds
 * damage marks the index as damaged. Call once a second, from one thread.
 * @param stopping  the check ends early once this is true. All are borrowed until the workers are closed */
void index_check_tick(struct index_check *check, struct cairn_cas *cas, struct cairn_workers *long_workers,
		      const atomic_bool *stopping);

#endif
