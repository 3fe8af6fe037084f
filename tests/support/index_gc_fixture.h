/* Fixtures for tests of collections: fx_set_up_two(), and a shard of both xorbs. Every call fails the running Check
 * test if it fails. */
#ifndef CAIRN_TESTS_SUPPORT_INDEX_GC_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_INDEX_GC_FIXTURE_H

#include "support/index_fixture.h"

enum { GX_GRACE_S = 1000 };

extern struct fx_shard gx_shard; /* describes fx_a and fx_b; file 1 of fx_a's chunks, file 2 of fx_b's */
extern int64_t gx_now;           /* Unix seconds */

/** For checked fixtures, with fx_tear_down(). */
void gx_set_up(void);

/** Registers the shard. */
void gx_put(void);
/** Is the shard known? */
bool gx_known(void);

struct cairn_index_xorb gx_row_of(const struct fx_xorb *x);

/** Do the two records of needed xorbs agree? */
bool gx_agree(void);

#endif
