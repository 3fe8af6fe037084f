/* Shows the files that differ between two commits of a repository, and their changed lines. Part of several pages. */
#ifndef CAIRN_SERVER_PAGE_CHANGES_H
#define CAIRN_SERVER_PAGE_CHANGES_H

#include "hub/changes.h"
#include "hub/new_bytes.h"
#include "hub/old_bytes.h"
#include "server/page/page_repo.h"

/** First member of the state of a page that shows changes. Begins with a place, whose commit is the later one. */
struct page_changes {
	struct page_place place;
	uint64_t skip;                    /* number of files on the pages before */
	struct cairn_index_commit before; /* the commit to compare with */
	bool has_before;                  /* false: compare with an empty repository */
	bool is_lost;                     /* the earlier commit is no longer stored: nothing is compared */
	struct cairn_hub_changes changes; /* owned */
	struct cairn_new_bytes counted;   /* owned; without bytes if they were not counted */
	struct cairn_old_bytes old;       /* owned; without bytes if they were not counted */
	uint64_t end;                     /* the first file of the next page */
	unsigned n_diffs;
	size_t diffs_begun; /* where the differences begin in the page */
	struct page_changes_diff {
		struct cairn_buf *b;
		size_t end; /* limit of the page's length */
		uint32_t before, after;
		bool cut;
	} diff; /* about the differences being written */
};
void page_changes_free(void *state);

/** Compares the commits. Set before, has_before and is_lost first. @return false: the call has failed, or skip is past
 * the last file (CAIRN_E_NOT_FOUND) */
bool page_changes_find(struct page_changes *p);

/** Appends the differing files, how many bytes of each are new, and the changed lines of text files. */
void page_changes_put(struct page_changes *p);

#endif
