/* Looks up shards that are not verified yet. Lookups that wait together share one exchange on one connection. In a
 * single lookup, the server spends most time on waking up and on contended memory. A thread that comes while no
 * exchange is in progress asks for all that wait. */
#ifndef CAIRN_INDEX_POSTGRES_LOOKUP_H
#define CAIRN_INDEX_POSTGRES_LOOKUP_H

#include "index/index.h"

#include <pthread.h>

struct cairn_pg_lookups {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t answered;
	struct lookup_waiting *head, **tail; /* borrowed from the waiting threads */
	bool asking;                         /* one of these threads asks, for some of the others */
};

void cairn_pg_lookups_init(struct cairn_pg_lookups *lookups);
/** Call it when no lookup is in progress. */
void cairn_pg_lookups_fini(struct cairn_pg_lookups *lookups);

#endif
