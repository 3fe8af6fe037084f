/* A cache of chunk lists that were read lately, because the terms of a file alternate between xorbs. */
#ifndef CAIRN_CAS_LIST_CACHE_H
#define CAIRN_CAS_LIST_CACHE_H

#include "hash/chunk_list.h"

enum {
	CAIRN_LIST_CACHE_LISTS = 256,
	CAIRN_LIST_CACHE_BYTES = 8 * 1024 * 1024, /* bytes of their chunks: 25 lists of the greatest length */
};

/** Owns up to CAIRN_LIST_CACHE_LISTS lists. Zeroed is empty. For one thread at a time. */
struct cairn_list_cache {
	struct cairn_list_ring *ring; /* owned; NULL before the first list is added */
	size_t bytes_max; /* limit for the lists' chunks; one list is always kept; 0: CAIRN_LIST_CACHE_BYTES */
};

void cairn_list_cache_fini(struct cairn_list_cache *c);

/** Finds the list of a xorb, valid until the next cairn_list_cache_put(). @param[out] id  as it was put; may be NULL
 * @return NULL: not in the cache */
const struct cairn_chunk_list *cairn_list_cache_find(const struct cairn_list_cache *c, const struct cairn_hash *xorb,
						     int64_t *id);

/** Adds the list of a xorb. Replaces an older list of this xorb, and evicts the oldest lists if there is no room.
 * @param id    number of the xorb's row, which cairn_list_cache_find() returns
 * @param list  owned from now on; empty afterwards
 * @param[out] kept  borrowed until the next call
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_list_cache_put(struct cairn_list_cache *c, const struct cairn_hash *xorb,
						      int64_t id, struct cairn_chunk_list *list,
						      const struct cairn_chunk_list **kept);

#endif
