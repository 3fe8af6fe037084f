/* Group commit: one thread takes what has queued up since the last commit and makes it one transaction. */
#ifndef CAIRN_INDEX_WRITER_H
#define CAIRN_INDEX_WRITER_H

#include "index/sqlite_checkpoint.h"
#include "index/sqlite_write.h"

#include <pthread.h>

struct cairn_writer {
	struct cairn_tx tx; /* the thread's own, once it runs */
	struct cairn_checkpoint checkpoint;
	pthread_t thread;
	bool started;
	unsigned batch_max, queue_max;

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t work;
	pthread_cond_t probed; /* on the monotonic clock */
	struct cairn_index_write *head, **tail;
	unsigned n_queued;
	bool closing;
	struct cairn_tx_counts counts; /* as of the last commit */
	uint64_t n_commits, n_writes;
	struct cairn_index_write probe; /* one at a time, for all who asked before it was queued */
	bool probing;                   /* it is queued, and not done */
	uint64_t n_probes;              /* done */
	enum cairn_status probe_status; /* of the last one done */
};

/** Open the database for writing and start the thread. w is zeroed before and needs cairn_writer_close() in any case.
 *  @param path  NULL: answers CAIRN_E_NOMEM
 *  @return as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_writer_open(struct cairn_writer *w, const char *path,
						   const struct cairn_index_options *options, struct cairn_diag *diag);

/** Finish what is queued, end the thread, close the database. */
void cairn_writer_close(struct cairn_writer *w);

/** The writer's part of cairn_index_stats(). */
void cairn_writer_stats(struct cairn_writer *w, struct cairn_index_stats *out);

#endif
