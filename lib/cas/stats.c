#include "cas/stats.h"

#include "cas/internal.h"
#include "index/examine.h"
#include "store/spool_memory.h"

enum { STATS_CHECK_LIMIT_MS = 20 * 1000 }; /* a million terms take 4 s */

void cairn_cas_stats(struct cairn_cas *cas, struct cairn_cas_stats *out)
{
	uint64_t reserved;
	uint64_t bytes = cairn_budget_bytes(&cas->budget, &reserved);
	*out = (struct cairn_cas_stats){
		.spool_bytes = bytes,
		.spool_reserved_bytes = reserved,
		.spool_kept_bytes = cairn_spool_memory_kept_bytes(),
		.chunks_verified = atomic_load(&cas->chunks_verified),
		.xorbs_stored = atomic_load(&cas->xorbs_stored),
		.xorb_bytes_stored = atomic_load(&cas->xorb_bytes_stored),
		.objects_damaged = atomic_load(&cas->objects_damaged),
		.contents_damaged = atomic_load(&cas->contents_damaged),
		.xorbs_lost = atomic_load(&cas->xorbs_lost),
		.xorbs_found = atomic_load(&cas->xorbs_found),
		.slow_writes = atomic_load(&cas->slow_disk.n_slow),
	};
	cairn_answer_cache_stats(cas->cache, out);
	cas_verified_lists_stats(cas->verified_lists, out);
	cairn_index_stats(cas->index, &out->index);
	cairn_store_room(cas->store, &out->room);
	out->has_traffic = cairn_store_traffic(cas->store, &out->traffic);
}

enum cairn_status cairn_cas_totals(struct cairn_cas *cas, struct cairn_cas_totals *out)
{
	cairn_cas_stats(cas, &out->stats);
	enum cairn_status status = cairn_index_claims(cas->index, &out->claims);
	return status == CAIRN_OK ? cairn_index_totals(cas->index, &out->index) : status;
}

void cairn_cas_health(struct cairn_cas *cas, struct cairn_cas_health *out)
{
	struct cairn_index_stats index;
	*out = (struct cairn_cas_health){0};
	(void)!cairn_index_upkeep(cas->index, &out->upkeep);
	(void)!cairn_index_health(cas->index, &out->writes);
	cairn_index_stats(cas->index, &index);
	out->log = index.log;
}

bool cairn_cas_finish_writes(struct cairn_cas *cas, int64_t timeout_ms)
{
	return cairn_index_flush(cas->index, timeout_ms > CAIRN_INDEX_PROBE_MS ? timeout_ms : CAIRN_INDEX_PROBE_MS);
}

static void stats_condemn(void *ctx, const struct cairn_index_fault *fault)
{
	struct cairn_index *index = ctx;
	struct cairn_diag diag = {0};
	(void)!cairn_fail(&diag, CAIRN_E_DAMAGED, "index.damaged", CAIRN_NO_OFFSET,
			  "the index is damaged; stop the daemon and run cairn fsck: %s", fault->text);
	cairn_index_condemn(index, &diag);
}

void cairn_cas_check_index(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx)
{
	/* If the index cannot be opened now, the next check examines it. */
	(void)!cairn_index_glance(cas->index, STATS_CHECK_LIMIT_MS, stop, ctx, stats_condemn, cas->index);
}
