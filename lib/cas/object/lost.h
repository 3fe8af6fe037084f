/* Lists lost xorbs, which have a row but no sound object. */
#ifndef CAIRN_CAS_OBJECT_LOST_H
#define CAIRN_CAS_OBJECT_LOST_H

#include "cas/cas.h"

/** A lost xorb. Borrowed during the call. */
struct cairn_lost_xorb {
	struct cairn_hash hash;
	uint64_t unpacked_bytes; /* of its content */
	bool needed;             /* a file needs it */
};

enum { CAIRN_LOST_PAGE_MAX = 512 };

/**
 * Visits lost xorbs, in the order in which they arrived. Reads the rows of all xorbs, at most some ten thousand a call;
 * for workers. If xorbs are stored elsewhere, none counts as lost.
 * @param after_id      0: from the first; else *next_id of the call before
 * @param[out] next_id  0: there are no more; else continue there, even if few were visited
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_lost(struct cairn_cas *cas, int64_t after_id,
						     void (*visit)(void *ctx, const struct cairn_lost_xorb *xorb),
						     void *ctx, int64_t *next_id);

#endif
