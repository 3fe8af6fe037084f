/* A few threads for work that must not run on an event loop: hashing, waiting for the disk. */
#ifndef CAIRN_BASE_WORKERS_H
#define CAIRN_BASE_WORKERS_H

#include "base/status.h"

#include <stddef.h>

/** A pool with a bounded queue. Any thread may submit. */
struct cairn_workers;

/** A piece of work; embedded in what it works on. Whoever submits keeps it alive until run() has been called. */
struct cairn_work {
	void (*run)(struct cairn_work *work); /* on a worker; may free what contains work */
	struct cairn_work *next;              /* the pool's */
};

/** @return CAIRN_OK; CAIRN_E_NOMEM threads or memory could not be had */
CAIRN_MUST_USE enum cairn_status cairn_workers_new(struct cairn_workers **out, unsigned n_threads, size_t queue_max);

/** Queue work. @return CAIRN_OK; CAIRN_E_BUSY the queue is full, or the pool is closing: run() will not be called */
CAIRN_MUST_USE enum cairn_status cairn_workers_submit(struct cairn_workers *w, struct cairn_work *work);

/** Work queued or running now. */
size_t cairn_workers_pending(struct cairn_workers *w);

/** Take no more work, finish all that is queued, end the threads. Afterwards submitting answers CAIRN_E_BUSY. From one
 *  thread. */
void cairn_workers_close(struct cairn_workers *w);

/** Close, and free the pool: nobody may submit any more. NULL is harmless. */
void cairn_workers_free(struct cairn_workers *w);

#endif
