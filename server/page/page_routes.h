/* The routes of the pages. */
#ifndef CAIRN_SERVER_PAGE_ROUTES_H
#define CAIRN_SERVER_PAGE_ROUTES_H

#include "server/http/http.h"

/* A table for each file that has routes. */
extern const struct http_route ROUTES_PAGE_HOME[];      /* /: this and the following are for browsers */
extern const struct http_route ROUTES_PAGE_ASSETS[];    /* /assets/... */
extern const struct http_route ROUTES_PAGE_LOGIN[];     /* /login, /logout */
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
extern const struct http_route ROUTES_PAGE_SETTINGS[];  /* .../settings */
extern const struct http_route ROUTES_PAGE_STORAGE[];   /* /storage */
extern const struct http_route ROUTES_PAGE_FILES[];     /* files that no repository has */
extern const struct http_route ROUTES_PAGE_ADMIN[];     /* /admin */
extern const struct http_route ROUTES_PAGE_HOLDERS[];   /* /admin/accounts */
extern const struct http_route ROUTES_PAGE_HELP[];      /* /admin/help/... */
extern const struct http_route ROUTES_PAGE_ACCOUNT[];   /* /{account} */

#endif
