/* A page for browsers. A worker identifies the reader and builds the page; the reply has security headers. */
#ifndef CAIRN_SERVER_PAGE_PAGE_H
#define CAIRN_SERVER_PAGE_PAGE_H

#include "hub/revision.h"
#include "server/ask/form.h"
#include "server/ask/html.h"
#include "server/ask/hub_repo.h"
#include "server/page/show.h"

enum {
	PAGE_FORM_BYTES_MAX = 16384,
	/* The longest address within a repository, when all of it is escaped. */
	PAGE_LOCATION_BYTES = 3 * (CAIRN_INDEX_PATH_MAX + CAIRN_HUB_REVISION_MAX) + 512,
	PAGE_COOKIE_BYTES = 256,
	PAGE_ROWS = 100, /* rows of a list on one page */
};

/** First member of a page's state. */
struct page {
	struct hub_repo hub;              /* the call, the body of a form, and the bucket in the address, if any */
	struct form form;                 /* the form that was sent; empty for a GET */
	bool wants_html;                  /* false: the client is not a browser, and gets errors as from other routes */
	bool secure;                      /* the request came by HTTPS */
	enum cairn_hub_access access;     /* the asker's rights to the repository of page_repo_begin() */
	void (*build)(struct page *page); /* builds the page; called on a worker */
	char location[PAGE_LOCATION_BYTES];               /* where to redirect; "": no redirect */
	char cookie[PAGE_COOKIE_BYTES];                   /* the cookie to set; "": none */
	char notice[sizeof((struct cairn_diag){0}.text)]; /* why the form's request failed; "": it did not */
	struct cairn_diag lost;                           /* which data the page lacks, for the log; no rule: none */
};

/** Makes a zeroed state of so many bytes that begins with a page, and gives it to the request; route_job_start() hands
 * it over. build() writes the page with page_begin() and page_end(), or sets location, or the call's status and diag.
 * @return NULL: no memory; an error was replied */
void *page_get_new(struct http_request *req, size_t bytes, void (*build)(struct page *page));

/** Does what page_get_new() does, for a form. Call from head(); page_body() and page_done() do the rest. Only forms
 * from pages of this server are accepted. */
void *page_post_new(struct http_request *req, size_t bytes, void (*build)(struct page *page));
void page_body(struct http_request *req, const uint8_t *bytes, size_t len);
void page_done(struct http_request *req);
/** The done() of a form with files: build() parses the body itself. */
void page_done_files(struct http_request *req);
/** Checks a form with a large body before the body is read. Refuses it if it came from a page of another server, or if
 * the reader lacks this access to the repository of the path. Call from head(). @return false: an error was replied */
bool page_post_may(struct http_request *req, struct page *page, enum cairn_hub_access need);
void page_free(void *state);

/** Replies an error as a page, for requests without a page. For http's options. */
bool page_reply_error(struct http_request *req, unsigned code, const char *message);

static inline struct cairn_buf *page_out(struct page *page)
{
	return &page->hub.call.answer;
}
static inline struct cairn_cas *page_cas(const struct page *page)
{
	return page->hub.call.job.app->cas;
}
static inline const struct cairn_hub *page_hub(const struct page *page)
{
	return &page->hub.call.job.app->hub;
}
static inline const struct cairn_hub_asker *page_asker(const struct page *page)
{
	return &page->hub.call.asker;
}

/** A breadcrumb: one step of the path to the page. */
struct page_crumb {
	const char *address, *name;
};

/** Begins a page: head, navigation, breadcrumbs. The last crumb is the page itself; its address is ignored. @param
 * crumbs NULL: none */
void page_begin(struct page *page, const char *title, const struct page_crumb *crumbs, size_t n_crumbs);
void page_end(struct page *page);

/** Is the reader signed in? If not, redirects to the sign-in page. @param next  where to return afterwards @return
 * false: build() must return */
bool page_is_signed_in(struct page *page, const char *next);

/** Does the reader have all rights, and use a key that has them, too? */
bool page_is_operator(const struct page *page);

/** Appends a whole error page that does not depend on the reader. */
void page_put_error(struct cairn_buf *b, unsigned code, const char *title, const char *text);

/** Sets the cookie of a session. @param text  "": delete the cookie @param life_s  0: delete the cookie */
void page_set_cookie(struct page *page, const char *text, int64_t life_s);

/** Turns a failure that the person can correct into a notice on the form. @return false: another failure, or none */
bool page_take_failure(struct page *page);
/** Appends the notice of page_take_failure(), if there is one. */
void page_put_notice(struct page *page);

/** Appends lines with a copy button. @param id  id of the element on the page */
void page_put_copy(struct page *page, const char *id, const char *label, const char *lines);

/** Selects the repositories to list. Borrowed. */
struct page_repos {
	enum cairn_index_repo_kind kind; /* 0: any kind */
	int64_t account;                 /* 0: any account */
	const char *search;              /* "": any name */
	const char *cursor;              /* names the row after which to continue; NULL: from the start */
	const char *more;                /* address of the next page, to which a cursor is appended */
};
/** Appends rows of the repositories, and a link to further ones. @return false: none; nothing was appended */
bool page_put_repos(struct page *page, const struct page_repos *repos);

/** Appends the settings with which tools use this host. */
void page_put_endpoint(struct page *page, const char *lines);

#endif
