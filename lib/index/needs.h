/* Finds the xorbs that files need, from their terms alone. A collection compares the table reference with this. */
#ifndef CAIRN_INDEX_NEEDS_H
#define CAIRN_INDEX_NEEDS_H

#include "index/index.h"

#include <stdatomic.h>

/** A bit for each number that a xorb can have: 12 MiB for a hundred million xorbs. */
struct cairn_index_needs;

/* beyond this, numbers share bits, so that more xorbs seem needed */
enum { CAIRN_INDEX_NEEDS_BYTES_MAX = 64 * 1024 * 1024 };

/** Reads the terms of all files, a page at a time, so that no write waits for it: 0.3 s for a million terms. It may
 * miss a file that is added meanwhile; the references of that file are written with its terms.
 * @param n_read  increased with each file, for other threads to read; may be NULL
 * @param stop  called between pages; may be NULL
 * @return CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_DAMAGED, CAIRN_E_IO a file cannot be read; as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_needs_new(struct cairn_index_needs **out, struct cairn_index *ix,
						       _Atomic uint64_t *n_read, bool (*stop)(void *ctx),
						       void *stop_ctx);
void cairn_index_needs_freep(struct cairn_index_needs **needs);

/** Returns the highest number of a xorb when the terms were read; 0: there was none. */
int64_t cairn_index_needs_last_xorb(const struct cairn_index_needs *needs);

/** Do terms of a file name the xorb? Any thread. @param needs  NULL: false */
bool cairn_index_needs_has(const struct cairn_index_needs *needs, int64_t xorb);

/** Does the table reference agree with the terms of all files, in one snapshot? Call it if a needed xorb has no
 * reference: either a file was forgotten meanwhile, or the index is damaged. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_needs_agree(struct cairn_index *ix, bool *agree);

#endif
