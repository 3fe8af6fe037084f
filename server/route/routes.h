/* The routes of the store. */
#ifndef CAIRN_SERVER_ROUTE_ROUTES_H
#define CAIRN_SERVER_ROUTE_ROUTES_H

#include "server/http/http.h"

/* Tables of routes; each file that has routes has one table: */
extern const struct http_route ROUTES_HEALTH[];          /* /health, /ready, /metrics */
extern const struct http_route ROUTES_SHARDS[];          /* /v1/shards, /v2/shards */
extern const struct http_route ROUTES_CHUNKS[];          /* /v1/chunks/... */
extern const struct http_route ROUTES_ADMIN[];           /* DELETE /v1/files/..., /v1/gc, /v1/stats */
extern const struct http_route ROUTES_PACKS[];           /* /v1/packs */
extern const struct http_route ROUTES_KEYS[];            /* /v1/keys */
extern const struct http_route ROUTES_SCRUB[];           /* /v1/scrub, /v1/lost-xorbs */
extern const struct http_route ROUTES_HUB[];             /* /api/.../xet-read-token, without a hub */
extern const struct http_route ROUTES_TELEMETRY[];       /* /v1/telemetry */
extern const struct http_route ROUTES_FETCH[];           /* /v1/fetch/... */
extern const struct http_route ROUTES_RECONSTRUCTIONS[]; /* /v1/reconstructions, /v2/reconstructions */
extern const struct http_route ROUTES_FILE_CHUNKS[];     /* /v2/file-chunk-hashes/... */
extern const struct http_route ROUTES_FILES[];           /* /v1/files/... */
extern const struct http_route ROUTES_CLAIMS[];          /* /v1/false-claims */
extern const struct http_route ROUTES_JOBS[];            /* /v1/jobs */
extern const struct http_route ROUTES_HASH[];            /* /v1/info/... */
extern const struct http_route ROUTES_XORBS[];           /* /v1/xorbs/..., /v1/xorb-grants/... */
extern const struct http_route ROUTES_USAGE[];           /* /v1/usage */
extern const struct http_route ROUTES_MIRROR[];          /* /v1/mirror */

/** Sends heartbeats on shard streams. Call once a second. */
void route_shards_tick(void);

#endif
