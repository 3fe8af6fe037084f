/* What other daemons that write the same index have changed: asked once a second by a thread with a connection of its
 * own, so that what is kept in memory is no older than that. */
#ifndef CAIRN_INDEX_POSTGRES_REFRESH_H
#define CAIRN_INDEX_POSTGRES_REFRESH_H

#include "index/postgres/connection.h"

#include <stdatomic.h>

struct cairn_postgres;

enum {
	CAIRN_PG_REFRESH_MS = 1000,
	CAIRN_PG_STALE_MS = 5000, /* what could not be asked for so long is not relied on */
};

/** Zeroed: no thread runs, and what this process has committed is all that there is. */
struct cairn_pg_refresh {
	struct cairn_postgres *index; /* NULL: no thread runs */
	struct cairn_pg pg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends; /* on the monotonic clock */
	bool ending;
	int64_t next_ms;          /* the thread's: how long it is until it asks again, at most */
	_Atomic int64_t fresh_ms; /* when it was asked last, and answered */
};

/** @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_refresh_start(struct cairn_postgres *index, struct cairn_diag *diag);
void cairn_pg_refresh_stop(struct cairn_pg_refresh *refresh);

/** Is what is in memory as of a moment ago? Any thread. */
bool cairn_pg_is_fresh(struct cairn_pg_refresh *refresh);

#endif
