/* Before stored bytes are sent: do they still give the hashes under which they came? Stock clients do not ask that of
 * what they download, so a disk that changed a bit would be believed. */
#ifndef CAIRN_CAS_VERIFY_READ_H
#define CAIRN_CAS_VERIFY_READ_H

#include "cas/cas.h"
#include "cas/fetch_grant.h"
#include "store/store.h"

/**
 * Were all these bytes of the opened object found right within the last day (and within this process)? Cheap; any
 * thread. What was sent before is mostly in memory still, and what is not is read again soon enough. Nothing is known
 * of another file that took the place of the one which was verified, nor of one that was written to since.
 * @param ranges  within the object
 */
bool cairn_cas_is_verified(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object, const struct cairn_fetch_range *ranges, size_t n);

/**
 * Read, unpack and hash the chunks that n ranges touch, and those that share a block of 32 KiB with them, except for
 * what was found right within the last day, and remember what is. Takes as long as it takes to read the bytes; for
 * workers.
 * @param list  of the xorb: as the index has it, not checked yet. NULL: the one that an earlier look at this object
 *              found to give the xorb's hash (verified_lists.h), so that this costs what its bytes do
 * @param stop  asked before each chunk; true ends it early. May be NULL
 * @param[out] damaged  some of them are wrong; with CAIRN_OK none that the ranges touch
 * @return CAIRN_OK
 *         CAIRN_E_BUSY     stopped (rule verify.stopped)
 *         CAIRN_E_DAMAGED  they are wrong, or there are fewer than there should be (rule object.damaged); the list is
 *                          wrong (xorb.list)
 *         CAIRN_E_IO       they cannot be read (object.unreadable)
 *         CAIRN_E_BUSY     also: the store does not answer (store.silent)
 *         CAIRN_E_NOT_FOUND  without a list: none is kept. Also: the object was removed since it was opened
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_verify_read(struct cairn_cas *cas, const struct cairn_hash *xorb,
						       struct cairn_store_object *object,
						       const struct cairn_chunk_list *list,
						       const struct cairn_fetch_range *ranges, size_t n,
						       bool (*stop)(void *ctx), void *stop_ctx, bool *damaged,
						       struct cairn_diag *diag);

/** Remember that all of this object was found right. */
void cas_mark_verified(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object);

/** Remember that this object was found damaged, for a day. @return false: that was known */
bool cas_mark_damaged(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object);
bool cas_is_marked_damaged(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object);

#endif
