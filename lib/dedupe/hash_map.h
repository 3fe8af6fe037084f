/* A map from the hash of a chunk to the place where the chunk was seen. */
#ifndef CAIRN_DEDUPE_HASH_MAP_H
#define CAIRN_DEDUPE_HASH_MAP_H

#include "hash/hash.h"

#include <stddef.h>
#include <stdint.h>

struct cairn_hash_map_entry {
	struct cairn_hash hash;
	uint32_t xorb;  /* ordinal of the xorb; UINT32_MAX: the slot is empty */
	uint32_t chunk; /* index in the xorb */
};

/** A map. For one thread. Zeroed is empty. */
struct cairn_hash_map {
	struct cairn_hash_map_entry *slots; /* cap slots, a power of two */
	size_t n, cap;
};

/** Adds a hash unless the map has it. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hash_map_add(struct cairn_hash_map *m, const struct cairn_hash *hash,
						    uint32_t xorb, uint32_t chunk);

/** Finds an entry by its hash. @return borrowed until the next add; NULL: the map lacks the hash */
const struct cairn_hash_map_entry *cairn_hash_map_find(const struct cairn_hash_map *m, const struct cairn_hash *hash);

void cairn_hash_map_fini(struct cairn_hash_map *m);

#endif
