/* GET /v1/usage: lists what fills the disk. */
#include "server/ask/hub_usage.h"

#include "base/json.h"
#include "cas/spill.h"
#include "server/ask/route_job.h"
#include "server/ask/route_spill.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <stdlib.h>
#include <string.h>

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
	ROUTE_GET("/v1/usage", "usage", CAIRN_TOKEN_ADMIN, usage_get, usage_free),
	{0},
};
