/* Which xorbs the files need, from their terms alone: the second witness that a collection asks before it believes the
 * table reference. */
#ifndef CAIRN_INDEX_NEEDS_H
#define CAIRN_INDEX_NEEDS_H

#include "index/index.h"

#include <stdatomic.h>

/** A bit for each number that a xorb can have: 12 MiB for a hundred million of them. */
struct cairn_index_needs;

enum { CAIRN_INDEX_NEEDS_BYTES_MAX = 64 * 1024 * 1024 }; /* beyond it numbers share bits: more seem to be needed */

/**
 * Read the terms of all files, a page at a time, so that nothing waits for it: 0.3 s for a million terms. Of a xorb
 * that is named by a file which comes while it runs, it may not know; that file's references are as new as its terms.
 * @param n_read  counted up with each file, for others to look at; may be NULL
 * @param stop  looked at between pages; may be NULL
 * @return CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_DAMAGED, CAIRN_E_IO a file cannot be read; as every read (index.h)
 */
CAIRN_MUST_USE enum cairn_status cairn_index_needs_new(struct cairn_index_needs **out, struct cairn_index *ix,
						       _Atomic uint64_t *n_read, bool (*stop)(void *ctx),
						       void *stop_ctx);
void cairn_index_needs_freep(struct cairn_index_needs **needs);

/** The highest number that a xorb had when they were asked for; 0: there was none. */
int64_t cairn_index_needs_last_xorb(const struct cairn_index_needs *needs);

/** Does a file's terms name it? Any thread. @param needs  NULL: nobody was asked, false */
bool cairn_index_needs_has(const struct cairn_index_needs *needs, int64_t xorb);

/**
 * Is reference what the terms of all files say, in one snapshot? For when a xorb is needed and has no reference: either
 * a file was forgotten meanwhile, or the index is damaged. @return CAIRN_OK; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_needs_agree(struct cairn_index *ix, bool *agree);

#endif
