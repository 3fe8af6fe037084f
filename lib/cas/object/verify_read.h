/* Verifies before sending that stored bytes still yield the hashes under which they were uploaded. Stock clients do not
 * verify their downloads, so they would accept a bit that changed on the disk. */
#ifndef CAIRN_CAS_OBJECT_VERIFY_READ_H
#define CAIRN_CAS_OBJECT_VERIFY_READ_H

#include "cas/cas.h"
#include "cas/object/fetch_grant.h"
#include "store/store.h"

/** Did this process verify all these bytes of the opened object within the last day? Cheap; any thread. Bytes that were
 * sent before are mostly still in memory; others are read again soon enough. The answer is no if another file has
 * replaced the verified one, or was written to since. @param ranges  within the object */
bool cairn_cas_is_verified(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object, const struct cairn_fetch_range *ranges, size_t n);

/** Reads, unpacks and hashes the chunks that n ranges touch, and those that share a block of 32 KiB with them. Skips
 * blocks that were verified within the last day, and records those that it verifies. Takes as long as reading the
 * bytes; for workers.
 * @param list  the index's list of the xorb, not yet verified. NULL: the list that was verified for this object before
 *              (verified_lists.h), so that the call costs only the reading of the bytes
 * @param stop  called before each chunk; true ends the call. May be NULL
 * @param[out] damaged  some of the chunks are wrong; with CAIRN_OK none that the ranges touch
 * @return CAIRN_OK
 *         CAIRN_E_BUSY     stopped (rule verify.stopped)
 *         CAIRN_E_DAMAGED  bytes are wrong or missing (rule object.damaged); the list is wrong (xorb.list)
 *         CAIRN_E_IO       they cannot be read (object.unreadable)
 *         CAIRN_E_BUSY     also: the store does not answer (store.silent)
 *         CAIRN_E_NOT_FOUND  list is NULL, and none is cached. Also: the object was removed since it was opened
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_verify_read(struct cairn_cas *cas, const struct cairn_hash *xorb,
						       struct cairn_store_object *object,
						       const struct cairn_chunk_list *list,
						       const struct cairn_fetch_range *ranges, size_t n,
						       bool (*stop)(void *ctx), void *stop_ctx, bool *damaged,
						       struct cairn_diag *diag);

/** Records that the whole object was verified. */
void cas_mark_verified(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object);

/** Records for a day that this object is damaged. @return false: that was known */
bool cas_mark_damaged(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object);
bool cas_is_marked_damaged(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object);

#endif
