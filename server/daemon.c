#include "server/daemon.h"

#include "base/clock.h"
#include "base/processors.h"
#include "cas/move/move.h"
#include "cas/serve/query_chunk.h"
#include "cas/service/jobs.h"
#include "cas/stats.h"
#include "server/ask/api_key.h"
#include "server/ask/hub_usage.h"
#include "server/ask/session.h"
#include "server/collect.h"
#include "server/housekeeping.h"
#include "server/http/listen.h"
#include "server/http/rate.h"
#include "server/hub/hub_routes.h"
#include "server/log/log.h"
#include "server/mirror_log.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"
#include "server/route/routes.h"
#include "server/service.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Searched in this order: the most frequent routes come first, the hub's own last. ROUTES_INFO has
 * /api/{type}/{namespace}/{name}, which also matches /api/users/{name}/overview, so ROUTES_INFO comes later. */
#define DAEMON_CAS_ROUTES                                                                                              \
	ROUTES_CHUNKS, ROUTES_FETCH, ROUTES_SHARDS, ROUTES_XORBS, ROUTES_RECONSTRUCTIONS, ROUTES_HEALTH, ROUTES_FILES, \
		ROUTES_HASH, ROUTES_TELEMETRY, ROUTES_ADMIN, ROUTES_PACKS, ROUTES_KEYS, ROUTES_SCRUB,                  \
		ROUTES_FILE_CHUNKS, ROUTES_CLAIMS, ROUTES_QUOTA, ROUTES_JOBS, ROUTES_MIRROR, ROUTES_MIRRORED,          \
		ROUTES_MIRROR_LIST, ROUTES_MIRROR_ADD, ROUTES_MIRROR_PRUNE
#define DAEMON_PAGE_ROUTES                                                                                             \
	ROUTES_PAGE_ASSETS, ROUTES_PAGE_HOME, ROUTES_PAGE_LOGIN, ROUTES_PAGE_DEVICE, ROUTES_PAGE_NEW,                  \
		ROUTES_PAGE_KEYS, ROUTES_PAGE_BUCKET, ROUTES_PAGE_ACCESS, ROUTES_PAGE_SETTINGS, ROUTES_PAGE_STORAGE,   \
		ROUTES_PAGE_FILES, ROUTES_PAGE_ADMIN, ROUTES_PAGE_HOLDERS, ROUTES_PAGE_HELP, ROUTES_PAGE_ACCOUNT,      \
		ROUTES_PAGE_CARD, ROUTES_PAGE_TREE, ROUTES_PAGE_BLOB, ROUTES_PAGE_COMMITS, ROUTES_PAGE_COMMIT,         \
		ROUTES_PAGE_PULL, ROUTES_PAGE_SEARCH, ROUTES_PAGE_UPLOAD, ROUTES_PAGE_FOOTPRINT
static const struct http_route *const DAEMON_ROUTES[] = {DAEMON_CAS_ROUTES,
							 ROUTES_RESOLVE,
							 ROUTES_TOKEN,
							 ROUTES_OBJECTS,
							 ROUTES_EVENTS,
							 ROUTES_BUCKETS,
							 ROUTES_TREE,
							 ROUTES_COMMIT,
							 ROUTES_HISTORY,
							 ROUTES_REPOS,
							 ROUTES_CARD,
							 ROUTES_ACCOUNTS,
							 ROUTES_WHOAMI,
							 ROUTES_OVERVIEW,
							 ROUTES_LEFT_OUT,
							 ROUTES_INFO,
							 ROUTES_LIST,
							 ROUTES_USAGE,
							 DAEMON_PAGE_ROUTES,
							 ROUTES_LFS_OBJECTS,
							 ROUTES_LFS,
							 ROUTES_PULL,
							 ROUTES_DUPLICATE,
							 ROUTES_LFS_FILES,
							 ROUTES_DEVICE,
							 ROUTES_ACCESS,
							 ROUTES_TENSORS,
							 ROUTES_UNOWNED,
							 NULL};
static const struct http_route *const DAEMON_ROUTES_WITHOUT_HUB[] = {DAEMON_CAS_ROUTES, ROUTES_HUB, NULL};
enum {
	DAEMON_ROUTES_MAX = 256,
	DAEMON_TELEMETRY_PER_S = 1,
	DAEMON_TELEMETRY_BURST_S = 60,
	DAEMON_DEVICE_LOOKS = 30, /* lookups of device codes that one account may make at once */
	DAEMON_WORKERS_MAX = 256, /* the largest value of the setting workers */
	DAEMON_REPLIES_MS = 1000,
	DAEMON_STOP_S = 15,            /* seconds for the rest of a stop, after requests and writes have ended */
	DAEMON_QUICK_WORKERS = 2,      /* further threads for work that a person waits for */
	DAEMON_STAND_INS = 16,         /* further threads, which replace threads that wait for the index's writer */
	DAEMON_DISK_WORKERS = 32,      /* the more threads wait at once, the fewer disk flushes each of them needs */
	DAEMON_LONG_WORKERS = 4,       /* a packing, a collection, a check of the index, and the figures of usage */
	DAEMON_LONG_QUICK_WORKERS = 2, /* further threads for /ready; one sender gets all threads but one */
};

/* Logs notices of the library, since lib/ never prints. */
static void daemon_noticed(void *ctx, const struct cairn_cas_notice *notice)
{
	char xorb[CAIRN_HASH_TEXT_BYTES];
	(void)ctx;
	cairn_hash_text(xorb, &notice->xorb);
	switch (notice->kind) {
	case CAIRN_CAS_OBJECT_DAMAGED:
		LOG(LOG_ERROR, "object_damaged", LOG_T("xorb", xorb), LOG_T("rule", notice->rule),
		    LOG_T("cause", notice->text), LOG_N("offset", notice->offset));
		break;
	case CAIRN_CAS_XORB_LOST:
		LOG(LOG_ERROR, "xorb_lost", LOG_T("xorb", xorb));
		break;
	case CAIRN_CAS_CONTENT_DAMAGED:
		LOG(LOG_ERROR, "content_damaged", LOG_T("rule", notice->rule), LOG_T("cause", notice->text));
		break;
	case CAIRN_CAS_XORB_FOUND:
		LOG(LOG_INFO, "xorb_found", LOG_T("xorb", xorb));
		break;
	}
}

static struct cairn_cas_options daemon_cas_options(const struct config *c)
{
	return (struct cairn_cas_options){
		.xorbs_external = c->xorbs == CONFIG_XORBS_EXTERNAL,
		.strict = c->strict,
		.shard_bytes_max = c->shard_bytes_max,
		.xorb_bytes_max = c->xorb_bytes_max,
		.xorb_chunks_max = (uint32_t)c->xorb_chunks_max,
		.files_max = (uint32_t)c->files_max,
		.terms_max = (uint32_t)c->terms_max,
		.xorbs_max = (uint32_t)c->xorbs_max,
		.term_chunks_max = c->term_chunks_max,
		.list_chunks_max = c->list_chunks_max,
		.edit_chunks_max = c->edit_chunks_max,
		.spool_bytes_max = c->spool_bytes_max,
		.spool_share_percent = (unsigned)c->spool_share_percent,
		.reserve_bytes = c->reserve_bytes,
		.answer_bytes_max = c->answer_bytes_max,
		.cache_bytes_max = c->cache_bytes_max,
		.epoch_s = (uint32_t)c->epoch_s,
		.gc_grace_s = (uint32_t)c->gc_grace_s,
		.unregistered_bytes_max = c->unregistered_bytes_max,
		.upload_grace_s = (uint32_t)c->hub_upload_grace_s,
		.noticed = daemon_noticed,
	};
}

const char *daemon_store_url(const struct config *config)
{
	static const struct {
		const char *word, *url;
	} WORDS[] = {{"files", "files:"}, {"memory", "memory:"}};
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (strcmp(config->store, WORDS[i].word) == 0)
			return WORDS[i].url;
	return config->store;
}

static enum cairn_status daemon_open_data_dir(struct app *app, struct cairn_diag *diag)
{
	const struct config *c = &app->config;
	const struct cairn_data_dir_options options = {
		.path = c->data_dir,
		.secret_file = c->secret_file,
		.store = daemon_store_url(c),
		.credentials = c->store_credentials,
		.index = c->index,
		.keep_bytes = c->reserve_bytes,
	};
	return cairn_data_dir_open(&app->data_dir, &options, diag);
}

/* Warns of a frozen index. Reads work and /ready is 200, so nobody would notice until an upload is refused. */
static void daemon_log_frozen(const struct app *app)
{
	const char *state, *why = cairn_move_frozen(app->config.data_dir, &state);
	if (why)
		LOG(LOG_WARNING, "index_frozen", LOG_T("state", state), LOG_T("message", why));
}

/* Logs whether this version of SQLite has the checkpoint bug. Our checkpoints avoid it (lib/index/README.md). */
static void daemon_log_sqlite(const struct app *app)
{
	struct cairn_cas_stats stats;
	cairn_cas_stats(app->cas, &stats);
	if (stats.index.reset_bug)
		LOG(LOG_INFO, "sqlite_reset_bug", LOG_T("version", stats.index.reset_bug),
		    LOG_T("message",
			  "this SQLite has the WAL-reset bug (3.7.0 to 3.51.2); cairnd avoids it, and no other "
			  "program may write index.sqlite or make a checkpoint of it"));
}

static enum cairn_status daemon_open_cas(struct app *app, struct cairn_diag *diag)
{
	const struct cairn_cas_options options = daemon_cas_options(&app->config);
	int from, to;
	enum cairn_status status = cairn_cas_options_check(&options, diag);
	if (status == CAIRN_OK)
		status = daemon_open_data_dir(app, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_cas_parts parts = cairn_cas_parts_of(app->data_dir);
	status = cairn_cas_open(&app->cas, &parts, &options, diag);
	if (status != CAIRN_OK)
		return status;
	app->hub = cairn_hub_of(app->cas);
	cairn_data_dir_migrated(app->data_dir, &from, &to);
	if (from != 0 && from < to)
		LOG(LOG_INFO, "index_migrated", LOG_N("from", from), LOG_N("to", to));
	daemon_log_frozen(app);
	daemon_log_sqlite(app);
	return CAIRN_OK;
}

static unsigned daemon_n_workers(const struct config *config)
{
	if (config->workers > 0)
		return (unsigned)config->workers;
	unsigned wanted = cairn_n_processors() + 2;
	return wanted < DAEMON_WORKERS_MAX ? wanted : DAEMON_WORKERS_MAX;
}

static struct metrics *daemon_metrics(void)
{
	const char *names[DAEMON_ROUTES_MAX + 1] = {NULL};
	size_t n = 0;
	for (size_t t = 0; DAEMON_ROUTES[t]; t++)
		for (const struct http_route *r = DAEMON_ROUTES[t]; r->method && n < DAEMON_ROUTES_MAX; r++)
			names[n++] = r->name;
	return metrics_new(names);
}

/* Raises the limit of open files. Each connection needs two descriptors (its socket, and its spool or object); the
 * store and the rest need some. */
static void daemon_raise_files_max(uint64_t connections)
{
	struct rlimit limit;
	rlim_t wanted = connections * 2 + 384;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
		LOG(LOG_WARNING, "few_files", LOG_N("limit", limit.rlim_cur), LOG_N("wanted", wanted),
		    LOG_T("message", "connections_max is more than the limit on open files allows; raise the limit"));
}

void daemon_set_live(struct app *app, const struct config *config)
{
	struct app_live *live = &app->live;
	log_set_level(config->log_level);
	atomic_store(&live->access_log, config->access_log);
	atomic_store(&live->access_log_probes, config->access_log_probes);
	atomic_store(&live->prove_reads, config->prove_reads);
	atomic_store(&live->slow_request_ms, config->slow_request_ms);
	atomic_store(&live->telemetry_rows, config->telemetry_rows);
	atomic_store(&live->token_ttl_s, config->token_ttl_s);
	atomic_store(&live->fetch_ttl_s, config->fetch_ttl_s);
	atomic_store(&live->fetch_ranges_max, config->fetch_ranges_max);
	atomic_store(&live->drain_s, config->drain_s);
	atomic_store(&live->scrub_period_s, config->scrub_period_s);
	atomic_store(&live->proof_rate, config->proof_rate);
	atomic_store(&live->gc_schedule, config->gc_schedule);
	atomic_store(&live->telemetry_age_s, config->telemetry_age_s);
}

static void daemon_find_gate(void *ctx, const struct cairn_index_repo *repo, struct cairn_hub_gate *out)
{
	cairn_mirror_gate(ctx, repo, out);
}

static enum cairn_status daemon_open_mirror(struct app *app, struct cairn_diag *diag)
{
	struct cairn_mirror_options options = config_mirror_options(&app->config);
	options.hub = &app->hub;
	options.workers = app->workers;
	options.tell = mirror_log_event;
	enum cairn_status status = options.upstream ? cairn_mirror_open(&app->mirror, &options, diag) : CAIRN_OK;
	if (app->mirror)
		app->hub.gates = (struct cairn_hub_gates){daemon_find_gate, app->mirror};
	return status;
}

static enum cairn_status daemon_open_rates(struct app *app)
{
	enum cairn_status status = rate_new(&app->telemetry_rate, DAEMON_TELEMETRY_PER_S, DAEMON_TELEMETRY_BURST_S);
	if (status == CAIRN_OK)
		status = rate_new(&app->device_polls, 1, 1);
	return status == CAIRN_OK ? rate_new(&app->device_lookups, 1, DAEMON_DEVICE_LOOKS) : status;
}

enum cairn_status daemon_open(struct app *app, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	pthread_mutex_init(&app->ready.lock, NULL);
	scrub_init(&app->scrub);
	rest_init(&app->rest);
	app->ready.status = cairn_fail(&app->ready.diag, CAIRN_E_BUSY, "not_ready", CAIRN_NO_OFFSET,
				       "the daemon is still checking whether it can take uploads; try again");
	app->started_unix_s = cairn_clock_unix_s();
	atomic_store(&app->reload.good_unix_s, app->started_unix_s);
	daemon_set_live(app, &app->config);
	daemon_raise_files_max(app->config.connections_max);
	app->auth.dedupe = app->config.dedupe_scope;
	app->auth.binding = (struct cairn_token_binding){app->config.token_audience, app->config.token_issuer};
	if (app->config.token_key)
		status = auth_keys_open(&app->auth.keys, app->config.token_key, diag);
	if (status == CAIRN_OK && app->config.tls_certificate)
		status = tls_open(&app->tls, app->config.tls_certificate, app->config.tls_key, diag);
	if (status == CAIRN_OK)
		status = cors_init(&app->cors, app->config.cors_origins, diag);
	if (status == CAIRN_OK)
		status = proxies_init(&app->proxies, app->config.hub_trusted_proxies, diag);
	if (status == CAIRN_OK && !(app->usage = hub_usage_new()))
		status = CAIRN_E_NOMEM;
	app->collected = app->config.hub ? hub_usage_refresh : NULL;
	if (status == CAIRN_OK)
		status = daemon_open_cas(app, diag);
	if (status == CAIRN_OK && (!(app->sessions = sessions_new(app->cas)) || !(app->api_keys = api_keys_new())))
		status = CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = daemon_open_rates(app);
	if (status == CAIRN_OK) {
		app->auth.cas = app->cas;
		scrub_open(app);
		collect_open(app);
		growth_open(&app->growth, app->config.data_dir);
		status = cairn_workers_new(&app->workers, "worker",
					   daemon_n_workers(&app->config) + DAEMON_QUICK_WORKERS, DAEMON_QUICK_WORKERS,
					   app->config.worker_queue_max);
	}
	if (status == CAIRN_OK)
		status = daemon_open_mirror(app, diag);
	if (status == CAIRN_OK)
		status = cairn_workers_add_stand_ins(app->workers, DAEMON_STAND_INS);
	if (status == CAIRN_OK)
		status = cairn_workers_new(&app->disk_workers, "disk", DAEMON_DISK_WORKERS, 1,
					   app->config.worker_queue_max);
	if (status == CAIRN_OK)
		status = cairn_workers_new(&app->long_workers, "long", DAEMON_LONG_WORKERS + DAEMON_LONG_QUICK_WORKERS,
					   DAEMON_LONG_QUICK_WORKERS, app->config.worker_queue_max);
	recent_init(&app->recent);
	traffic_init(&app->traffic);
	if (status == CAIRN_OK && !(app->metrics = daemon_metrics()))
		status = CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		(void)cairn_fail(diag, status, "start", CAIRN_NO_OFFSET, "%s", cairn_status_name(status));
		daemon_close(app);
	}
	return status;
}

void daemon_close(struct app *app)
{
	housekeeping_stop(app->housekeeping);
	prover_stop(app->prover);
	cairn_workers_free(app->workers); /* before disk_workers, because these workers hand work over to them */
	cairn_workers_free(app->disk_workers);
	cairn_workers_free(app->long_workers);
	cairn_workers_ask_fini(&app->pulse);
	cairn_mirror_free(app->mirror);
	cairn_cas_free(app->cas);
	cairn_data_dir_free(app->data_dir);
	sessions_free(app->sessions);
	api_keys_free(app->api_keys);
	rate_free(app->telemetry_rate);
	rate_free(app->device_polls);
	rate_free(app->device_lookups);
	hub_usage_free(app->usage);
	metrics_free(app->metrics);
	recent_fini(&app->recent);
	traffic_fini(&app->traffic);
	auth_keys_free(app->auth.keys);
	tls_free(app->tls);
	cors_fini(&app->cors);
	scrub_fini(&app->scrub);
	rest_fini(&app->rest);
	pthread_mutex_destroy(&app->ready.lock);
	*app = (struct app){.config = app->config, .sandbox = app->sandbox};
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static bool daemon_authorise(void *ctx, const char *authorization, unsigned scope, struct auth_identity *out,
			     unsigned *code, struct cairn_diag *diag)
{
	const struct app *app = ctx;
	if (!auth_check(&app->auth, authorization, scope, out, code, diag))
		return false;
	if (scope == 0 && authorization && app->auth.keys)
		(void)api_keys_recognise(app->api_keys, authorization, out);
	return true;
}

static bool daemon_is_probe(const char *route)
{
	return strcmp(route, "health") == 0 || strcmp(route, "ready") == 0 || strcmp(route, "metrics") == 0;
}

static void daemon_log_slow(const struct app *app, const struct http_request *req, const struct http_summary *s)
{
	uint64_t limit_ms = atomic_load(&app->live.slow_request_ms);
	if (limit_ms == 0 || s->duration_us <= limit_ms * 1000)
		return;
	LOG(LOG_WARNING, "slow_request", LOG_T("request_id", http_request_id(req)), LOG_T("method", s->method),
	    LOG_T("target", s->target), LOG_T("route", s->route), LOG_N("status", s->code),
	    LOG_N("duration_us", s->duration_us), LOG_N("queued_us", s->queued_us),
	    LOG_N("request_bytes", s->request_bytes), LOG_N("reply_bytes", s->reply_bytes));
}

static void daemon_note_recent(struct app *app, const struct http_request *req, const struct http_summary *s)
{
	if (!recent_is_kept(s->code, s->duration_us))
		return;
	struct recent_request request = {
		.at_unix_s = cairn_clock_unix_s(), .route = s->route, .code = s->code, .duration_us = s->duration_us};
	(void)snprintf(request.id, sizeof(request.id), "%s", http_request_id(req));
	recent_add(&app->recent, &request);
}

static void daemon_ended(void *ctx, const struct http_request *req, const struct http_summary *s)
{
	struct app *app = ctx;
	daemon_note_recent(app, req, s);
	metrics_request(app->metrics, s->route, s->code, s->request_bytes, s->reply_bytes, s->duration_us);
	if (s->queued)
		metrics_queued(app->metrics, s->queued_us);
	daemon_log_slow(app, req, s);
	if (!atomic_load(&app->live.access_log) ||
	    (!atomic_load(&app->live.access_log_probes) && daemon_is_probe(s->route)))
		return;
	const struct auth_identity *who = http_identity(req);
	LOG(LOG_INFO, "request", LOG_T("request_id", http_request_id(req)), LOG_T("method", s->method),
	    LOG_T("target", s->target), LOG_T("route", s->route), LOG_N("status", s->code),
	    LOG_N("request_bytes", s->request_bytes), LOG_N("reply_bytes", s->reply_bytes),
	    LOG_N("duration_us", s->duration_us), LOG_T("address", s->address),
	    LOG_T("subject", who && who->subject[0] ? who->subject : NULL), LOG_T("session_id", s->session_id),
	    LOG_T("user_agent", s->user_agent));
}

/* Logs a failed checkpoint once: only a restart clears the state. */
static void daemon_log_checkpoint(struct app *app, const struct cairn_diag *failure)
{
	if (app->logged_checkpoint || !failure->rule)
		return;
	app->logged_checkpoint = true;
	LOG(LOG_ERROR, "index_checkpoint_failed", LOG_T("rule", failure->rule), LOG_T("cause", failure->text));
}

/* Logs each change of whether the index can be written. */
static void daemon_log_writes(struct app *app, const struct cairn_diag *failure)
{
	if (failure->rule && !app->logged_writes)
		LOG(LOG_ERROR, "index_failing", LOG_T("rule", failure->rule), LOG_T("cause", failure->text));
	else if (!failure->rule && app->logged_writes)
		LOG(LOG_INFO, "index_recovered", LOG_T("message", "the index is written again"));
	app->logged_writes = failure->rule != NULL;
}

/* Logs each change of the reader that holds the index's log. */
static void daemon_log_held(struct app *app, const struct cairn_index_log *log)
{
	bool held = log->holder[0] != '\0';
	if (held && !app->logged_held)
		LOG(LOG_WARNING, "index_log_held", LOG_T("holder", log->holder),
		    LOG_N("held_ms", (uint64_t)log->held_ms), LOG_N("log_bytes", log->bytes),
		    LOG_T("message", "the log of the index grows until that read ends"));
	else if (!held && app->logged_held)
		LOG(LOG_INFO, "index_log_free", LOG_N("log_bytes", log->bytes));
	app->logged_held = held;
}

static void daemon_tick(void *ctx)
{
	struct app *app = ctx;
	struct cairn_cas_health health;
	cairn_cas_health(app->cas, &health);
	daemon_log_checkpoint(app, &health.upkeep);
	daemon_log_writes(app, &health.writes);
	daemon_log_held(app, &health.log);
	index_check_tick(&app->index_check, app->cas, app->long_workers, &app->stopping);
	route_shards_tick();
}

static const char *daemon_silent(void *ctx, unsigned timeout_ms)
{
	struct app *app = ctx;
	if (!http_server_answers(app->http, timeout_ms))
		return "http";
	return cairn_workers_answer(app->workers, &app->pulse, timeout_ms) ? NULL : "workers";
}

/* Starts the thread that feeds systemd's watchdog. Without it the watchdog would end the process, so log a failure. */
static void daemon_watch(struct app *app)
{
	const struct watchdog_options options = {
		.bites_us = service_watchdog_us(), .silent = daemon_silent, .feed = service_feed, .ctx = app};
	if (options.bites_us > 0 && watchdog_start(&app->watchdog, &options) != CAIRN_OK)
		LOG(LOG_ERROR, "not_answering", LOG_T("what", "watchdog"),
		    LOG_T("message", "there is no thread to feed the watchdog"));
}

/* Writes this daemon's name: HOST:PORT, or HOST:PATH of a socket. The address alone could be the same everywhere. */
static void daemon_introduce(struct app *app, const struct listen_address *bound)
{
	char host[HOST_NAME_MAX + 1] = "", who[CAIRN_INDEX_WHO_BYTES], text[LISTEN_TEXT_BYTES];
	(void)gethostname(host, sizeof(host) - 1);
	listen_text(bound, text);
	const char *port = strrchr(text, ':');
	(void)snprintf(who, sizeof(who), "%s%s", host, port ? port : "");
	(void)snprintf(app->who, sizeof(app->who), "%s", cairn_cas_introduce(app->cas, who));
}

enum cairn_status daemon_serve(struct app *app, int listen_fd, struct cairn_diag *diag)
{
	const struct config *c = &app->config;
	struct listen_address bound = {.len = 0};
	bool beyond = listen_address_of(listen_fd, &bound) == CAIRN_OK && !listen_is_loopback(&bound);
	hosts_init(&app->hosts, c->public_url, beyond);
	daemon_introduce(app, &bound);
	const struct http_server_options options = {
		.listen_fd = listen_fd,
		.connections_max = (unsigned)c->connections_max,
		.connections_per_address_max = (unsigned)c->connections_per_address_max,
		.idle_timeout_s = (unsigned)c->idle_timeout_s,
		.head_timeout_s = (unsigned)c->head_timeout_s,
		.request_timeout_s = (unsigned)c->request_timeout_s,
		.head_bytes_max = c->head_bytes_max,
		.rate_per_address = c->rate_per_address,
		.rate_per_token = c->rate_per_token,
		.rate_burst_s = c->rate_burst_s,
		.public_url = c->public_url,
		.tls_retrieve = app->tls ? tls_retrieve() : NULL,
		.tls_send = app->tls ? tls_send : NULL,
		.tls_ask = app->tls ? tls_ask : NULL,
		.cors = &app->cors,
		.hosts = app->auth.keys ? NULL : &app->hosts,
		.proxies = &app->proxies,
		.routes = c->hub ? DAEMON_ROUTES : DAEMON_ROUTES_WITHOUT_HUB,
		.app = app,
		.authorise = daemon_authorise,
		.recognise = c->hub ? hub_call_recognise : NULL,
		.error_page = c->hub ? page_reply_error : NULL,
		.family = c->hub ? HUB_FAMILY : (struct http_family){0},
		.ended = daemon_ended,
		.tick = daemon_tick,
	};
	enum cairn_status status = housekeeping_start(&app->housekeeping, app);
	if (status == CAIRN_OK && c->xorbs != CONFIG_XORBS_EXTERNAL)
		status = prover_start(&app->prover, app->cas, &app->live.proof_rate, &app->proofs);
	if (status == CAIRN_OK)
		status = http_server_start(&app->http, &options, diag);
	if (status == CAIRN_OK)
		daemon_watch(app);
	else
		(void)cairn_fail(diag, status, "start", CAIRN_NO_OFFSET, "%s", cairn_status_name(status));
	return status;
}

bool daemon_stop(struct app *app)
{
	uint64_t drain_s = atomic_load(&app->live.drain_s);
	atomic_store(&app->stopping, true);
	rest_end(&app->rest);
	prover_end(app->prover);
	watchdog_stop(app->watchdog);
	app->watchdog = NULL;
	/* Requests may take as long as the setting drain says, and then writes may take as long again. */
	service_stopping(2 * drain_s + DAEMON_STOP_S);
	http_server_drain(app->http, (unsigned)drain_s * 1000); /* afterwards no further request begins to wait */
	atomic_store(&app->drained, true);
	housekeeping_stop(app->housekeeping); /* before the index is closed, because housekeeping writes to it */
	app->housekeeping = NULL;
	prover_stop(app->prover);
	app->prover = NULL;
	cairn_mirror_stop(app->mirror);     /* resumes all requests that wait for the upstream */
	cairn_cas_finish_screens(app->cas); /* each screen resumes its request, or hands it to the workers below */
	cairn_workers_close(app->workers); /* each finished job resumes its request, or hands it to the workers below */
	cairn_workers_close(app->disk_workers);
	cairn_workers_close(app->long_workers);
	if (!cairn_cas_finish_writes(app->cas, (int64_t)drain_s * 1000)) /* each finished write resumes its request */
		return false;
	if (!http_server_stop(app->http, DAEMON_REPLIES_MS))
		return false;
	app->http = NULL;
	return true;
}
