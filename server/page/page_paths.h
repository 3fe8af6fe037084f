/* Shows files found by a part of their paths, as rows of a table. */
#ifndef CAIRN_SERVER_PAGE_PATHS_H
#define CAIRN_SERVER_PAGE_PATHS_H

#include "hub/find_path.h"
#include "server/page/page.h"

/** A table that grows. Zeroed, except the first members. */
struct page_paths {
	struct page *page;
	/** Appends the address of a file. NULL: the address is at the head of main, or in the bucket, and the row names
	 * the repository. */
	void (*put_address)(struct page *page, const struct cairn_hub_path *found);
	size_t prefix_len; /* length of the start of each path that is not shown */
	uint32_t n;        /* number of rows so far */
	size_t end;        /* limit of the page's length */
	bool is_cut;       /* the limit was reached */
	char last[CAIRN_INDEX_PATH_MAX + 1];
};

enum { PAGE_PATHS_MAX = 100 }; /* most rows of a table */

/** A visitor of cairn_hub_find_paths() and the like; ctx is the table. */
void page_paths_visit(void *ctx, const struct cairn_hub_path *found);

/** Appends a search field that sends the text to the same address. @param text  the current text; "": none */
void page_paths_put_form(struct page *page, const char *text);

/** Returns the argument "find" of a request. @return "": absent, or longer than any path */
const char *page_paths_wanted(const struct http_request *req);

/** Appends the rows that were found, or a note that there are none, and links to further results and back. @param next
 * the path to continue after; "": no more. Overwritten if the page had no room for all rows */
void page_paths_put_found(struct page_paths *paths, const char *text, char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** Appends the paths found in all repositories, at most max rows, and the names of repositories that were not searched.
 * @return false: the call has failed */
bool page_paths_put_all(struct page *page, const char *text, uint32_t max);

#endif
