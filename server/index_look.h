/* A look at the index beside the work that goes on, so that /ready tells of damage before an upload meets it. */
#ifndef CAIRN_SERVER_INDEX_LOOK_H
#define CAIRN_SERVER_INDEX_LOOK_H

#include "base/workers.h"
#include "cas/cas.h"

#include <stdatomic.h>

/** Of the app; zeroed at first. */
struct index_look {
	struct cairn_work work;
	struct cairn_cas *cas;
	const atomic_bool *stopping;
	atomic_bool running;
	int64_t next_ms; /* the sweeper's: on the monotonic clock; 0: at once */
};

/** Once a second, from one thread: begin a look on a worker for long work when it is time, soon after the start and
 * then once a day. One that finds the index damaged says so to the index.
 * @param stopping  it ends early once this is true; borrowed, as the others, until the workers are closed */
void index_look_tick(struct index_look *look, struct cairn_cas *cas, struct cairn_workers *long_workers,
		     const atomic_bool *stopping);

#endif
