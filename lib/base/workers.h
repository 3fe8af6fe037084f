/* A pool of threads for work that must not run on an event loop, such as hashing and waiting for the disk. Sharing is
 * fair: heavy work never occupies all threads, and nobody waits for all work of another owner. */
#ifndef CAIRN_BASE_WORKERS_H
#define CAIRN_BASE_WORKERS_H

#include "base/status.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/** A pool with a bounded queue. Any thread may submit. */
struct cairn_workers;

/** The kind of work. */
enum cairn_lane {
	CAIRN_LANE_QUICK, /* takes milliseconds, and a caller waits: runs before heavy work, on any thread */
	CAIRN_LANE_HEAVY, /* may take seconds, or waits for the disk: leaves some threads to quick work */
	CAIRN_LANES,
};

/** A piece of work, embedded in a larger struct. The submitter keeps it alive until run() has been called. */
struct cairn_work {
	void (*run)(struct cairn_work *work); /* called on a worker; may free the struct around the work */
	enum cairn_lane lane;
	uint64_t turn;           /* owner of the work: owners with waiting work take turns in a lane */
	uint64_t queued_us;      /* time for which it waited for a thread; set before run() is called */
	struct cairn_work *next; /* used by the pool */
};

/** Makes the threads. A turn gets at most three quarters of the queue.
 * @param name       name of the threads in the system (top -H): up to 15 bytes, not copied
 * @param n_threads  all threads @param n_quick  threads for quick work alone, fewer than n_threads. If there are any,
 *                   one turn gets all other threads but one, so that no turn waits for the end of another turn's work
 * @param queue_max  most pieces of waiting work
 * @return CAIRN_OK; CAIRN_E_NOMEM also if there are no threads */
CAIRN_MUST_USE enum cairn_status cairn_workers_new(struct cairn_workers **out, const char *name, unsigned n_threads,
						   unsigned n_quick, size_t queue_max);

/** Adds threads that replace threads which have stepped aside. Call it once, before work is submitted.
 * @param n  most threads aside at once; one turn gets a quarter of these, and one further thread
 * @return CAIRN_OK; CAIRN_E_NOMEM also if there is no thread */
CAIRN_MUST_USE enum cairn_status cairn_workers_add_stand_ins(struct cairn_workers *w, unsigned n);

/** Returns the turn of the work on this thread; 0: this thread is no worker. */
uint64_t cairn_workers_turn(void);

/** Announces that the calling worker will wait for another thread without using a processor, so that a stand-in may
 * take its place. Does nothing on other threads, or if all stand-ins of the pool or of the turn are in use.
 * @return true: call cairn_workers_step_back() afterwards */
CAIRN_MUST_USE bool cairn_workers_step_aside(void);
/** Ends cairn_workers_step_aside(). Does not wait: briefly the pool may run more work than it has places. */
void cairn_workers_step_back(void);

/** Queues work. @return CAIRN_OK; CAIRN_E_BUSY the queue or the turn's share is full, or the pool is closing: run()
 * will not be called */
CAIRN_MUST_USE enum cairn_status cairn_workers_submit(struct cairn_workers *w, struct cairn_work *work);

/** A probe of a pool. Zeroed at first, kept until the pool is closed, for one thread. */
struct cairn_workers_ask {
	struct cairn_work work; /* first */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool made, waiting; /* waiting: the last probe was not answered yet */
	uint64_t n_taken;
};

/** Probes whether quick work gets a thread in time. If the queue is full, work taken since the last probe is proof.
 * @return false: it does not */
bool cairn_workers_answer(struct cairn_workers *w, struct cairn_workers_ask *ask, unsigned timeout_ms);

/** Releases a probe. Call it after cairn_workers_close(). Harmless if the probe was never used. */
void cairn_workers_ask_fini(struct cairn_workers_ask *ask);

/** Returns the number of pieces of work queued or running now. */
size_t cairn_workers_pending(struct cairn_workers *w);

/** Refuses new work (CAIRN_E_BUSY), finishes all queued work, and ends the threads. Call it on one thread. */
void cairn_workers_close(struct cairn_workers *w);

/** Closes and frees the pool; no submission may follow. NULL is harmless. */
void cairn_workers_free(struct cairn_workers *w);

#endif
