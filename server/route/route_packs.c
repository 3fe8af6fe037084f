/* POST /v1/packs: moves xorbs into a pack, in the background. GET /v1/packs: lists the packs, and the progress. */
#include "server/route/route_packs.h"

#include "server/log.h"
#include "server/route/route_job.h"
#include "server/route/routes.h"

#include "base/clock.h"
#include "base/json.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKS_AGE_MAX_S (INT64_C(100) * 366 * 86400)

enum { PACKS_JSON_BYTES_MAX = 256 * 1024 };

/* The one packing of this process: running, or the last one. It outlives the request that began it. */
static struct packs_job {
	struct cairn_work work;
	struct app *app;
	pthread_mutex_t lock; /* guards all below */
	uint64_t id;          /* 0: no packing yet */
	bool running;
	int64_t older_than_s;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	struct cairn_pack_report report;
	enum cairn_status status;
	struct cairn_diag diag;
} packs_job = {.lock = PTHREAD_MUTEX_INITIALIZER};

void packs_state(struct packs_state *out)
{
	struct packs_job *job = &packs_job;
	*out = (struct packs_state){0};
	pthread_mutex_lock(&job->lock);
	out->id = job->id;
	out->running = job->running;
	memcpy(out->name, job->name, sizeof(job->name));
	out->report = job->report;
	out->status = job->status;
	pthread_mutex_unlock(&job->lock);
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

static bool packs_progress(void *ctx, const struct cairn_pack_report *so_far)
{
	struct packs_job *job = ctx;
	pthread_mutex_lock(&job->lock);
	job->report = *so_far;
	pthread_mutex_unlock(&job->lock);
	return !atomic_load(&job->app->stopping);
}

static void packs_work(struct cairn_work *work)
{
	struct packs_job *job = (struct packs_job *)work;
	struct cairn_pack_report report;
	pthread_mutex_lock(&job->lock); /* the submitting thread may still be filling in the job */
	pthread_mutex_unlock(&job->lock);
	struct cairn_diag diag = {0};
	const struct cairn_pack_options options = {
		.name = job->name, .older_than_s = job->older_than_s, .progress = packs_progress, .ctx = job};
	enum cairn_status status = cairn_cas_pack(job->app->cas, &options, &report, &diag);
	LOG(LOG_INFO, "pack", LOG_T("name", job->name), LOG_T("status", cairn_status_name(status)),
	    LOG_N("packed", report.n_packed), LOG_N("moved", report.n_moved), LOG_N("bytes", report.bytes_packed));
	pthread_mutex_lock(&job->lock);
	job->report = report;
	job->status = status;
	job->diag = diag;
	job->running = false;
	pthread_mutex_unlock(&job->lock);
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static bool packs_take_age(struct http_request *req, int64_t *out)
{
	uint64_t age_s = 0;
	bool good = http_query_number(req, "older_than_s", 0, PACKS_AGE_MAX_S, &age_s);
	*out = (int64_t)age_s;
	if (!good)
		http_reply_error(req, 400, "pack.age", "older_than_s is a number of seconds, at most 100 years", NULL);
	return good;
}

/* @return CAIRN_OK; CAIRN_E_CONFLICT: a packing is under way; CAIRN_E_BUSY: no worker takes it, nothing was changed */
static enum cairn_status packs_begin(struct packs_job *job, struct app *app, const char *name, int64_t older_than_s,
				     uint64_t *id)
{
	pthread_mutex_lock(&job->lock);
	enum cairn_status status = CAIRN_E_CONFLICT;
	if (!job->running) {
		job->work.run = packs_work;
		job->work.lane = CAIRN_LANE_HEAVY;
		status = cairn_workers_submit(app->long_workers, &job->work);
	}
	if (status == CAIRN_OK) {
		job->app = app;
		job->running = true;
		job->older_than_s = older_than_s;
		memcpy(job->name, name, strlen(name) + 1);
		job->report = (struct cairn_pack_report){0};
		*id = ++job->id;
	}
	pthread_mutex_unlock(&job->lock);
	return status;
}

static void packs_post(struct http_request *req)
{
	int64_t older_than_s;
	uint64_t id = 0;
	const char *name = http_query_arg(req, "name");
	if (!name || !cairn_cas_is_pack_name(name)) {
		http_reply_error(
			req, 400, "pack.name",
			"name the pack that is to be made: letters, digits, \"-\", \"_\", \".\", and .shard at the end",
			NULL);
		return;
	}
	if (!packs_take_age(req, &older_than_s))
		return;
	enum cairn_status status = packs_begin(&packs_job, app_of(req), name, older_than_s, &id);
	char json[64];
	(void)snprintf(json, sizeof(json), "{\"job\":%" PRIu64 "}\n", id);
	if (status == CAIRN_OK)
		http_reply_json(req, 202, json);
	else if (status == CAIRN_E_CONFLICT)
		http_reply_error(req, 409, "pack.running", "a packing is under way already; try again later", NULL);
	else
		http_reply_status(req, status, NULL);
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

struct packs_request {
	struct route_job job;
	enum cairn_status status;
	struct cairn_buf text;
	struct cairn_json_out json;
};

static void packs_put(void *ctx, const struct cairn_store_pack *pack)
{
	struct cairn_json_out *json = ctx;
	cairn_json_open_object(json, NULL);
	cairn_json_put_text(json, "name", pack->name);
	cairn_json_put_u64(json, "bytes", pack->file_bytes);
	cairn_json_put_u64(json, "objects", pack->n_objects);
	cairn_json_put_text(json, "fault", pack->fault ? pack->fault->rule : NULL);
	cairn_json_close(json);
}

static void packs_put_job(struct cairn_json_out *json, struct packs_job *job)
{
	pthread_mutex_lock(&job->lock);
	bool failed = !job->running && job->status != CAIRN_OK;
	cairn_json_open_object(json, "job");
	cairn_json_put_u64(json, "id", job->id);
	cairn_json_put_text(json, "name", job->name);
	cairn_json_put_bool(json, "running", job->running);
	cairn_json_put_u64(json, "total_bytes", job->report.total_bytes);
	cairn_json_put_u64(json, "bytes", job->report.bytes_packed);
	cairn_json_put_u64(json, "xorbs", job->report.n_packed);
	cairn_json_put_bool(json, "durable", job->report.durable);
	cairn_json_put_u64(json, "moved", job->report.n_moved);
	cairn_json_put_text(json, "code",
			    !failed          ? NULL
			    : job->diag.rule ? job->diag.rule
					     : cairn_status_name(job->status));
	cairn_json_put_text(json, "message",
			    !failed          ? NULL
			    : job->diag.rule ? job->diag.text
					     : cairn_status_name(job->status));
	cairn_json_close(json);
	pthread_mutex_unlock(&job->lock);
}

static void packs_list(struct route_job *job)
{
	struct packs_request *p = (struct packs_request *)job;
	p->text = cairn_buf_init(PACKS_JSON_BYTES_MAX);
	p->json = cairn_json_out_init(&p->text);
	cairn_json_open_object(&p->json, NULL);
	cairn_json_open_array(&p->json, "packs");
	p->status = cairn_cas_each_pack(job->app->cas, packs_put, &p->json);
	cairn_json_close(&p->json);
	packs_put_job(&p->json, &packs_job);
	cairn_json_close(&p->json);
	cairn_buf_add(&p->text, "\n", 2);
	if (p->status == CAIRN_OK)
		p->status = p->text.status;
}

static void packs_reply(struct http_request *req, struct route_job *job)
{
	const struct packs_request *p = (const struct packs_request *)job;
	if (p->status == CAIRN_OK)
		http_reply_json(req, 200, (const char *)p->text.bytes);
	else
		http_reply_status(req, p->status, NULL);
}

static void packs_free(void *state)
{
	struct packs_request *p = state;
	if (p)
		cairn_buf_fini(&p->text);
	free(p);
}

static void packs_get(struct http_request *req)
{
	if (route_job_new(req, sizeof(struct packs_request), packs_list, packs_reply))
		route_job_start(req);
}

const struct http_route ROUTES_PACKS[] = {
	{.method = "POST",
	 .pattern = "/v1/packs",
	 .name = "packs-make",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = packs_post},
	{.method = "GET",
	 .pattern = "/v1/packs",
	 .name = "packs",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = packs_get,
	 .free = packs_free},
	{0},
};
