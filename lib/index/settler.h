/* Settles writes that an engine on another machine has committed ahead: readers see them, but they are not durable yet.
 * A thread takes the waiting writes, checks that they are still visible, and makes them durable before they are
 * answered (README.md, "Commits over PostgreSQL"). Meanwhile the writer continues. */
#ifndef CAIRN_INDEX_SETTLER_H
#define CAIRN_INDEX_SETTLER_H

#include "index/health.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/** A shard to be looked up and made durable. Borrows. */
struct cairn_index_settling {
	const struct cairn_hash *body;
	const char *scope, *owner;
	struct cairn_index_registered registered; /* the expected registration; a later one counts, too */
	bool seen;                                /* result: it is visible */
};

/** Zeroed: no thread runs, and nothing is committed ahead. */
struct cairn_settler {
	struct cairn_index *index; /* index of the settler; NULL: no thread runs */
	pthread_t thread;
	atomic_uint n;      /* writes waiting or in progress */
	atomic_bool ailing; /* the last transaction has failed */

	pthread_mutex_t lock;         /* guards the members below */
	pthread_cond_t work, settled; /* on the monotonic clock */
	struct cairn_index_write *head, **tail;
	uint64_t n_queued, n_done; /* numbers of writes since the start */
	bool closing;
	struct cairn_health health; /* health by the settler's transactions alone */
};

/** Starts the thread, if the engine commits ahead. s is zeroed before. Call cairn_settler_stop() in any case.
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_settler_start(struct cairn_settler *s, struct cairn_index *ix, bool read_only,
						     struct cairn_diag *diag);
/** Finishes the waiting writes, and ends the thread. */
void cairn_settler_stop(struct cairn_settler *s);

/* Any thread may call the functions below. */

/** May writes be committed ahead now? */
bool cairn_settler_is_well(const struct cairn_settler *s);
/** Takes over writes: struct cairn_index_put_shard that were committed ahead, or struct cairn_index_confirm_shard. The
 * settler calls their done(); a write that is no longer visible fails. @param batch  a linked list; the thread must
 * run */
void cairn_settler_take(struct cairn_settler *s, struct cairn_index_write *batch);
/** Returns the number of writes waiting or in progress. */
unsigned cairn_settler_n(const struct cairn_settler *s);
/** Waits until all writes taken over before are done. @param until  on the monotonic clock @return false: timed out */
bool cairn_settler_flush(struct cairn_settler *s, const struct timespec *until);
/** Does what cairn_index_health() does. */
CAIRN_MUST_USE enum cairn_status cairn_settler_health(struct cairn_settler *s, struct cairn_diag *diag);

#endif
