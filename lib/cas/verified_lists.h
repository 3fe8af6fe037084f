/* A cache of chunk lists that were found to yield their xorb's hash, in bounded memory. Evicts the least recently used
 * list first. A list belongs to one opened object, like the marks of verify_read.c: not to another file in the object's
 * place, nor to the object after a write. */
#ifndef CAIRN_CAS_VERIFIED_LISTS_H
#define CAIRN_CAS_VERIFIED_LISTS_H

#include "cas/cas.h"

/** A cache, for any thread. Its lock is held for a lookup only. */
struct cas_verified_lists;

/** @param bytes_max  for all lists, with their overhead @return NULL without memory */
struct cas_verified_lists *cas_verified_lists_new(uint64_t bytes_max);
/** Frees the cache. Lists that are still referenced stay until they are released. NULL is harmless. */
void cas_verified_lists_free(struct cas_verified_lists *c);

/** Finds the list of an object, and returns a counted reference: cas_verified_list_unrefp(). NULL: not in the cache.
 * @param identity  cairn_store_object_identity() */
const struct cairn_chunk_list *cas_verified_lists_get(struct cas_verified_lists *c, const struct cairn_hash *xorb,
						      uint64_t identity);

/** Adds a copy of a list that yields the xorb's hash and ends where the object does. Replaces an older list: the hash
 * leaves out where chunks lie, so a cached list may have been wrong and read again. May do nothing without memory. */
void cas_verified_lists_put(struct cas_verified_lists *c, const struct cairn_hash *xorb, uint64_t identity,
			    const struct cairn_chunk_list *list);

/** Releases a reference. For CLEANUP(); NULL is harmless. */
void cas_verified_list_unrefp(const struct cairn_chunk_list **list);

struct cairn_cas_stats;
void cas_verified_lists_stats(struct cas_verified_lists *c, struct cairn_cas_stats *out);

#endif
