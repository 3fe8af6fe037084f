/* Chunk lists read lately: terms hop between xorbs. */
#ifndef CAIRN_CAS_LIST_CACHE_H
#define CAIRN_CAS_LIST_CACHE_H

#include "hash/chunk_list.h"

enum {
	CAIRN_LIST_CACHE_LISTS = 256,
	CAIRN_LIST_CACHE_BYTES = 8 * 1024 * 1024, /* of their chunks: 25 lists of the greatest length */
};

/** Owns up to so many lists. Zeroed is empty. One thread at a time. */
struct cairn_list_cache {
	struct cairn_list_ring *ring; /* owned; NULL until the first list comes */
	size_t bytes_max;             /* of the lists' chunks, but one list is kept always; 0: CAIRN_LIST_CACHE_BYTES */
};

void cairn_list_cache_fini(struct cairn_list_cache *c);

/** The list of a xorb; NULL: not here. Valid until the next cairn_list_cache_put(). @param[out] id  as it was put; may
 * be NULL */
const struct cairn_chunk_list *cairn_list_cache_find(const struct cairn_list_cache *c, const struct cairn_hash *xorb,
						     int64_t *id);

/**
 * Keep the list of a xorb, instead of an older one of it and in place of those that came first.
 * @param id    of the xorb's row, for whoever asks for it
 * @param list  taken over, and empty afterwards
 * @param[out] kept  borrowed until the next call
 * @return CAIRN_OK; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_list_cache_put(struct cairn_list_cache *c, const struct cairn_hash *xorb,
						      int64_t id, struct cairn_chunk_list *list,
						      const struct cairn_chunk_list **kept);

#endif
