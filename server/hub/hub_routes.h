/* The routes of the hub. */
#ifndef CAIRN_SERVER_HUB_ROUTES_H
#define CAIRN_SERVER_HUB_ROUTES_H

#include "server/ask/hub_repo.h"

/** Routes for requests without a body. */
#define HUB_GET(path, label, reply, release)    HUB_ROW("GET", path, label, reply, release)
#define HUB_DELETE(path, label, reply, release) HUB_ROW("DELETE", path, label, reply, release)
#define HUB_ROW(verb, path, label, reply, release)                                                                     \
	{                                                                                                              \
		.method = (verb), .pattern = (path), .name = (label), .errors = HTTP_ERRORS_HUB, .done = (reply),      \
		.free = (release)                                                                                      \
	}

/** Routes for requests with a body, whose states begin with a struct hub_repo. */
#define HUB_POST(path, label, max, begin, finish, release) HUB_BODY("POST", path, label, max, begin, finish, release)
#define HUB_PUT(path, label, max, begin, finish, release)  HUB_BODY("PUT", path, label, max, begin, finish, release)
#define HUB_BODY(verb, path, label, max, begin, finish, release)                                                       \
	{                                                                                                              \
		.method = (verb), .pattern = (path), .name = (label), .errors = HTTP_ERRORS_HUB, .body_max = (max),    \
		.head = (begin), .body = hub_repo_body, .done = (finish), .free = (release)                            \
	}

/* Tables of routes; each file that has routes has one table: */
extern const struct http_route ROUTES_OVERVIEW[];     /* /api/users, /api/organizations */
extern const struct http_route ROUTES_ACCOUNTS[];     /* /v1/accounts */
extern const struct http_route ROUTES_QUOTA[];        /* /v1/quotas */
extern const struct http_route ROUTES_MIRRORED[];     /* /v1/mirror/repositories, /v1/mirror/namespaces */
extern const struct http_route ROUTES_MIRROR_LIST[];  /* GET /v1/mirror/repositories, and of one of them */
extern const struct http_route ROUTES_MIRROR_ADD[];   /* POST /v1/mirror/repositories/... */
extern const struct http_route ROUTES_MIRROR_PRUNE[]; /* POST /v1/mirror/prune, and of a repository */
extern const struct http_route ROUTES_WHOAMI[];       /* /api/whoami-v2 */
extern const struct http_route ROUTES_DEVICE[];       /* /oauth/device, /oauth/token */
extern const struct http_route ROUTES_TOKEN[];        /* /api/.../xet-read-token, /api/.../xet-write-token */
extern const struct http_route ROUTES_BUCKETS[];      /* /api/buckets */
extern const struct http_route ROUTES_OBJECTS[];      /* /api/buckets/.../tree and the like */
extern const struct http_route ROUTES_EVENTS[];       /* /api/buckets/.../events */
extern const struct http_route ROUTES_RESOLVE[];      /* /.../resolve/..., /.../raw/... */
extern const struct http_route ROUTES_REPOS[];        /* /api/repos, /api/.../settings, /api/.../auth-check */
extern const struct http_route ROUTES_UNOWNED[];      /* the routes of ROUTES_REPOS for names without an account */
extern const struct http_route ROUTES_INFO[];         /* /api/{type}/..., /api/.../revision/... */
extern const struct http_route ROUTES_TREE[];         /* /api/.../tree/..., /api/.../paths-info/... */
extern const struct http_route ROUTES_TENSORS[];      /* /api/.../safetensors-metadata/... */
extern const struct http_route ROUTES_HISTORY[];      /* /api/.../refs, commits, branch, tag */
extern const struct http_route ROUTES_COMMIT[];       /* /api/.../preupload/..., /api/.../commit/... */
extern const struct http_route ROUTES_CARD[];         /* /api/validate-yaml */
extern const struct http_route ROUTES_PULL[];         /* /api/.../discussions */
extern const struct http_route ROUTES_ACCESS[];       /* /api/.../ask-access, /api/.../user-access-request */
extern const struct http_route ROUTES_DUPLICATE[];    /* /api/.../duplicate */
extern const struct http_route ROUTES_LFS_FILES[];    /* /api/.../lfs-files */
extern const struct http_family HUB_FAMILY;           /* paths below /api/, and paths of files, that have no route */
extern const struct http_route ROUTES_LEFT_OUT[];     /* routes that answer 501 */
extern const struct http_route ROUTES_LIST[];         /* /api/{type}, lists of repositories and their storage */
extern const struct http_route ROUTES_LFS[];          /* .../info/lfs/objects/batch */
extern const struct http_route ROUTES_LFS_OBJECTS[];  /* /lfs/... */

#endif
