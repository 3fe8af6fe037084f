/* Group commit: one thread makes a transaction of the writes that have queued up since the last commit. Senders take
 * turns: a batch has one write of each waiting sender, then a second one, and so on. A sender is the turn of the work
 * that queued the write (base/workers.h). */
#ifndef CAIRN_INDEX_WRITER_H
#define CAIRN_INDEX_WRITER_H

#include "index/settler.h"

#include <pthread.h>

/** The properties of a kind of request that the writer uses. */
struct cairn_index_kind {
	enum cairn_status (*apply)(struct cairn_index *ix, struct cairn_index_write *write);
	uint64_t (*bytes)(const struct cairn_index_write *write); /* estimate of the bytes to write; NULL: few */
	bool frees;   /* frees space or withdraws a right, so it must succeed even on a full disk */
	bool probes;  /* changes nothing visible */
	bool shards;  /* a struct cairn_index_put_shard */
	bool settles; /* a struct cairn_index_confirm_shard, for the settler alone */
};

enum { CAIRN_WRITER_TURNS = 64 };

/** The writes of one sender, in their order. Senders whose numbers collide share a turn. */
struct cairn_writer_turn {
	struct cairn_index_write *head, **tail;
	struct cairn_writer_turn *next; /* next turn in line */
};

struct cairn_writer {
	struct cairn_index *index; /* index of the writer; NULL: no thread runs, and writes are refused */
	pthread_t thread;
	unsigned batch_max, queue_max;
	struct cairn_settler settler;

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t work;
	pthread_cond_t probed; /* on the monotonic clock */
	struct cairn_writer_turn turns[CAIRN_WRITER_TURNS];
	struct cairn_writer_turn *line, **line_tail; /* turns with waiting writes */
	uint64_t n_placed;                           /* writes queued so far */
	unsigned n_queued;
	bool closing;
	uint64_t n_commits, n_writes;
	struct cairn_health health;
	struct cairn_writer_probe {
		struct cairn_index_write write;
		struct cairn_writer *writer;
	} probe;                        /* one at a time, for all callers that came before it was queued */
	bool probing;                   /* the probe is queued, and not done */
	bool probe_waits;               /* the probe is queued, and not in a batch */
	uint64_t n_probes;              /* number of probes done */
	enum cairn_status probe_status; /* status of the last probe */
};

/** Starts the threads, unless the index is for reading only. w is zeroed before. Call cairn_writer_stop() in any case.
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_writer_start(struct cairn_writer *w, struct cairn_index *ix,
						    const struct cairn_index_options *options, struct cairn_diag *diag);

/** Finishes the queued writes, and ends the threads. */
void cairn_writer_stop(struct cairn_writer *w);

/** Queues a request of this kind, and waits for it unless it has a done(). @return as each call of index.h */
CAIRN_MUST_USE enum cairn_status cairn_writer_submit(struct cairn_writer *w, struct cairn_index_write *write,
						     const struct cairn_index_kind *kind);

/** Sets the writer's members of cairn_index_stats(). */
void cairn_writer_stats(struct cairn_writer *w, struct cairn_index_stats *out);

#endif
