/* Looks at shards that are not verified yet. Those that wait together are one exchange on one connection: of a look
 * that is alone the server takes most for waking up and for memory that another connection was busy with. Whoever comes
 * while nobody asks does so for all that wait. */
#ifndef CAIRN_INDEX_POSTGRES_LOOK_H
#define CAIRN_INDEX_POSTGRES_LOOK_H

#include "index/index.h"

#include <pthread.h>

struct cairn_pg_looks {
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t answered;
	struct look_waiting *head, **tail; /* borrowed from those who wait */
	bool asking;                       /* one of them, for some of the others */
};

void cairn_pg_looks_init(struct cairn_pg_looks *looks);
/** Nobody looks any more. */
void cairn_pg_looks_fini(struct cairn_pg_looks *looks);

CAIRN_MUST_USE enum cairn_status cairn_pg_look_at_shard(struct cairn_index *ix, struct cairn_index_look *look);

#endif
