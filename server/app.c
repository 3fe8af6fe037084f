#include "server/app.h"

#include "base/clock.h"
#include "server/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct http_route *const APP_ROUTES[] = {
	/* looked at in this order: what is asked for most often comes first */
	ROUTES_CHUNKS, ROUTES_FETCH, ROUTES_SHARDS,      ROUTES_XORBS, ROUTES_RECONSTRUCTIONS,
	ROUTES_HEALTH, ROUTES_FILES, ROUTES_TELEMETRY,   ROUTES_HUB,   ROUTES_ADMIN,
	ROUTES_PACKS,  ROUTES_KEYS,  ROUTES_FILE_CHUNKS, NULL,
};
enum {
	APP_ROUTES_MAX = 64,
	APP_REPLIES_MS = 1000,
	APP_LONG_WORKERS = 3, /* a packing, a collection, and somebody to tell others that there is one already */
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static enum cairn_status app_open_cas(struct app *app, struct cairn_diag *diag)
{
	const struct config *c = &app->config;
	const struct cairn_cas_options options = {
		.data_dir = c->data_dir,
		.secret_file = c->secret_file,
		.xorbs_external = strcmp(c->xorbs, "external") == 0,
		.strict = c->strict,
		.shard_bytes_max = c->shard_bytes_max,
		.xorb_bytes_max = c->xorb_bytes_max,
		.xorb_chunks_max = (uint32_t)c->xorb_chunks_max,
		.files_max = (uint32_t)c->files_max,
		.terms_max = (uint32_t)c->terms_max,
		.xorbs_max = (uint32_t)c->xorbs_max,
		.term_chunks_max = c->term_chunks_max,
		.spool_bytes_max = c->spool_bytes_max,
		.reserve_bytes = c->reserve_bytes,
		.answer_bytes_max = c->answer_bytes_max,
		.cache_bytes_max = c->cache_bytes_max,
		.epoch_s = (uint32_t)c->epoch_s,
		.gc_grace_s = (uint32_t)c->gc_grace_s,
	};
	return cairn_cas_open(&app->cas, &options, diag);
}

static enum cairn_dedupe_scope app_dedupe_scope(const char *name)
{
	if (strcmp(name, "namespace") == 0)
		return CAIRN_DEDUPE_NAMESPACE;
	return strcmp(name, "repository") == 0 ? CAIRN_DEDUPE_REPOSITORY : CAIRN_DEDUPE_GLOBAL;
}

static unsigned app_n_workers(const struct config *config)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (config->workers > 0)
		return (unsigned)config->workers;
	return (processors > 0 && processors < 254 ? (unsigned)processors : 1) + 2;
}

static struct metrics *app_metrics(void)
{
	const char *names[APP_ROUTES_MAX + 1] = {NULL};
	size_t n = 0;
	for (size_t t = 0; APP_ROUTES[t]; t++)
		for (const struct http_route *r = APP_ROUTES[t]; r->method && n < APP_ROUTES_MAX; r++)
			names[n++] = r->name;
	return metrics_new(names);
}

/* Two descriptors a connection (its socket, its spool or object), those that the store keeps open, and some for the
 * rest. */
static void app_raise_files_max(uint64_t connections)
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

enum cairn_status app_open(struct app *app, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	pthread_mutex_init(&app->ready.lock, NULL);
	app->ready.status = cairn_fail(&app->ready.diag, CAIRN_E_BUSY, "not_ready", CAIRN_NO_OFFSET,
				       "whether uploads can be taken is being found out; try again");
	app->started_unix_s = cairn_clock_unix_s();
	app_raise_files_max(app->config.connections_max);
	app->auth.dedupe = app_dedupe_scope(app->config.dedupe_scope);
	if (app->config.token_key)
		status = auth_keys_open(&app->auth.keys, app->config.token_key, diag);
	if (status == CAIRN_OK && app->config.tls_certificate)
		status = tls_open(&app->tls, app->config.tls_certificate, app->config.tls_key, diag);
	if (status == CAIRN_OK)
		status = cors_init(&app->cors, app->config.cors_origins, diag);
	if (status == CAIRN_OK)
		status = app_open_cas(app, diag);
	if (status == CAIRN_OK)
		status = cairn_workers_new(&app->workers, app_n_workers(&app->config), app->config.worker_queue_max);
	if (status == CAIRN_OK)
		status = cairn_workers_new(&app->long_workers, APP_LONG_WORKERS, app->config.worker_queue_max);
	if (status == CAIRN_OK && !(app->metrics = app_metrics()))
		status = CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		(void)cairn_fail(diag, status, "start", CAIRN_NO_OFFSET, "%s", cairn_status_name(status));
		app_close(app);
	}
	return status;
}

void app_close(struct app *app)
{
	cairn_workers_free(app->workers);
	cairn_workers_free(app->long_workers);
	cairn_cas_free(app->cas);
	metrics_free(app->metrics);
	auth_keys_free(app->auth.keys);
	tls_free(app->tls);
	cors_fini(&app->cors);
	pthread_mutex_destroy(&app->ready.lock);
	*app = (struct app){.config = app->config, .sandbox = app->sandbox};
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static bool app_authorise(void *ctx, const char *authorization, unsigned scope, struct auth_identity *out,
			  unsigned *code, struct cairn_diag *diag)
{
	const struct app *app = ctx;
	return auth_check(&app->auth, authorization, scope, out, code, diag);
}

static void app_ended(void *ctx, const struct http_request *req, const struct http_summary *s)
{
	const struct app *app = ctx;
	metrics_request(app->metrics, s->route, s->code, s->request_bytes, s->reply_bytes, s->duration_us);
	if (!app->config.access_log)
		return;
	const struct auth_identity *who = http_identity(req);
	LOG(LOG_INFO, "request", LOG_T("request_id", http_request_id(req)), LOG_T("method", s->method),
	    LOG_T("target", s->target), LOG_T("route", s->route), LOG_N("status", s->code),
	    LOG_N("request_bytes", s->request_bytes), LOG_N("reply_bytes", s->reply_bytes),
	    LOG_N("duration_us", s->duration_us), LOG_T("address", s->address),
	    LOG_T("subject", who && who->subject[0] ? who->subject : NULL), LOG_T("session_id", s->session_id),
	    LOG_T("user_agent", s->user_agent));
}

/* Once: nothing but a restart changes it. */
static void app_tell_of_index(struct app *app)
{
	struct cairn_diag diag = {0};
	if (app->told_of_index || cairn_index_folds(cairn_cas_index(app->cas), &diag) == CAIRN_OK)
		return;
	app->told_of_index = true;
	LOG(LOG_ERROR, "index_not_folded", LOG_T("rule", diag.rule), LOG_T("cause", diag.text));
}

static void app_tick(void *ctx)
{
	app_tell_of_index(ctx);
	route_shards_tick();
}

enum cairn_status app_serve(struct app *app, int listen_fd, struct cairn_diag *diag)
{
	const struct config *c = &app->config;
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
		.cors = &app->cors,
		.routes = APP_ROUTES,
		.app = app,
		.authorise = app_authorise,
		.ended = app_ended,
		.tick = app_tick,
	};
	enum cairn_status status = http_server_start(&app->http, &options, diag);
	if (status != CAIRN_OK)
		(void)cairn_fail(diag, status, "start", CAIRN_NO_OFFSET, "%s", cairn_status_name(status));
	return status;
}

/* All writes that were submitted are done when this one is: the writer takes them in order. */
static bool app_finish_writes(struct app *app)
{
	int64_t until_ms = cairn_clock_mono_ms() + (int64_t)app->config.drain_s * 1000;
	enum cairn_status status;
	do {
		status = cairn_index_writable(cairn_cas_index(app->cas));
	} while (status == CAIRN_E_BUSY && cairn_clock_mono_ms() < until_ms);
	return status != CAIRN_E_BUSY;
}

bool app_stop(struct app *app)
{
	atomic_store(&app->stopping, true);
	http_server_drain(app->http, (unsigned)app->config.drain_s * 1000); /* after it no request begins to wait */
	atomic_store(&app->drained, true);
	cairn_workers_close(app->workers); /* every piece of work resumes its request or hands it to the index */
	cairn_workers_close(app->long_workers);
	if (!app_finish_writes(app)) /* every write resumes its request */
		return false;
	if (!http_server_stop(app->http, APP_REPLIES_MS))
		return false;
	app->http = NULL;
	return true;
}
