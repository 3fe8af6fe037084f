/* A pool of reading connections, each lent to one thread during one call. */
#ifndef CAIRN_INDEX_POSTGRES_POOL_H
#define CAIRN_INDEX_POSTGRES_POOL_H

#include "index/postgres/connection.h"

#include <pthread.h>

enum { CAIRN_PG_POOL_MAX = 16 }; /* connections; the server allows 100 by default, for all daemons */

struct cairn_pg_pool;

struct cairn_pg_reader {
	struct cairn_pg pg;
	struct cairn_pg_pool *pool;
	struct cairn_pg_reader *next; /* next idle reader */
};

struct cairn_pg_pool {
	const struct cairn_pg_place *place; /* borrowed */
	struct cairn_pg_watch *watch;       /* borrowed */
	pthread_mutex_t lock;               /* guards the members below */
	pthread_cond_t back;
	struct cairn_pg_reader *idle; /* last used first */
	unsigned n_open;
};

void cairn_pg_pool_init(struct cairn_pg_pool *pool, const struct cairn_pg_place *place, struct cairn_pg_watch *watch);
/** Call it when all readers have been returned. */
void cairn_pg_pool_fini(struct cairn_pg_pool *pool);

/** Borrows a connected reader: an idle one, a new one, or the next one returned within CAIRN_PG_SILENCE_MS.
 *  @return CAIRN_OK; CAIRN_E_BUSY; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_take(struct cairn_pg_pool *pool, struct cairn_pg_reader **out);
/** Returns a reader to the pool. For CLEANUP(). */
void cairn_pg_givep(struct cairn_pg_reader **reader);

#endif
