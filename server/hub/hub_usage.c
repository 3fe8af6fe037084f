/* GET /v1/usage: tells what fills the disk. */
#include "server/hub/hub_usage.h"

#include "base/json.h"
#include "cas/spill.h"
#include "server/log.h"
#include "server/route/route_job.h"
#include "server/route/route_spill.h"
#include "server/route/routes.h"

#include <stdlib.h>
#include <string.h>

/* --- the last figures --------------------------------------------------------------------------------------------- */

/* Figures are freed once nobody holds them and newer ones exist. */
struct usage_kept {
	struct usage_kept *next; /* older figures that are still held */
	struct cairn_usage *figures;
	unsigned n_held;
};

struct hub_usage {
	struct cairn_work work; /* first: of a refresh */
	struct app *app;
	pthread_mutex_t lock; /* guards the rest */
	bool computing, queued;
	struct usage_kept *last; /* the newest first */
};

struct hub_usage *hub_usage_new(void)
{
	struct hub_usage *u = calloc(1, sizeof(*u));
	if (u)
		pthread_mutex_init(&u->lock, NULL);
	return u;
}

static void usage_free_kept(struct usage_kept *kept)
{
	cairn_usage_free(kept->figures);
	free(kept);
}

void hub_usage_free(struct hub_usage *usage)
{
	if (!usage)
		return;
	for (struct usage_kept *kept = usage->last, *next; kept; kept = next) {
		next = kept->next;
		usage_free_kept(kept);
	}
	pthread_mutex_destroy(&usage->lock);
	free(usage);
}

const struct cairn_usage *hub_usage_hold(struct hub_usage *usage)
{
	pthread_mutex_lock(&usage->lock);
	struct usage_kept *kept = usage->last;
	if (kept)
		kept->n_held++;
	pthread_mutex_unlock(&usage->lock);
	return kept ? kept->figures : NULL;
}

/* With the lock. */
static void usage_drop_old(struct hub_usage *u)
{
	for (struct usage_kept **link = u->last ? &u->last->next : NULL; link && *link;) {
		struct usage_kept *kept = *link;
		if (kept->n_held > 0) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		usage_free_kept(kept);
	}
}

void hub_usage_release(struct hub_usage *usage, const struct cairn_usage *figures)
{
	pthread_mutex_lock(&usage->lock);
	for (struct usage_kept *kept = usage->last; kept; kept = kept->next)
		if (kept->figures == figures)
			kept->n_held--;
	usage_drop_old(usage);
	pthread_mutex_unlock(&usage->lock);
}

static bool usage_stops(void *ctx)
{
	const struct app *app = ctx;
	return atomic_load(&app->stopping);
}

static enum cairn_status usage_keep(struct hub_usage *u, struct cairn_usage *figures)
{
	struct usage_kept *kept = calloc(1, sizeof(*kept));
	if (!kept) {
		cairn_usage_free(figures);
		return CAIRN_E_NOMEM;
	}
	LOG(LOG_INFO, "usage", LOG_N("owners", figures->n_owners), LOG_N("held_bytes", figures->held_bytes),
	    LOG_N("took_ms", figures->took_ms));
	kept->figures = figures;
	pthread_mutex_lock(&u->lock);
	kept->next = u->last;
	u->last = kept;
	usage_drop_old(u);
	pthread_mutex_unlock(&u->lock);
	return CAIRN_OK;
}

enum cairn_status hub_usage_compute(struct app *app, struct cairn_diag *diag)
{
	struct hub_usage *u = app->usage;
	struct cairn_usage *figures;
	pthread_mutex_lock(&u->lock);
	bool others = u->computing;
	u->computing = true;
	pthread_mutex_unlock(&u->lock);
	if (others)
		return cairn_fail(diag, CAIRN_E_BUSY, "usage.running", CAIRN_NO_OFFSET,
				  "the usage is being computed already; try again in some seconds");
	enum cairn_status status =
		cairn_usage_compute(&figures, cairn_cas_index(app->cas), &CAIRN_USAGE_ROOM, usage_stops, app, diag);
	if (status == CAIRN_OK)
		status = usage_keep(u, figures);
	if (status != CAIRN_E_BUSY)
		atomic_store(&app->usage_wanted, false);
	pthread_mutex_lock(&u->lock);
	u->computing = false;
	pthread_mutex_unlock(&u->lock);
	return status;
}

static void usage_work(struct cairn_work *work)
{
	struct hub_usage *u = (struct hub_usage *)work;
	struct cairn_diag diag = {0};
	pthread_mutex_lock(&u->lock);
	u->queued = false;
	pthread_mutex_unlock(&u->lock);
	enum cairn_status status = hub_usage_compute(u->app, &diag);
	if (status != CAIRN_OK && status != CAIRN_E_BUSY)
		LOG(LOG_WARNING, "usage_failed", LOG_T("status", cairn_status_name(status)), LOG_T("cause", diag.text));
}

void hub_usage_refresh(struct app *app)
{
	struct hub_usage *u = app->usage;
	atomic_store(&app->usage_wanted, true);
	pthread_mutex_lock(&u->lock);
	bool queued = u->queued;
	u->queued = true;
	pthread_mutex_unlock(&u->lock);
	if (queued)
		return;
	u->app = app;
	u->work.run = usage_work;
	u->work.lane = CAIRN_LANE_HEAVY;
	if (cairn_workers_submit(app->long_workers, &u->work) == CAIRN_OK)
		return;
	pthread_mutex_lock(&u->lock);
	u->queued = false;
	pthread_mutex_unlock(&u->lock);
}

/* --- GET /v1/usage ------------------------------------------------------------------------------------------------ */

struct usage_request {
	struct route_job job;
	bool fresh;
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_spill answer;
};

static void usage_free(void *state)
{
	struct usage_request *r = state;
	if (r)
		cairn_spill_fini(&r->answer);
	free(r);
}

static void usage_put_owner(struct cairn_json_out *w, const struct cairn_usage_owner *owner)
{
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "name", owner->name);
	cairn_json_put_u64(w, "files", owner->n_files);
	cairn_json_put_u64(w, "seen_bytes", owner->seen_bytes);
	cairn_json_put_u64(w, "only_bytes", owner->only_bytes);
	cairn_json_put_u64(w, "shared_bytes", owner->shared_bytes);
	cairn_json_put_u64(w, "frees_bytes", owner->frees_bytes);
	cairn_json_close(w);
}

static void usage_write(struct usage_request *r, const struct cairn_usage *figures)
{
	struct cairn_json_out w = cairn_json_out_init(&r->answer.buf);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_u64(&w, "at", (uint64_t)figures->at_unix_s);
	cairn_json_put_u64(&w, "took_ms", figures->took_ms);
	cairn_json_put_u64(&w, "held_bytes", figures->held_bytes);
	cairn_json_open_array(&w, "owners");
	for (uint32_t i = 0; i < figures->n_owners; i++) {
		usage_put_owner(&w, &figures->owners[i]);
		cairn_spill_check(&r->answer);
	}
	cairn_json_close(&w);
	cairn_json_open_array(&w, "pairs");
	for (uint32_t i = 0; i < figures->n_pairs; i++) {
		cairn_json_open_object(&w, NULL);
		cairn_json_put_text(&w, "a", figures->owners[figures->pairs[i].a].name);
		cairn_json_put_text(&w, "b", figures->owners[figures->pairs[i].b].name);
		cairn_json_put_u64(&w, "bytes", figures->pairs[i].bytes);
		cairn_json_close(&w);
		cairn_spill_check(&r->answer);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
	cairn_buf_add(&r->answer.buf, "\n", 1);
	cairn_spill_finish(&r->answer);
}

static void usage_run(struct route_job *job)
{
	struct usage_request *r = (struct usage_request *)job;
	const struct cairn_usage *figures = r->fresh ? NULL : hub_usage_hold(job->app->usage);
	if (!figures) {
		r->status = hub_usage_compute(job->app, &r->diag);
		figures = r->status == CAIRN_OK ? hub_usage_hold(job->app->usage) : NULL;
	}
	if (!figures)
		return;
	usage_write(r, figures);
	hub_usage_release(job->app->usage, figures);
}

static void usage_reply(struct http_request *req, struct route_job *job)
{
	struct usage_request *r = (struct usage_request *)job;
	if (r->status != CAIRN_OK)
		http_reply_status(req, r->status, &r->diag);
	else
		route_reply_spill(req, &r->answer, 200, "application/json");
}

static void usage_get(struct http_request *req)
{
	const char *fresh = http_query_arg(req, "fresh");
	struct usage_request *r = route_job_new(req, sizeof(*r), usage_run, usage_reply);
	if (!r)
		return;
	r->fresh = fresh && strcmp(fresh, "true") == 0;
	r->job.workers = r->job.app->long_workers;
	r->job.work.lane = CAIRN_LANE_HEAVY;
	route_spill_init(&r->answer, req);
	route_job_start(req);
}

const struct http_route ROUTES_USAGE[] = {
	{.method = "GET",
	 .pattern = "/v1/usage",
	 .name = "usage",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = usage_get,
	 .free = usage_free},
	{0},
};
