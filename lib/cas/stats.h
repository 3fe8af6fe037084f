/* Statistics and health of a store. */
#ifndef CAIRN_CAS_STATS_H
#define CAIRN_CAS_STATS_H

#include "cas/cas.h"
#include "index/operate.h"
#include "index/proof.h"

/** Numbers that are kept anyway. */
struct cairn_cas_stats {
	uint64_t cache_hits, cache_misses, cache_bytes, cache_entries;
	uint64_t verified_lists_hits, verified_lists_added, verified_lists_bytes, verified_lists;
	uint64_t spool_bytes;                              /* in flight now */
	uint64_t spool_reserved_bytes;                     /* announced by bodies in flight, and not here yet */
	uint64_t chunks_verified;                          /* of xorbs and shards, since opening */
	uint64_t xorbs_stored, xorb_bytes_stored;          /* since opening */
	uint64_t objects_damaged, xorbs_lost, xorbs_found; /* noticed since opening */
	uint64_t contents_damaged;                         /* likewise, as often as they were read */
	uint64_t slow_writes;                              /* likewise: that waited for a disk (slow_disk.h) */
	struct cairn_index_stats index;
	struct cairn_store_room room; /* where objects are kept */
	bool has_traffic;             /* that is a service */
	struct cairn_store_traffic traffic;
};
void cairn_cas_stats(struct cairn_cas *cas, struct cairn_cas_stats *out);

/** The statistics, and sums that take a scan each: for workers. */
struct cairn_cas_totals {
	struct cairn_cas_stats stats;
	struct cairn_index_totals index;
	struct cairn_index_claims claims;
};
/** Computes the totals. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_totals(struct cairn_cas *cas, struct cairn_cas_totals *out);

/** The faults of the index. A diag without a rule means no fault. */
struct cairn_cas_health {
	struct cairn_diag upkeep; /* what it does beside the writes fails until it is opened anew */
	struct cairn_diag writes; /* what the last of them say */
};
/** Reads the health from memory. */
void cairn_cas_health(struct cairn_cas *cas, struct cairn_cas_health *out);

/** Waits until all submitted writes are done. @return false: they were not done within timeout_ms, or 2 s if longer */
bool cairn_cas_finish_writes(struct cairn_cas *cas, int64_t timeout_ms);

/**
 * Look whether the index is sound, beside the work that goes on. What is found damaged is told by cairn_cas_health()
 * and cairn_cas_ready() until it is opened anew. Takes at most 20 s, and of an index of many millions of rows sees a
 * part; for workers.
 * @param stop  asked now and then; true ends it early. May be NULL
 */
void cairn_cas_look(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx);

#endif
