/* All that is served. */
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
extern const struct http_route ROUTES_HUB[];             /* /api/... */
extern const struct http_route ROUTES_ACCOUNTS[];        /* /v1/accounts */
extern const struct http_route ROUTES_WHOAMI[];          /* /api/whoami-v2 */
extern const struct http_route ROUTES_BUCKETS[];         /* /api/buckets, /api/repos */
extern const struct http_route ROUTES_OBJECTS[];         /* /api/buckets/.../tree and the like */
extern const struct http_route ROUTES_RESOLVE[];         /* /buckets/.../resolve/... */
extern const struct http_route ROUTES_TELEMETRY[];       /* /v1/telemetry */
extern const struct http_route ROUTES_FETCH[];           /* /v1/fetch/... */
extern const struct http_route ROUTES_RECONSTRUCTIONS[]; /* /v1/reconstructions, /v2/reconstructions */
extern const struct http_route ROUTES_FILE_CHUNKS[];     /* /v2/file-chunk-hashes/... */
extern const struct http_route ROUTES_FILES[];           /* /v1/files/... */
extern const struct http_route ROUTES_XORBS[];           /* /v1/xorbs/..., /v1/xorb-grants/... */

/** Once a second: heartbeats of shard streams. */
void route_shards_tick(void);

#endif
