/* What an engine on another machine has committed ahead: it can be seen, and is not where it must be before anybody is
 * told. One thread takes what waits, looks whether it is still there, and has that made durable (docs/design.md,
 * "Commits over PostgreSQL"); so the writer goes on meanwhile. */
#ifndef CAIRN_INDEX_SETTLER_H
#define CAIRN_INDEX_SETTLER_H

#include "index/health.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/** A shard that is to be seen and made durable. Borrows. */
struct cairn_index_settling {
	const struct cairn_hash *body;
	const char *scope, *owner;
	struct cairn_index_registered registered; /* what must be there: this, or what came later */
	bool seen;                                /* result */
};

/** Zeroed: no thread runs, and nothing is committed ahead. */
struct cairn_settler {
	struct cairn_index *index; /* that it is part of; NULL: no thread runs */
	pthread_t thread;
	atomic_uint n;      /* writes that wait or are under way */
	atomic_bool ailing; /* the last transaction has failed */

	pthread_mutex_t lock;         /* over all below */
	pthread_cond_t work, settled; /* on the monotonic clock */
	struct cairn_index_write *head, **tail;
	uint64_t n_queued, n_done; /* so far */
	bool closing;
	struct cairn_health health; /* of its transactions alone */
};

/** Start the thread, if the engine has a use for it. s is zeroed before. cairn_settler_stop() follows in any case.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_settler_start(struct cairn_settler *s, struct cairn_index *ix, bool read_only,
						     struct cairn_diag *diag);
/** Finish what waits, and end the thread. */
void cairn_settler_stop(struct cairn_settler *s);

/* Any thread, all below. */

/** May something be committed ahead now? */
bool cairn_settler_is_well(const struct cairn_settler *s);
/** Take over writes: struct cairn_index_put_shard that were committed ahead, or struct cairn_index_confirm_shard. They
 * are done here, and fail if they are not seen. @param batch  linked; there is a thread */
void cairn_settler_take(struct cairn_settler *s, struct cairn_index_write *batch);
/** How many wait, or are under way. */
unsigned cairn_settler_n(const struct cairn_settler *s);
/** Wait until all that were taken over before are done. @param until  of the monotonic clock @return false: they are
 * not by then */
bool cairn_settler_flush(struct cairn_settler *s, const struct timespec *until);
/** As cairn_index_health(). */
CAIRN_MUST_USE enum cairn_status cairn_settler_health(struct cairn_settler *s, struct cairn_diag *diag);

#endif
