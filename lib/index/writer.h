/* Group commit: one thread takes the writes that have queued up since the last commit and makes them one transaction.
 * Senders take turns: a batch has one write of each sender that has some waiting, then a second one, and so on. A
 * sender is the turn of the work that queued the write (base/workers.h). */
#ifndef CAIRN_INDEX_WRITER_H
#define CAIRN_INDEX_WRITER_H

#include "index/settler.h"

#include <pthread.h>

/** What the writer must know of a kind of request. */
struct cairn_index_kind {
	enum cairn_status (*apply)(struct cairn_index *ix, struct cairn_index_write *write);
	uint64_t (*bytes)(const struct cairn_index_write *write); /* about so many are to be written; NULL: few */
	bool frees;   /* space, or takes a right away: it must get through on a full disk as well */
	bool probes;  /* changes nothing that can be seen */
	bool shards;  /* it is a struct cairn_index_put_shard */
	bool settles; /* it is a struct cairn_index_confirm_shard, for the settler alone */
};

enum { CAIRN_WRITER_TURNS = 64 };

/** The writes of one sender, in their order. Senders whose numbers fall together share a turn. */
struct cairn_writer_turn {
	struct cairn_index_write *head, **tail;
	struct cairn_writer_turn *next; /* in the line of turns that have writes waiting */
};

struct cairn_writer {
	struct cairn_index *index; /* that it is part of; NULL: no thread runs, and no write is taken */
	pthread_t thread;
	unsigned batch_max, queue_max;
	struct cairn_settler settler;

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t work;
	pthread_cond_t probed; /* on the monotonic clock */
	struct cairn_writer_turn turns[CAIRN_WRITER_TURNS];
	struct cairn_writer_turn *line, **line_tail; /* the turn that is served next stands first */
	uint64_t n_placed;                           /* writes that were queued, so far */
	unsigned n_queued;
	bool closing;
	uint64_t n_commits, n_writes;
	struct cairn_health health;
	struct cairn_writer_probe {
		struct cairn_index_write write;
		struct cairn_writer *writer;
	} probe;                        /* one at a time, for all who asked before it was queued */
	bool probing;                   /* it is queued, and not done */
	bool probe_waits;               /* it is queued, and not in a batch */
	uint64_t n_probes;              /* done */
	enum cairn_status probe_status; /* of the last one done */
};

/** Start the threads, unless the index is only to be read. w is zeroed before. cairn_writer_stop() follows in any case.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_writer_start(struct cairn_writer *w, struct cairn_index *ix,
						    const struct cairn_index_options *options, struct cairn_diag *diag);

/** Finish what is queued, and end the threads. */
void cairn_writer_stop(struct cairn_writer *w);

/** Queue a request of this kind, and wait for it unless it has a done(). @return as each call of index.h */
CAIRN_MUST_USE enum cairn_status cairn_writer_submit(struct cairn_writer *w, struct cairn_index_write *write,
						     const struct cairn_index_kind *kind);

/** The writer's part of cairn_index_stats(). */
void cairn_writer_stats(struct cairn_writer *w, struct cairn_index_stats *out);

#endif
