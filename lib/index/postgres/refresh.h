/* Refreshes caches in memory, because other daemons write the same index. A thread with its own connection asks the
 * server once a second. */
#ifndef CAIRN_INDEX_POSTGRES_REFRESH_H
#define CAIRN_INDEX_POSTGRES_REFRESH_H

#include "index/postgres/connection.h"

#include <stdatomic.h>

struct cairn_postgres;

enum {
	CAIRN_PG_REFRESH_MS = 1000,
	CAIRN_PG_STALE_MS = 5000, /* older state is not used */
};

/** Zeroed: no thread runs, because only this process writes the index. */
struct cairn_pg_refresh {
	struct cairn_postgres *index; /* NULL: no thread runs */
	struct cairn_pg pg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends; /* uses the monotonic clock */
	bool ending;
	int64_t next_ms;          /* longest time until the thread asks again */
	_Atomic int64_t fresh_ms; /* time of the last query that was answered */
};

/** Starts the thread. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_refresh_start(struct cairn_postgres *index, struct cairn_diag *diag);
void cairn_pg_refresh_stop(struct cairn_pg_refresh *refresh);

#endif
