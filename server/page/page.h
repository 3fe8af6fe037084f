/* A page: a worker finds out who looks at it and makes it; then it is sent with headers that keep it safe. */
#ifndef CAIRN_SERVER_PAGE_PAGE_H
#define CAIRN_SERVER_PAGE_PAGE_H

#include "hub/revision.h"
#include "server/hub/hub_repo.h"
#include "server/page/form.h"
#include "server/page/html.h"
#include "server/page/show.h"

enum {
	PAGE_FORM_BYTES_MAX = 16384,
	/* The longest address within a repository, all of it escaped. */
	PAGE_LOCATION_BYTES = 3 * (CAIRN_INDEX_PATH_MAX + CAIRN_HUB_REVISION_MAX) + 512,
	PAGE_COOKIE_BYTES = 256,
	PAGE_ROWS = 100, /* of a list, until the next page of it */
};

/** First member of a page's state. */
struct page {
	struct hub_repo hub; /* its call, the body of a form, and the bucket that the address names, if it does */
	struct form form;    /* what was sent; of a GET empty */
	bool wants_html;     /* else whoever asks is no browser: failures are told as of any other address */
	bool secure;         /* by HTTPS */
	enum cairn_hub_access access;       /* to the repository that page_repo_begin() began with */
	void (*build)(struct page *page);   /* on a worker */
	char location[PAGE_LOCATION_BYTES]; /* where to go instead, when it is set */
	char cookie[PAGE_COOKIE_BYTES];     /* to set; empty: none */
	char notice[sizeof(
		(struct cairn_diag){0}.text)]; /* why what was sent by the form was not done; empty: it was */
	struct cairn_diag lost;                /* what the page had to do without, for the log; no rule: nothing */
};

/**
 * Make a zeroed state of so many bytes that begins with a page, and give it to the request; route_job_start() hands it
 * over. build() makes the page with page_begin() and page_end(), or sets location, or the call's status and diag.
 * @return NULL without memory: that was replied
 */
void *page_get_new(struct http_request *req, size_t bytes, void (*build)(struct page *page));

/** The same for a form: from head(). page_body() and page_done() take it from there; only forms that pages of this
 * server sent come through. */
void *page_post_new(struct http_request *req, size_t bytes, void (*build)(struct page *page));
uint64_t page_body_max(void *app);
void page_body(struct http_request *req, const uint8_t *bytes, size_t len);
void page_done(struct http_request *req);
/** Of a form with files: build() reads what was sent by itself. */
void page_done_files(struct http_request *req);
void page_free(void *state);

/** Of http's options: reply an error, of what is no page's, as one. */
bool page_reply_error(struct http_request *req, unsigned code, const char *message);

/* --- for build() -------------------------------------------------------------------------------------------------- */

static inline struct cairn_buf *page_out(struct page *page)
{
	return &page->hub.call.answer;
}
static inline struct cairn_cas *page_cas(const struct page *page)
{
	return page->hub.call.job.app->cas;
}
static inline const struct cairn_hub_asker *page_asker(const struct page *page)
{
	return &page->hub.call.asker;
}

/** A step on the way to the page, from its start. */
struct page_crumb {
	const char *address, *name;
};

/** Begin a page with what all have: head, navigation, the way to it. The last crumb is the page itself, and its address
 * is not looked at. @param crumbs  NULL: none */
void page_begin(struct page *page, const char *title, const struct page_crumb *crumbs, size_t n_crumbs);
void page_end(struct page *page);

/** Nobody is to sign in first. @param next  to come back to  @return false: then build() is done */
bool page_is_signed_in(struct page *page, const char *next);

/** Whoever has all rights, with a key that has them, too. */
bool page_is_operator(const struct page *page);

/** Append all of a page that says what was refused, to nobody in particular. */
void page_put_error(struct cairn_buf *b, unsigned code, const char *title, const char *text);

/** Set the cookie of a session. @param text  "": take it away  @param life_s  0: likewise */
void page_set_cookie(struct page *page, const char *text, int64_t life_s);

/** Show a failure that the person can mend on the form itself: keep what it says, and go on. @return false: it is
 *  another one, or there is none */
bool page_take_failure(struct page *page);
/** Append that, if there is one. */
void page_put_notice(struct page *page);

/** Append lines that can be copied with a button. @param id  of the page's element */
void page_put_copy(struct page *page, const char *id, const char *label, const char *lines);

/** Which repositories are listed. Borrowed. */
struct page_repos {
	enum cairn_index_repo_kind kind; /* 0: any */
	int64_t account;                 /* 0: of anybody */
	const char *search;              /* "": any */
	const char *cursor;              /* of the row to go on behind; NULL: from the start */
	const char *more;                /* address of the next rows, to which a cursor is added */
};
/** Append their rows, and a link to more of them. @return false: there are none at all, and nothing was said of it */
bool page_put_repos(struct page *page, const struct page_repos *repos);

/** Append the lines that lead tools to this host. */
void page_put_endpoint(struct page *page, const char *lines);

#endif
