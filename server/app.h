/* What the routes share. */
#ifndef CAIRN_SERVER_APP_H
#define CAIRN_SERVER_APP_H

#include "base/workers.h"
#include "cas/cas.h"
#include "server/auth.h"
#include "server/config.h"
#include "server/http/cors.h"
#include "server/http/http.h"
#include "server/metrics.h"
#include "server/sandbox.h"
#include "server/tls.h"

#include <stdatomic.h>

#include <pthread.h>

/** The last answer of /ready, kept for a second: it writes to the disk, and anybody may ask. */
struct app_ready {
	pthread_mutex_t lock; /* over the rest */
	bool checking;        /* on one worker, without the lock */
	int64_t checked_ms;   /* of cairn_clock_mono_ms(); 0: never */
	enum cairn_status status;
	struct cairn_diag diag;
};

/** One for each process; immutable but for what its members guard themselves. */
struct app {
	struct config config;
	struct auth_options auth;
	struct cors cors;
	struct cairn_cas *cas;
	struct cairn_workers *workers, *long_workers; /* the latter for what would hold up the former */
	struct metrics *metrics;
	struct http_server *http; /* set once serving; used by the metrics route and the stop only */
	struct app_ready ready;
	struct sandbox_report sandbox;
	struct tls *tls;      /* NULL: HTTP */
	atomic_bool stopping; /* long work is to end early */
	bool told_of_index;   /* the sweeper's: it has logged that the index's log is not folded in */
	atomic_bool drained;  /* so is work for requests: their time is over */
	int64_t started_unix_s;
};

/**
 * Open what app->config asks for: data folder, keys, workers, metrics. All other members but sandbox must be
 * zero.
 * @return CAIRN_OK; else with one clear line in diag, and nothing is left open
 */
CAIRN_MUST_USE enum cairn_status app_open(struct app *app, struct cairn_diag *diag);

/** Serve on a listening socket, which is taken over. @return as http_server_start() */
CAIRN_MUST_USE enum cairn_status app_serve(struct app *app, int listen_fd, struct cairn_diag *diag);

/**
 * Stop serving: no new connections, requests under way end within config.drain_s, workers and index finish what they
 * have.
 * @return false: the disk did not answer in time, or requests still wait for what did not end; the process can only
 * exit
 */
bool app_stop(struct app *app);

/** Close what app_open() opened. After app_stop() if it served. The configuration is the caller's. */
void app_close(struct app *app);

static inline struct app *app_of(const struct http_request *req)
{
	return http_app(req);
}

/* Tables of the resources, one for each route_*.c. */
extern const struct http_route ROUTES_HEALTH[];          /* /health, /ready, /metrics */
extern const struct http_route ROUTES_SHARDS[];          /* /v1/shards, /v2/shards */
extern const struct http_route ROUTES_CHUNKS[];          /* /v1/chunks/... */
extern const struct http_route ROUTES_ADMIN[];           /* DELETE /v1/files/..., /v1/gc, /v1/stats */
extern const struct http_route ROUTES_PACKS[];           /* /v1/packs */
extern const struct http_route ROUTES_KEYS[];            /* /v1/keys */
extern const struct http_route ROUTES_HUB[];             /* /api/... */
extern const struct http_route ROUTES_TELEMETRY[];       /* /v1/telemetry */
extern const struct http_route ROUTES_FETCH[];           /* /v1/fetch/... */
extern const struct http_route ROUTES_RECONSTRUCTIONS[]; /* /v1/reconstructions, /v2/reconstructions */
extern const struct http_route ROUTES_FILE_CHUNKS[];     /* /v2/file-chunk-hashes/... */
extern const struct http_route ROUTES_FILES[];           /* /v1/files/... */
extern const struct http_route ROUTES_XORBS[];           /* /v1/xorbs/..., /v1/xorb-grants/... */

/** Once a second: heartbeats of shard streams. */
void route_shards_tick(void);

#endif
