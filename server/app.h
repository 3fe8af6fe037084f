/* What the routes share. */
#ifndef CAIRN_SERVER_APP_H
#define CAIRN_SERVER_APP_H

#include "base/workers.h"
#include "cas/cas.h"
#include "server/auth.h"
#include "server/config.h"
#include "server/http.h"
#include "server/metrics.h"

/** One for each process; immutable but for what its members guard themselves. */
struct app {
	struct config config;
	struct auth_options auth;
	struct cairn_cas *cas;
	struct cairn_workers *workers;
	struct metrics *metrics;
	struct http_server *http; /* set once serving; used by the metrics route and the stop only */
	int64_t started_unix_s;
};

static inline struct app *app_of(const struct http_request *req)
{
	return http_app(req);
}

/* Tables of the resources, one for each route_*.c. */
extern const struct http_route ROUTES_HEALTH[]; /* /health, /ready, /metrics */
extern const struct http_route ROUTES_SHARDS[]; /* /v1/shards, /v2/shards */
extern const struct http_route ROUTES_CHUNKS[]; /* /v1/chunks/... */
extern const struct http_route ROUTES_FILES[];  /* /v1/files/... */
extern const struct http_route ROUTES_XORBS[];  /* /v1/xorbs/..., /v1/xorb-grants/... */

/** Once a second: heartbeats of shard streams. */
void route_shards_tick(void);

#endif
