/* Chunk lists that were found to give their xorb's hash, kept in bounded memory for the proofs that follow: the least
 * recently used goes first. A list belongs to the opened object that it was used for, as the marks of verify_read.c do:
 * of a file that took its place, or of one that was written to, nothing is known. */
#ifndef CAIRN_CAS_VERIFIED_LISTS_H
#define CAIRN_CAS_VERIFIED_LISTS_H

#include "cas/cas.h"

/** Any thread; one lock, held for a look-up only. */
struct cas_verified_lists;

/** @param bytes_max  of lists in all, with what keeping one takes. @return NULL without memory */
struct cas_verified_lists *cas_verified_lists_new(uint64_t bytes_max);
/** Lists that somebody still holds stay until they are given back. NULL is harmless. */
void cas_verified_lists_free(struct cas_verified_lists *c);

/** Finds the list of an object; a counted reference, cas_verified_list_unrefp(). NULL: none is kept.
 *  @param identity  cairn_store_object_identity() */
const struct cairn_chunk_list *cas_verified_lists_get(struct cas_verified_lists *c, const struct cairn_hash *xorb,
						      uint64_t identity);

/** Keep a copy of a list that gives the xorb's hash and ends where the object does; one that is there already is
 * replaced: the root says nothing of where chunks lie, and whoever reads the list again found that the kept one is
 * wrong. May do nothing for want of memory. */
void cas_verified_lists_put(struct cas_verified_lists *c, const struct cairn_hash *xorb, uint64_t identity,
			    const struct cairn_chunk_list *list);

/** Give a reference back. For CLEANUP(); NULL is harmless. */
void cas_verified_list_unrefp(const struct cairn_chunk_list **list);

struct cairn_cas_stats;
void cas_verified_lists_stats(struct cas_verified_lists *c, struct cairn_cas_stats *out);

#endif
