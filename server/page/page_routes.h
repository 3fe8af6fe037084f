/* The routes of the pages. */
#ifndef CAIRN_SERVER_PAGE_ROUTES_H
#define CAIRN_SERVER_PAGE_ROUTES_H

#include "server/page/page.h"

/** A route for a page. */
#define PAGE_GET(path, label, reply, release)                                                                          \
	{                                                                                                              \
		.method = "GET", .pattern = (path), .name = (label), .errors = HTTP_ERRORS_PAGE, .done = (reply),      \
		.free = (release)                                                                                      \
	}

/** A route for the form of a page. begin() calls page_post_new(). */
#define PAGE_FORM(path, label, begin, release)                                                                         \
	{                                                                                                              \
		.method = "POST", .pattern = (path), .name = (label), .errors = HTTP_ERRORS_PAGE,                      \
		.body_max = PAGE_FORM_BYTES_MAX, .head = (begin), .body = page_body, .done = page_done,                \
		.free = (release)                                                                                      \
	}

/* Tables of routes; each file that has routes has one table: */
extern const struct http_route ROUTES_PAGE_HOME[];      /* /: this and the following routes are for browsers */
extern const struct http_route ROUTES_PAGE_ASSETS[];    /* /assets/... */
extern const struct http_route ROUTES_PAGE_LOGIN[];     /* /login, /logout */
extern const struct http_route ROUTES_PAGE_DEVICE[];    /* /login/device */
extern const struct http_route ROUTES_PAGE_NEW[];       /* /new */
extern const struct http_route ROUTES_PAGE_KEYS[];      /* /settings/keys */
extern const struct http_route ROUTES_PAGE_BUCKET[];    /* /buckets/... */
extern const struct http_route ROUTES_PAGE_CARD[];      /* /{namespace}/{name}, /datasets/... */
extern const struct http_route ROUTES_PAGE_TREE[];      /* .../tree/... */
extern const struct http_route ROUTES_PAGE_BLOB[];      /* .../blob/... */
extern const struct http_route ROUTES_PAGE_COMMIT[];    /* .../commit/... */
extern const struct http_route ROUTES_PAGE_PULL[];      /* .../discussions[/...] */
extern const struct http_route ROUTES_PAGE_COMMITS[];   /* .../commits/..., .../refs */
extern const struct http_route ROUTES_PAGE_FOOTPRINT[]; /* .../storage */
extern const struct http_route ROUTES_PAGE_SEARCH[];    /* /search */
extern const struct http_route ROUTES_PAGE_UPLOAD[];    /* .../upload/... */
extern const struct http_route ROUTES_PAGE_ACCESS[];    /* .../ask-access, .../settings/access */
extern const struct http_route ROUTES_PAGE_SETTINGS[];  /* .../settings */
extern const struct http_route ROUTES_PAGE_STORAGE[];   /* /storage */
extern const struct http_route ROUTES_PAGE_FILES[];     /* files that no repository has */
extern const struct http_route ROUTES_PAGE_ADMIN[];     /* /admin */
extern const struct http_route ROUTES_PAGE_HOLDERS[];   /* /admin/accounts */
extern const struct http_route ROUTES_PAGE_HELP[];      /* /admin/help/... */
extern const struct http_route ROUTES_PAGE_ACCOUNT[];   /* /{account} */

#endif
