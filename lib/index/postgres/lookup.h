/* Looks up unverified shards. Most of a single lookup's time goes into waking the server and into contended memory, so
 * waiting lookups share one exchange. A thread that comes while none is in progress sends all that wait. */
#ifndef CAIRN_INDEX_POSTGRES_LOOKUP_H
#define CAIRN_INDEX_POSTGRES_LOOKUP_H

#include "index/index.h"

#include <pthread.h>

struct cairn_pg_lookups {
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t answered;
	struct lookup_waiting *head, **tail; /* borrowed from the waiting threads */
	bool asking;                         /* one of these threads is sending some of the lookups */
};

void cairn_pg_lookups_init(struct cairn_pg_lookups *lookups);
/** Call it when no lookup is in progress. */
void cairn_pg_lookups_fini(struct cairn_pg_lookups *lookups);

#endif
