/* Shared parts of the pages of repositories of any kind: lookup, title and tabs, addresses within the repository. */
#ifndef CAIRN_SERVER_PAGE_REPO_H
#define CAIRN_SERVER_PAGE_REPO_H

#include "hub/path.h"
#include "server/page/page.h"

enum page_repo_tab {
	PAGE_REPO_CARD, /* a bucket has no such tab */
	PAGE_REPO_FILES,
	PAGE_REPO_COMMITS, /* a bucket has no such tab */
	PAGE_REPO_REFS,    /* a bucket has no such tab */
	PAGE_REPO_PULLS,   /* a bucket has no such tab */
	PAGE_REPO_STORAGE, /* a bucket has no such tab */
	PAGE_REPO_SETTINGS,
};

enum { PAGE_CRUMBS_MAX = 32 };

/** Reads the repository's name from the address; its kind follows from the route's pattern. Call from head() or done().
 * @return false: not a valid name; an error was replied */
bool page_repo_take(struct http_request *req, struct page *page);

/** Appends the address of the repository that was found, such as "/datasets/ann/table". */
void page_repo_put_address(struct cairn_buf *b, const struct page *page);

/** Redirects to an address below the repository that was found. @param rest  such as "/refs" */
void page_repo_go_to(struct page *page, const char *rest);

/** Begins a page of the repository that was found: its name, who may see it, and the tabs. @param crumbs  follow those
 * of the repository; may be NULL @return false: the call has failed */
bool page_repo_begin(struct page *page, enum page_repo_tab tab, const struct page_crumb *crumbs, size_t n_crumbs);

/** Makes the crumbs to a folder or a file, one for each segment of the path. @param prefix     of the addresses,
 * escaped @param texts  storage that the crumbs borrow; an empty buffer of the caller's @param[out] out   room for
 * PAGE_CRUMBS_MAX @return the number of crumbs */
size_t page_repo_crumbs(const char *prefix, const char *path, struct cairn_buf *texts, struct page_crumb *out);

/* --- at a revision ------------------------------------------------------------------------------------------------ */

/** First member of the state of a page of a git-like repository, which begins with a page. */
struct page_place {
	struct page page;
	const char *raw; /* revision and path, as in the address; NULL: the top folder of main. Borrowed */
	char revision[CAIRN_HUB_REVISION_MAX + 1]; /* as in the request; page_place_find() sets this and the next two */
	char path[CAIRN_INDEX_PATH_MAX + 1];       /* "": the top folder */
	bool may_read;                             /* the asker may read the files, too */
};

/** Makes the state of such a page for a GET, as page_get_new() does. Reads the repository's name and, if the pattern
 * has it, the argument "place". @return NULL: an error was replied */
void *page_place_new(struct http_request *req, size_t bytes, void (*build)(struct page *page), bool with_place);

/** Finds repository, commit and path. @return false: the call has failed */
bool page_place_find(struct page_place *p);

/** Appends the address of a path at the revision, such as "/ann/model/tree/main/a/b". @param what  "tree", "blob",
 * "resolve" or "commits" */
void page_place_put_address(struct cairn_buf *b, const struct page_place *p, const char *what, const char *path);

/** Begins a page of the path that was found, and appends the crumbs to it. @return false: the call has failed */
bool page_place_begin(struct page_place *p, enum page_repo_tab tab);

/** Appends the revision, and a menu of others. @param what  its kind of page, as in page_place_put_address() */
void page_place_put_menu(struct page_place *p, const char *what);

/** Appends a commit's title (cut if long), author, time and number. */
void page_place_put_commit(struct page_place *p, const struct cairn_index_commit *commit);

/** Redirects to another page of the same place and path. @param what  "tree" or "blob" */
void page_place_go(struct page_place *p, const char *what);

/** The result of reading a file's bytes. */
enum page_place_bytes {
	PAGE_PLACE_READ,
	PAGE_PLACE_DELETED, /* the bytes are not stored here */
	PAGE_PLACE_AWAITED, /* the bytes have not come from the mirrored hub yet */
	PAGE_PLACE_FALSE,   /* the SHA-256 differs from that in the commit */
	PAGE_PLACE_LOST,    /* the bytes are missing or damaged, until they are uploaded again; logged as well */
	PAGE_PLACE_UNREAD,  /* the disk fails; logged as well */
};

/** Reads the first bytes of a file. Lost bytes do not fail the page, which reports them. @param[out] out  an empty
 * buffer, whose maximum limits the bytes; stays empty if they are lost @param[out] found  always set @return false: the
 * call has failed */
CAIRN_MUST_USE bool page_place_read(struct page_place *p, const struct cairn_index_entry *entry, struct cairn_buf *out,
				    enum page_place_bytes *found);

/** Returns a sentence for the reader about unreadable bytes. @param found  not PAGE_PLACE_READ @return static */
const char *page_place_say(enum page_place_bytes found);

#endif
