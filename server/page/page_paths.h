/* Files that were found by a part of their paths, as rows. */
#ifndef CAIRN_SERVER_PAGE_PATHS_H
#define CAIRN_SERVER_PAGE_PATHS_H

#include "hub/find_path.h"
#include "server/page/page.h"

/** A table that grows. Zeroed except for the first members. */
struct page_paths {
	struct page *page;
	/** Append the address of one. NULL: the one at the head of main, or in the bucket, and the row says whose it
	 * is. */
	void (*put_address)(struct page *page, const struct cairn_hub_path *found);
	size_t prefix_len;                   /* of paths, which is not shown */
	uint32_t n;                          /* rows */
	size_t end;                          /* length of the page at which there is no more room */
	bool is_cut;                         /* that came to pass */
	char last[CAIRN_INDEX_PATH_MAX + 1]; /* the path of the last row, where it was */
};

enum { PAGE_PATHS_MAX = 100 }; /* rows */

/** A visitor of cairn_hub_find_paths() and the like; ctx is the table. */
void page_paths_visit(void *ctx, const struct cairn_hub_path *found);
/** Close the table, if it has a row. */
void page_paths_end(struct page_paths *paths);

/** Append a field to search with, which leads to the same address. @param text  that is searched for; "": nothing yet
 */
void page_paths_put_form(struct page *page, const char *text);

/** The argument "find" of a request. @return "": nothing is to be found, or it is too long to be a part of a path */
const char *page_paths_wanted(const struct http_request *req);

/** Append what was found, or that nothing was, and links to more and back. @param next  behind which path to go on; "":
 *  that was all. Overwritten where the page had no room for all */
void page_paths_put_found(struct page_paths *paths, const char *text, char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** Append what is found in all repositories, at most so many, and what was not looked at. @return false: the call has
 *  failed */
bool page_paths_put_all(struct page *page, const char *text, uint32_t max);

#endif
