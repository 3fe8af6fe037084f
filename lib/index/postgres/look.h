/* Looks at shards that are not verified yet. Looks that wait together share one exchange on one connection. In a single
 * look, the server spends most time on waking up and on contended memory. A thread that comes while no exchange is in
 * progress asks for all that wait. */
#ifndef CAIRN_INDEX_POSTGRES_LOOK_H
#define CAIRN_INDEX_POSTGRES_LOOK_H

#include "index/index.h"

#include <pthread.h>

struct cairn_pg_looks {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t answered;
	struct look_waiting *head, **tail; /* borrowed from the waiting threads */
	bool asking;                       /* one of these threads asks, for some of the others */
};

void cairn_pg_looks_init(struct cairn_pg_looks *looks);
/** Call it when no look is in progress. */
void cairn_pg_looks_fini(struct cairn_pg_looks *looks);

#endif
