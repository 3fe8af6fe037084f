/* Queries the index about a shard and all xorbs and files that it names, before the shard is verified. A remote index
 * would otherwise be queried xorb by xorb. */
#ifndef CAIRN_CAS_PUT_SHARD_LOOKUP_H
#define CAIRN_CAS_PUT_SHARD_LOOKUP_H

#include "index/index.h"

/** A lookup. Zeroed, except for the body, scope and owner of asked. For one thread. */
struct cas_shard_lookup {
	struct cairn_index_shard_lookup asked;
	struct cairn_hash *names; /* owned: hashes of the xorbs, then of the files */
};

/** Looks up a shard. @param names  also the xorbs and files that the shard (bytes, as received) names. The verifier
 * reports malformed parts
 * @return as cairn_index_look_up_shard(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cas_look_up_shard(struct cairn_index *ix, struct cas_shard_lookup *lookup, bool names,
						   const uint8_t *bytes, size_t len);

/** Finds a xorb in the answer. @return borrowed; NULL: it was not in the query, or needs a lookup of its own */
const struct cairn_index_seen_xorb *cas_shard_lookup_find(const struct cas_shard_lookup *lookup,
							  const struct cairn_hash *xorb);

void cas_shard_lookup_fini(struct cas_shard_lookup *lookup);

#endif
