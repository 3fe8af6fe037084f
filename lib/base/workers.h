/* A few threads for work that must not run on an event loop: hashing, waiting for the disk. Shared fairly: heavy work
 * never takes all threads, and nobody's work makes others wait for all of it. */
#ifndef CAIRN_BASE_WORKERS_H
#define CAIRN_BASE_WORKERS_H

#include "base/status.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/** A pool with a bounded queue. Any thread may submit. */
struct cairn_workers;

/** What kind of work it is. */
enum cairn_lane {
	CAIRN_LANE_QUICK, /* milliseconds, and somebody waits for it: taken before heavy work, on any thread */
	CAIRN_LANE_HEAVY, /* may take seconds, or waits for the disk: leaves some threads to quick work */
	CAIRN_LANES,
};

/** A piece of work; embedded in what it works on. Whoever submits keeps it alive until run() has been called. */
struct cairn_work {
	void (*run)(struct cairn_work *work); /* on a worker; may free what contains work */
	enum cairn_lane lane;
	uint64_t turn;           /* whose work it is: in a lane those who have some waiting take turns */
	uint64_t queued_us;      /* how long it waited for a thread, when run() is called */
	struct cairn_work *next; /* the pool's */
};

/**
 * One turn gets at most three quarters of the queue.
 * @param name       of its threads, as the system shows it (top -H): up to 15 bytes, not copied
 * @param n_threads  in all
 * @param n_quick    of them, for quick work alone; below n_threads. When there are such, one turn gets all threads but
 *                   one, so that nobody waits for a thread until somebody else's work is done
 * @param queue_max  pieces of work waiting
 * @return CAIRN_OK; CAIRN_E_NOMEM threads or memory could not be had
 */
CAIRN_MUST_USE enum cairn_status cairn_workers_new(struct cairn_workers **out, const char *name, unsigned n_threads,
						   unsigned n_quick, size_t queue_max);

/**
 * Add threads that only work in the place of threads that stepped aside. Call it once, before work is submitted.
 * @param n  so many threads may be aside at once; one turn gets a quarter of them
 * @return CAIRN_OK; CAIRN_E_NOMEM memory or a thread could not be had
 */
CAIRN_MUST_USE enum cairn_status cairn_workers_add_stand_ins(struct cairn_workers *w, unsigned n);

/** Whose work does this thread do? @return the turn of the work that runs on this thread; 0: this is no worker */
uint64_t cairn_workers_turn(void);

/** The calling thread is about to wait for another thread, and needs no processor meanwhile: a stand-in may take its
 * place. Does nothing on a thread that is no worker, and where all stand-ins of the pool or of the turn are in use.
 * @return true: cairn_workers_step_back() must follow */
CAIRN_MUST_USE bool cairn_workers_step_aside(void);
/** The wait is over. Does not wait for a place: for a moment the pool may run more work than it has places. */
void cairn_workers_step_back(void);

/** Queue work. @return CAIRN_OK; CAIRN_E_BUSY the queue is full, or its turn's part of it, or the pool is closing:
 *  run() will not be called */
CAIRN_MUST_USE enum cairn_status cairn_workers_submit(struct cairn_workers *w, struct cairn_work *work);

/** A question to a pool. Zeroed at first, kept until the pool is closed, for one thread. */
struct cairn_workers_ask {
	struct cairn_work work; /* first */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool made, waiting; /* waiting: the last one has not been answered so far */
	uint64_t n_taken;
};

/**
 * Does quick work get a thread in time? A queue that is full tells by having become another since the last question.
 * @return false: it did not
 */
bool cairn_workers_answer(struct cairn_workers *w, struct cairn_workers_ask *ask, unsigned timeout_ms);

/** Release what a question holds. After cairn_workers_close(). Harmless when none was asked. */
void cairn_workers_ask_fini(struct cairn_workers_ask *ask);

/** Work queued or running now. */
size_t cairn_workers_pending(struct cairn_workers *w);

/** Take no more work, finish all that is queued, end the threads. Afterwards submitting answers CAIRN_E_BUSY. From one
 *  thread. */
void cairn_workers_close(struct cairn_workers *w);

/** Close, and free the pool: nobody may submit any more. NULL is harmless. */
void cairn_workers_free(struct cairn_workers *w);

#endif
