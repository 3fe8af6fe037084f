/* How many requests there were within the last hour, step by step, and how long they took, for the operator's home: in
 * memory, so a restart forgets it. */
#ifndef CAIRN_SERVER_TRAFFIC_H
#define CAIRN_SERVER_TRAFFIC_H

#include "server/metrics.h"

#include <pthread.h>
#include <stdbool.h>

enum {
	TRAFFIC_STEP_S = 120,
	TRAFFIC_STEPS = 30, /* that are told */
};

/** Requests that ended within a step. */
struct traffic_step {
	uint64_t n, failed;        /* failed: answered by a status of 500 or more */
	uint64_t half_us, most_us; /* half of them, and 95 of 100, took no longer: one of the bounds of /metrics; */
	bool is_over;              /* or 95 of 100 took longer than the last of these, which most_us is */
	uint32_t n_steps;          /* it is the mean of so many: nobody looked in between */
};

/** Zeroed except for its lock, which traffic_init() makes, it is empty. */
struct traffic {
	pthread_mutex_t lock;                     /* over all */
	bool looked;                              /* somebody did */
	int64_t step;                             /* that goes on: which one, by the monotonic clock */
	struct metrics_total begin;               /* what there was when it began */
	uint64_t n;                               /* steps that are over */
	struct traffic_step steps[TRAFFIC_STEPS]; /* the last of them, in a ring */
};

void traffic_init(struct traffic *t);
void traffic_fini(struct traffic *t);

/** Begin the next step, if it is time: to be called more often than that. Any thread. @param mono_ms  now */
void traffic_look(struct traffic *t, const struct metrics *m, int64_t mono_ms);

/** Copy what is known: first the step that goes on, then the one before. Any thread.
 *  @param[out] begun_ms  how long the first goes on
 *  @return how many; 0: nobody looked so far */
unsigned traffic_told(struct traffic *t, const struct metrics *m, int64_t mono_ms,
		      struct traffic_step out[static TRAFFIC_STEPS], int64_t *begun_ms);

#endif
