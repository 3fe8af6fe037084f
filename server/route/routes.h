/* The tables of all routes. */
#ifndef CAIRN_SERVER_ROUTE_ROUTES_H
#define CAIRN_SERVER_ROUTE_ROUTES_H

#include "server/http/http.h"

/* Tables of the resources, one for each route_*.c. */
extern const struct http_route ROUTES_HEALTH[];          /* /health, /ready, /metrics */
extern const struct http_route ROUTES_SHARDS[];          /* /v1/shards, /v2/shards */
extern const struct http_route ROUTES_CHUNKS[];          /* /v1/chunks/... */
extern const struct http_route ROUTES_ADMIN[];           /* DELETE /v1/files/..., /v1/gc, /v1/stats */
extern const struct http_route ROUTES_PACKS[];           /* /v1/packs */
extern const struct http_route ROUTES_KEYS[];            /* /v1/keys */
extern const struct http_route ROUTES_SCRUB[];           /* /v1/scrub, /v1/lost-xorbs */
extern const struct http_route ROUTES_HUB[];             /* /api/.../xet-read-token, without a hub */
extern const struct http_route ROUTES_ACCOUNTS[];        /* /v1/accounts */
extern const struct http_route ROUTES_QUOTA[];           /* /v1/quotas */
extern const struct http_route ROUTES_WHOAMI[];          /* /api/whoami-v2 */
extern const struct http_route ROUTES_TOKEN[];           /* /api/.../xet-read-token, and to write */
extern const struct http_route ROUTES_BUCKETS[];         /* /api/buckets */
extern const struct http_route ROUTES_OBJECTS[];         /* /api/buckets/.../tree and the like */
extern const struct http_route ROUTES_RESOLVE[];         /* /.../resolve/..., /.../raw/... */
extern const struct http_route ROUTES_REPOS[];           /* /api/repos, /api/.../settings, /api/.../auth-check */
extern const struct http_route ROUTES_INFO[];            /* /api/{type}/..., /api/.../revision/... */
extern const struct http_route ROUTES_TREE[];            /* /api/.../tree/..., /api/.../paths-info/... */
extern const struct http_route ROUTES_HISTORY[];         /* /api/.../refs, commits, branch, tag */
extern const struct http_route ROUTES_COMMIT[];          /* /api/.../preupload/..., /api/.../commit/... */
extern const struct http_route ROUTES_CARD[];            /* /api/validate-yaml */
extern const struct http_route ROUTES_PULL[];            /* /api/.../discussions */
extern const struct http_route ROUTES_DUPLICATE[];       /* /api/.../duplicate */
extern const struct http_route ROUTES_LFS_FILES[];       /* /api/.../lfs-files */
extern const struct http_family HUB_FAMILY;              /* paths below /api/, and of files, that have no route */
extern const struct http_unknown HUB_NO_ROUTE;           /* the answer to most of them */
extern const struct http_route ROUTES_LEFT_OUT[];        /* routes answered 501 */
extern const struct http_route ROUTES_LIST[];            /* /api/{type}, lists of repositories and their storage */
extern const struct http_route ROUTES_PAGE_HOME[];       /* /: this and the following are for browsers */
extern const struct http_route ROUTES_PAGE_ASSETS[];     /* /assets/... */
extern const struct http_route ROUTES_PAGE_LOGIN[];      /* /login, /logout */
extern const struct http_route ROUTES_PAGE_NEW[];        /* /new */
extern const struct http_route ROUTES_PAGE_KEYS[];       /* /settings/keys */
extern const struct http_route ROUTES_PAGE_BUCKET[];     /* /buckets/... */
extern const struct http_route ROUTES_PAGE_CARD[];       /* /{namespace}/{name}, /datasets/... */
extern const struct http_route ROUTES_PAGE_TREE[];       /* .../tree/... */
extern const struct http_route ROUTES_PAGE_BLOB[];       /* .../blob/... */
extern const struct http_route ROUTES_PAGE_COMMIT[];     /* .../commit/... */
extern const struct http_route ROUTES_PAGE_PULL[];       /* .../discussions[/...] */
extern const struct http_route ROUTES_PAGE_COMMITS[];    /* .../commits/..., .../refs */
extern const struct http_route ROUTES_PAGE_FOOTPRINT[];  /* .../storage */
extern const struct http_route ROUTES_PAGE_SEARCH[];     /* /search */
extern const struct http_route ROUTES_PAGE_UPLOAD[];     /* .../upload/... */
extern const struct http_route ROUTES_PAGE_SETTINGS[];   /* .../settings */
extern const struct http_route ROUTES_PAGE_STORAGE[];    /* /storage */
extern const struct http_route ROUTES_PAGE_FILES[];      /* files that no repository has */
extern const struct http_route ROUTES_PAGE_ADMIN[];      /* /admin */
extern const struct http_route ROUTES_PAGE_HOLDERS[];    /* /admin/accounts */
extern const struct http_route ROUTES_PAGE_HELP[];       /* /admin/help/... */
extern const struct http_route ROUTES_PAGE_ACCOUNT[];    /* /{account} */
extern const struct http_route ROUTES_USAGE[];           /* /v1/usage */
extern const struct http_route ROUTES_LFS[];             /* .../info/lfs/objects/batch */
extern const struct http_route ROUTES_LFS_OBJECTS[];     /* /lfs/... */
extern const struct http_route ROUTES_TELEMETRY[];       /* /v1/telemetry */
extern const struct http_route ROUTES_FETCH[];           /* /v1/fetch/... */
extern const struct http_route ROUTES_RECONSTRUCTIONS[]; /* /v1/reconstructions, /v2/reconstructions */
extern const struct http_route ROUTES_FILE_CHUNKS[];     /* /v2/file-chunk-hashes/... */
extern const struct http_route ROUTES_FILES[];           /* /v1/files/... */
extern const struct http_route ROUTES_CLAIMS[];          /* /v1/false-claims */
extern const struct http_route ROUTES_JOBS[];            /* /v1/jobs */
extern const struct http_route ROUTES_HASH[];            /* /v1/info/... */
extern const struct http_route ROUTES_XORBS[];           /* /v1/xorbs/..., /v1/xorb-grants/... */

/** Sends heartbeats on shard streams. Call once a second. */
void route_shards_tick(void);

#endif
