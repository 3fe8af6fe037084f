/* Statistics and health of a store. */
#ifndef CAIRN_CAS_STATS_H
#define CAIRN_CAS_STATS_H

#include "cas/cas.h"
#include "index/operate.h"
#include "index/proof.h"

/** Figures that cost no query. */
struct cairn_cas_stats {
	uint64_t cache_hits, cache_misses, cache_bytes, cache_entries;
	uint64_t verified_lists_hits, verified_lists_added, verified_lists_bytes, verified_lists;
	uint64_t spool_bytes;                              /* bytes in flight now */
	uint64_t spool_reserved_bytes;                     /* announced by bodies in flight, but not yet received */
	uint64_t spool_kept_bytes;                         /* memory of the process that is kept for the next body */
	uint64_t chunks_verified;                          /* chunks of xorbs and shards, since opening */
	uint64_t xorbs_stored, xorb_bytes_stored;          /* since opening */
	uint64_t objects_damaged, xorbs_lost, xorbs_found; /* found since opening */
	uint64_t contents_damaged;                         /* since opening, counted at each read */
	uint64_t slow_writes; /* since opening: writes that waited for a disk (slow_disk.h) */
	struct cairn_index_stats index;
	struct cairn_store_room room; /* room of the object store */
	bool has_traffic;             /* the object store is a service */
	struct cairn_store_traffic traffic;
};
void cairn_cas_stats(struct cairn_cas *cas, struct cairn_cas_stats *out);

/** The statistics, and sums that take a scan each. Call on a worker. */
struct cairn_cas_totals {
	struct cairn_cas_stats stats;
	struct cairn_index_totals index;
	struct cairn_index_claims claims;
};
/** Computes the totals. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_totals(struct cairn_cas *cas, struct cairn_cas_totals *out);

/** The faults of the index. A diag without a rule means no fault. */
struct cairn_cas_health {
	struct cairn_diag upkeep; /* why background work fails, until the index is reopened */
	struct cairn_diag writes; /* why the last writes failed */
	struct cairn_index_log log;
};
/** Reads the health from memory, and the size of the log from its file. */
void cairn_cas_health(struct cairn_cas *cas, struct cairn_cas_health *out);

/** Waits until all submitted writes are done. @return false: they take longer than timeout_ms and 2 s */
bool cairn_cas_finish_writes(struct cairn_cas *cas, int64_t timeout_ms);

/** Checks whether the index is sound, during other work. cairn_cas_health() and cairn_cas_ready() report any damage
 * until the index is reopened. Takes at most 20 s, and reads only a part of an index with many millions of rows. Call
 * it on a worker. @param stop  called between pieces; true ends the check. May be NULL */
void cairn_cas_check_index(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx);

#endif
