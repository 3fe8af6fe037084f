/* Which files two commits of a repository do not have in common, and what their lines are: a part of pages. */
#ifndef CAIRN_SERVER_PAGE_CHANGES_H
#define CAIRN_SERVER_PAGE_CHANGES_H

#include "hub/changes.h"
#include "hub/new_bytes.h"
#include "hub/old_bytes.h"
#include "server/page/page_repo.h"

/** First member of the state of a page that shows them, which begins with a place: its commit is the later one. */
struct page_changes {
	struct page_place place;
	uint64_t skip;                    /* so many files are on the pages before */
	struct cairn_index_commit before; /* what the place's commit is compared with */
	bool has_before;                  /* else there was nothing */
	bool is_lost;                     /* what was before is not kept any more: nothing is compared */
	struct cairn_hub_changes changes; /* owned */
	struct cairn_new_bytes counted;   /* owned; without bytes where that was not counted */
	struct cairn_old_bytes old;       /* owned; likewise */
	uint64_t end;                     /* the first file that is on the next page */
	unsigned n_diffs;
	size_t diffs_begun; /* where in the page they begin */
	struct page_changes_diff {
		struct cairn_buf *b;
		size_t end; /* where the page must not go on */
		uint32_t before, after;
		bool cut;
	} diff; /* that is being written */
};
void page_changes_free(void *state);

/** Compare them, once before, has_before and is_lost are set. @return false: the call has failed; there are not so many
 *  files as are to be passed over (CAIRN_E_NOT_FOUND) */
bool page_changes_find(struct page_changes *p);

/** Append the files, with what is new of each, and the lines of those that are text. */
void page_changes_put(struct page_changes *p);

#endif
