/* Screens chunk queries, most of which are misses, many at a time. A thread asks the server. Queries that arrive
 * meanwhile are sent together next. */
#ifndef CAIRN_INDEX_POSTGRES_SCREEN_H
#define CAIRN_INDEX_POSTGRES_SCREEN_H

#include "index/index.h"

#include <pthread.h>

struct cairn_postgres;

enum { CAIRN_PG_SCREEN_MAX = 1024 }; /* queries of one exchange */

/** Zeroed: no thread runs. */
struct cairn_pg_screens {
	struct cairn_postgres *index; /* NULL: no thread runs */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t work;  /* queries wait, or the thread must end */
	pthread_cond_t done;  /* no query is left */
	struct cairn_index_screen *head, **tail;
	bool asking, ending;
};

/** Starts the thread. @return CAIRN_OK; CAIRN_E_NOMEM (index.thread) */
CAIRN_MUST_USE enum cairn_status cairn_pg_screens_start(struct cairn_postgres *index, struct cairn_diag *diag);
/** Ends the thread after the queued queries are answered. */
void cairn_pg_screens_stop(struct cairn_pg_screens *screens);

#endif
