#include "cas/object/lost.h"

#include "cas/internal.h"
#include "index/operate.h"

enum { LOST_PAGES_MAX = 64 }; /* pages of rows: a call takes some ten milliseconds */

_Static_assert((int)CAIRN_LOST_PAGE_MAX == (int)CAIRN_INDEX_PAGE_MAX, "a page of rows has no more that are lost");

struct lost_walk {
	void (*visit)(void *ctx, const struct cairn_lost_xorb *xorb);
	void *ctx;
	bool any;
};

static void lost_visit(void *ctx, const struct cairn_index_xorb *row)
{
	struct lost_walk *walk = ctx;
	if (row->stored_bytes != 0)
		return;
	const struct cairn_lost_xorb lost = {
		.hash = row->hash, .unpacked_bytes = row->unpacked_bytes, .needed = row->referenced};
	walk->any = true;
	walk->visit(walk->ctx, &lost);
}

enum cairn_status cairn_cas_each_lost(struct cairn_cas *cas, int64_t after_id,
				      void (*visit)(void *ctx, const struct cairn_lost_xorb *xorb), void *ctx,
				      int64_t *next_id)
{
	struct lost_walk walk = {visit, ctx, false};
	enum cairn_status status = CAIRN_OK;
	*next_id = 0;
	if (cas->options.xorbs_external)
		return CAIRN_OK;
	/* Stop at the first page with any lost xorbs. */
	for (unsigned n = 0; n < LOST_PAGES_MAX && !walk.any; n++) {
		status = cairn_index_each_xorb(cas->index, after_id, CAIRN_LOST_PAGE_MAX, lost_visit, &walk, next_id);
		if (status != CAIRN_OK || *next_id == 0)
			break;
		after_id = *next_id;
	}
	return status;
}
