/* What a shard names, and what the index has of it, asked at once before it is verified: an index on another machine
 * would be asked xorb by xorb. */
#ifndef CAIRN_CAS_SHARD_LOOK_H
#define CAIRN_CAS_SHARD_LOOK_H

#include "index/index.h"

/** Zeroed but for the body, the scope and the owner of what is asked. Owned by one thread. */
struct cas_shard_look {
	struct cairn_index_look asked;
	struct cairn_hash *names; /* owned: xorbs, and files behind them */
};

/** @param names  ask for what it names, too: the shard as it came. What cannot be read of it is left to the verifier
 *  @return as cairn_index_look_at_shard(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cas_shard_look(struct cairn_index *ix, struct cas_shard_look *look, bool names,
						const uint8_t *bytes, size_t len);

/** A xorb that was found. @return borrowed; NULL: it was not looked for, or is to be looked at by itself */
const struct cairn_index_seen_xorb *cas_shard_look_find(const struct cas_shard_look *look,
							const struct cairn_hash *xorb);

/** For CLEANUP(). */
void cas_shard_look_fini(struct cas_shard_look *look);

#endif
