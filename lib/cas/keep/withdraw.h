/* Withdraws xorbs of mirrored files well before the files are evicted, and offers them again. Evicts files so that
 * their bytes leave the disk soon. */
#ifndef CAIRN_CAS_KEEP_WITHDRAW_H
#define CAIRN_CAS_KEEP_WITHDRAW_H

#include "cas/cas.h"
#include "index/hub/mirror_offers.h"

/** Stops offering those xorbs of a file that only evictable mirrored files need. Xorbs that arrived less than half of
 * gc_grace ago stay offered. If no file needs a withdrawn xorb, the first collection that runs gc_grace after the
 * withdrawal removes the xorb. Waits for the index's writer.
 * @param before_day  files last read before this day, since 1970, may be evicted
 * @return CAIRN_OK, also if the file is gone; as index */
CAIRN_MUST_USE enum cairn_status cairn_cas_withdraw(struct cairn_cas *cas, const struct cairn_hash *file,
						    int64_t before_day);

/** Offers withdrawn xorbs again. First offers all that are needed by files of this server or of kept repositories.
 * Then offers those that are needed by other files which may not be evicted now, up to `bytes`. Waits for the index's
 * writer.
 * @param bytes  how many bytes may become bound: offered, so that they stay for gc_grace after their file is evicted
 * @param stop   called between pieces; true ends it  @return CAIRN_OK; as index */
CAIRN_MUST_USE enum cairn_status cairn_cas_offer_again(struct cairn_cas *cas, int64_t before_day, uint64_t bytes,
						       bool (*stop)(void *ctx), void *stop_ctx);

/** Sums up the bytes of xorbs that are not offered. Nobody holds an offer of free_bytes any more, because they were
 * withdrawn gc_grace ago; the next collection removes due_bytes. @return CAIRN_OK; as cairn_index_unoffered_sum() */
CAIRN_MUST_USE enum cairn_status cairn_cas_sum_unoffered(struct cairn_cas *cas, struct cairn_index_unoffered_sum *out);

/** Takes a mirrored file from its owner, and then retires the xorbs that no file needs any more. If the process is
 * killed, or a write fails, between these steps, the next collection retires them. Waits for the index's writer.
 * @param keep_s  how long the retired xorbs stay at least
 * @return CAIRN_OK, also if the file is gone; as index */
CAIRN_MUST_USE enum cairn_status cairn_cas_evict(struct cairn_cas *cas, const struct cairn_hash *file,
						 const char *owner, uint32_t keep_s);

#endif
