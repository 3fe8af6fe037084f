/* Before stored bytes are sent: do they still give the hashes under which they came? Stock clients do not ask that of
 * what they download, so a disk that changed a bit would be believed. */
#ifndef CAIRN_CAS_PROVE_H
#define CAIRN_CAS_PROVE_H

#include "cas/cas.h"
#include "cas/fetch_grant.h"
#include "store/store.h"

/** Were these very bytes found right within the last day (and within this process)? Cheap; any thread. What was sent
 * before is mostly in memory still, and what is not is read again soon enough. */
bool cairn_cas_is_proved(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			 const struct cairn_fetch_range *range);

/**
 * Read, unpack and hash the chunks that n ranges touch, but for those found right within the last day, and remember
 * which are. The index's list of chunks is read and checked once for all of them. Takes as long as it takes to read the
 * bytes; for workers.
 * @param ranges  within the object
 * @param stop    asked before each chunk; true ends it early. May be NULL
 * @return CAIRN_OK
 *         CAIRN_E_BUSY  stopped (rule verify.stopped)
 *         CAIRN_E_IO  they are wrong (rule object.damaged), or cannot be read
 *         CAIRN_E_NOT_FOUND  the xorb was removed meanwhile
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_prove(struct cairn_cas *cas, const struct cairn_hash *xorb,
						 struct cairn_store_object *object,
						 const struct cairn_fetch_range *ranges, size_t n,
						 bool (*stop)(void *ctx), void *stop_ctx, struct cairn_diag *diag);

#endif
