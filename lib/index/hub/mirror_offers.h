/* Withdraws xorbs that only mirrored files need, if these files are evicted next. The chunks of a withdrawn xorb are no
 * longer offered to uploaders, so that its bytes can leave the disk together with the files. */
#ifndef CAIRN_INDEX_HUB_MIRROR_OFFERS_H
#define CAIRN_INDEX_HUB_MIRROR_OFFERS_H

#include "index/hub/hub.h"

enum { CAIRN_INDEX_OFFERS_MAX = 256 }; /* most xorbs of one call */

/* A xorb of a mirrored file may be withdrawn from the beginning, so that its bytes can leave the disk as soon as the
 * file is evicted. The writes put_xorb, renew_xorb and put_shard leave the xorb withdrawn if `stays_withdrawn` is set,
 * which only the mirror does. Every other write that ends a retirement offers the xorb again. */

/** Withdraws xorbs, so that no answer offers their chunks. Skips xorbs that arrived after arrived_before_unix_s, and
 * xorbs of a file that may not be evicted: the file was read on before_day or later, is kept, is a part of an
 * unfinished file, or has another owner. When no file needs a withdrawn xorb, gc_mark retires it as of the time of its
 * withdrawal, and keeps it for keep_s at least. The later of the index's clock and the caller's counts.
 * @return CAIRN_OK; as every write */
struct cairn_index_withdraw_xorbs {
	struct cairn_index_write write;
	const int64_t *xorbs; /* borrowed; numbers, at most CAIRN_INDEX_OFFERS_MAX */
	uint32_t n;
	int64_t now_unix_s, arrived_before_unix_s;
	int64_t before_day;   /* files last read before this day may be evicted (mirror_files.h) */
	uint32_t n_withdrawn; /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_withdraw_xorbs(struct cairn_index *ix,
							    struct cairn_index_withdraw_xorbs *withdraw);

/** A withdrawn xorb. Plain value. */
struct cairn_index_unoffered {
	int64_t xorb;
	uint64_t stored_bytes;
	int64_t withdrawn_unix_s;
};

/** Visits withdrawn xorbs that are needed by files which may not be evicted. Reads each withdrawn xorb.
 * @param before_day  files last read before this day may be evicted; INT64_MAX: all files that only mirrored
 *                    repositories have may be evicted, except those that the operator keeps
 * @param visit  must not call the index; gets at most CAIRN_INDEX_OFFERS_MAX  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_needed(struct cairn_index *ix, int64_t before_day,
							 void (*visit)(void *ctx,
								       const struct cairn_index_unoffered *xorb),
							 void *ctx);

/** Offers withdrawn xorbs again. */
struct cairn_index_offer_xorbs {
	struct cairn_index_write write;
	const int64_t *xorbs; /* borrowed; at most CAIRN_INDEX_OFFERS_MAX */
	uint32_t n;
};
CAIRN_MUST_USE enum cairn_status cairn_index_offer_xorbs(struct cairn_index *ix, struct cairn_index_offer_xorbs *offer);

/** Retires those of the given xorbs that no file needs, after their files were evicted. A xorb counts as retired since
 * it was withdrawn, and stays for keep_s at least. If it was not withdrawn, it counts as retired since now, or half of
 * grace_s after it arrived if that is later.
 * @return CAIRN_OK; as every write */
struct cairn_index_retire_xorbs {
	struct cairn_index_write write;
	const int64_t *xorbs; /* borrowed; at most CAIRN_INDEX_OFFERS_MAX */
	uint32_t n;
	int64_t now_unix_s, grace_s, keep_s; /* as in gc_mark (index.h) */
	uint32_t n_retired;                  /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_retire_xorbs(struct cairn_index *ix,
							  struct cairn_index_retire_xorbs *retire);

/** Stored bytes of xorbs: of those that are not offered, and of all that may be needed. */
struct cairn_index_unoffered_sum {
	uint64_t withdrawn_bytes; /* of withdrawn xorbs */
	uint64_t free_bytes;      /* of xorbs withdrawn up to the given time */
	uint64_t retired_bytes;   /* of xorbs retired after the given time */
	uint64_t due_bytes;       /* of xorbs retired up to the given time */
	uint64_t needed_bytes;    /* of all xorbs in the store that are not retired */
};
/** Sums them up. Reads each withdrawn and each retired xorb: 0.1 s for 100,000. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_unoffered_sum(struct cairn_index *ix, int64_t before_unix_s,
							   struct cairn_index_unoffered_sum *out);

#endif
