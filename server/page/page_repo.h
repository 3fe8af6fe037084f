/* What the pages of a repository share, whatever its kind: finding it, its title and tabs, addresses within it. */
#ifndef CAIRN_SERVER_PAGE_REPO_H
#define CAIRN_SERVER_PAGE_REPO_H

#include "hub/path.h"
#include "server/page/page.h"

enum page_repo_tab {
	PAGE_REPO_CARD, /* not of a bucket */
	PAGE_REPO_FILES,
	PAGE_REPO_COMMITS, /* neither */
	PAGE_REPO_REFS,    /* nor this one */
	PAGE_REPO_PULLS,   /* nor these */
	PAGE_REPO_STORAGE, /* nor this */
	PAGE_REPO_SETTINGS,
};

enum { PAGE_CRUMBS_MAX = 32 };

/** Take the repository of the address, whose kind the route's pattern tells. From head() or done().
 *  @return false: nobody can have that name, which was replied */
bool page_repo_take(struct http_request *req, struct page *page);

/** Append the address of the repository that was found: "/datasets/ann/table". */
void page_repo_put_address(struct cairn_buf *b, const struct page *page);

/** Begin a page of the repository that was found: its name, who may see it, and the tabs.
 *  @param crumbs  behind those of the repository; may be NULL
 *  @return false: the call has failed */
bool page_repo_begin(struct page *page, enum page_repo_tab tab, const struct page_crumb *crumbs, size_t n_crumbs);

/** The way to a folder or a file, each step cut out of the path.
 *  @param prefix     of the addresses, escaped
 *  @param texts      what the crumbs borrow from; an empty buffer of the caller's
 *  @param[out] out   PAGE_CRUMBS_MAX of room
 *  @return how many */
size_t page_repo_crumbs(const char *prefix, const char *path, struct cairn_buf *texts, struct page_crumb *out);

/* --- at a revision ------------------------------------------------------------------------------------------------ */

/** First member of the state of a page of a git-like repository, which begins with a page. */
struct page_place {
	struct page page;
	const char *raw; /* revision and path, as the address has them; NULL: the top folder of main. The request's */
	char revision[CAIRN_HUB_REVISION_MAX + 1]; /* as it was asked for; page_place_find() finds what follows */
	char path[CAIRN_INDEX_PATH_MAX + 1];       /* "": the top folder */
	bool may_read;                             /* the files, too */
};

/** Make such a state for a GET, as page_get_new(), and take the repository and the argument "place", if the pattern has
 *  one. @return NULL: that was replied */
void *page_place_new(struct http_request *req, size_t bytes, void (*build)(struct page *page), bool with_place);

/** Find repository, commit and path; else the call has failed. */
bool page_place_find(struct page_place *p);

/** Append the address of a path at the revision: "/ann/model/tree/main/a/b".
 *  @param what  "tree", "blob", "resolve" or "commits" */
void page_place_put_address(struct cairn_buf *b, const struct page_place *p, const char *what, const char *path);

/** Begin a page of the path that was found, with the way to it. @return false: the call has failed */
bool page_place_begin(struct page_place *p, enum page_repo_tab tab);

/** Append the revision, and a menu of others. @param what  as above: where they lead */
void page_place_put_menu(struct page_place *p, const char *what);

/** Append what a commit is called: its title, cut, who made it, when, and its number. */
void page_place_put_commit(struct page_place *p, const struct cairn_index_commit *commit);

/** Lead to another page of the place that was found: the one of the same path. @param what  "tree" or "blob" */
void page_place_go(struct page_place *p, const char *what);

/** How the bytes of a file were found. */
enum page_place_bytes {
	PAGE_PLACE_READ,
	PAGE_PLACE_DELETED, /* they are not here */
	PAGE_PLACE_FALSE,   /* they have another SHA-256 than the commit says */
	PAGE_PLACE_LOST,    /* gone or damaged, until they are uploaded again; the log will say so */
	PAGE_PLACE_UNREAD,  /* the disk fails; likewise */
};

/** Read the first bytes of a file. That they are lost is no failure of the page: it stands and says so.
 *  @param[out] out    an empty buffer whose maximum says how many; empty again where they are lost
 *  @param[out] found  always set
 *  @return false: the call has failed */
CAIRN_MUST_USE bool page_place_read(struct page_place *p, const struct cairn_index_entry *entry, struct cairn_buf *out,
				    enum page_place_bytes *found);

/** A sentence for a reader. @param found  not PAGE_PLACE_READ @return static */
const char *page_place_say(enum page_place_bytes found);

#endif
