/* Counts and times of the last hour's requests, in steps, for operators' home. Kept in memory, lost at a restart. */
#ifndef CAIRN_SERVER_TRAFFIC_H
#define CAIRN_SERVER_TRAFFIC_H

#include "server/metrics.h"

#include <pthread.h>
#include <stdbool.h>

enum {
	TRAFFIC_STEP_S = 120,
	TRAFFIC_STEPS = 30, /* finished steps that are kept for traffic_read() */
};

/** The requests that ended within a step. */
struct traffic_step {
	uint64_t n, failed; /* failed: answered with a status of 500 or more */
	uint64_t half_us,
		most_us;  /* half of the requests, and 95 of 100, took at most so long: bounds of buckets in /metrics */
	bool is_over;     /* 95 of 100 took longer than most_us, which is the last bound */
	uint32_t n_steps; /* the step is the mean of so many steps, because there was no sample in between */
};

/** Empty when zeroed, except for the lock, which traffic_init() makes. */
struct traffic {
	pthread_mutex_t lock;                     /* guards all members */
	bool sampled;                             /* traffic_sample() was called */
	int64_t step;                             /* number of the current step, on the monotonic clock */
	struct metrics_total begin;               /* totals at the beginning of the current step */
	uint64_t n;                               /* number of finished steps */
	struct traffic_step steps[TRAFFIC_STEPS]; /* the last finished steps, in a ring */
};

void traffic_init(struct traffic *t);
void traffic_fini(struct traffic *t);

/** Begins the next step, if it is due. Call more often than once a step. Any thread. @param mono_ms  now */
void traffic_sample(struct traffic *t, const struct metrics *m, int64_t mono_ms);

/** Copies the steps: the current one first, then the older ones, newest first. Any thread.
 *  @param[out] begun_ms  how long the current step has lasted
 *  @return how many; 0: traffic_sample() was never called */
unsigned traffic_read(struct traffic *t, const struct metrics *m, int64_t mono_ms,
		      struct traffic_step out[static TRAFFIC_STEPS], int64_t *begun_ms);

#endif
