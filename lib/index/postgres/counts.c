/* Counts of the index, read from this process's commits and the server's answers; and statistics. */
#include "index/postgres/engine.h"

/* Counts of this process's commits and of the server's answers arrive in any order. A server's number of withdrawals
 * only grows. Another server may give the same number to other withdrawals, so n_withdrawals counts changes. */
void cairn_pg_note_counts(struct cairn_postgres *p, const struct cairn_index_counts *counts, int64_t server)
{
	pthread_mutex_lock(&p->lock);
	int64_t withdrawn = p->counts.withdrawn;
	bool older = server == p->counted_server && counts->withdrawn < withdrawn;
	if (server != p->counted_server || counts->withdrawn > withdrawn)
		p->n_withdrawals++;
	p->counted_server = server;
	p->counts = *counts;
	if (older)
		p->counts.withdrawn = withdrawn;
	pthread_mutex_unlock(&p->lock);
}

uint64_t cairn_postgres_withdrawn(struct cairn_index *ix)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	pthread_mutex_lock(&p->lock);
	uint64_t n = p->n_withdrawals;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void cairn_postgres_describe(struct cairn_index *ix, struct cairn_index_stats *out)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	pthread_mutex_lock(&p->lock);
	struct cairn_index_counts counts = p->counts;
	pthread_mutex_unlock(&p->lock);
	*out = (struct cairn_index_stats){
		.n_files = (uint64_t)counts.files,
		.n_xorbs = (uint64_t)counts.xorbs,
		.n_shards = (uint64_t)counts.shards,
		.n_eligible = (uint64_t)counts.eligible,
		.stored_bytes = (uint64_t)counts.stored_bytes,
		.filter_complete = true,
		.n_asked = atomic_load(&p->watch.n_asked),
		.n_asked_failed = atomic_load(&p->watch.n_failed),
		.asked_ms = atomic_load(&p->watch.asked_ms),
		.clock_ahead_ms = atomic_load(&p->clock.ahead_ms),
	};
}
