/* Chunk lists read lately: terms hop between a few xorbs. */
#ifndef CAIRN_CAS_LIST_CACHE_H
#define CAIRN_CAS_LIST_CACHE_H

#include "hash/chunk_list.h"

enum { CAIRN_LIST_CACHE_SLOTS = 8 };

/** Owns up to CAIRN_LIST_CACHE_SLOTS lists. Zeroed is empty. One thread at a time. */
struct cairn_list_cache {
	struct cairn_list_slot {
		struct cairn_hash xorb;
		struct cairn_chunk_list list; /* empty: unused */
	} slot[CAIRN_LIST_CACHE_SLOTS];
	unsigned next; /* the one to go next */
};

void cairn_list_cache_fini(struct cairn_list_cache *c);

/** The list of a xorb; NULL: not here. Valid until the next cairn_list_cache_slot(). */
const struct cairn_chunk_list *cairn_list_cache_find(const struct cairn_list_cache *c, const struct cairn_hash *xorb);

/** An empty list to be filled for a xorb, in place of the one that came first. */
struct cairn_chunk_list *cairn_list_cache_slot(struct cairn_list_cache *c, const struct cairn_hash *xorb);

#endif
