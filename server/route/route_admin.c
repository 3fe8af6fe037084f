/* The operator's routes: DELETE /v1/files/{hash}, POST /v1/files/{hash}/share, POST /v1/gc, GET /v1/stats. */
#include "cas/losses.h"
#include "cas/service/owner.h"
#include "cas/stats.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/collect.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct admin_request {
	struct route_job job;
	enum cairn_status status;
	struct cairn_hash file;
	bool has_owner, changed;
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	struct cairn_diag diag; /* of a POST …/share */
	struct cairn_gc_report gc;
	struct cairn_cas_totals totals;
	struct cairn_losses_sum lost;
};

static void admin_forget(struct route_job *job)
{
	struct admin_request *a = (struct admin_request *)job;
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1] = "";
	bool in_hub;
	if (a->has_owner)
		a->status = cairn_cas_find_owner(job->app->cas, a->owner, owner, &in_hub);
	if (a->status == CAIRN_OK)
		a->status = cairn_cas_forget(job->app->cas, &a->file, a->has_owner ? owner : NULL, &a->changed);
}

static void admin_share(struct route_job *job)
{
	struct admin_request *a = (struct admin_request *)job;
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	bool in_hub;
	a->status = cairn_cas_find_owner(job->app->cas, a->owner, owner, &in_hub);
	if (a->status == CAIRN_OK)
		a->status = cairn_cas_share(job->app->cas, &a->file, owner, &a->changed, &a->diag);
}

static void admin_reply_file(struct http_request *req, struct route_job *job, const char *word)
{
	const struct admin_request *a = (const struct admin_request *)job;
	char json[64];
	if (a->status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "file.unknown", "no such file is registered here", NULL);
		return;
	}
	if (a->status != CAIRN_OK) {
		http_reply_status(req, a->status, &a->diag);
		return;
	}
	(void)snprintf(json, sizeof(json), "{\"%s\":%s}\n", word, a->changed ? "true" : "false");
	http_reply_json(req, 200, json);
}

static void admin_reply_forgotten(struct http_request *req, struct route_job *job)
{
	const struct admin_request *a = (const struct admin_request *)job;
	if (a->status == CAIRN_OK && !a->changed)
		http_reply_error(req, 404, "file.unknown", "no such file is registered here", NULL);
	else
		admin_reply_file(req, job, "forgotten");
}

static void admin_reply_shared(struct http_request *req, struct route_job *job)
{
	admin_reply_file(req, job, "shared");
}

/* Reads "?repo=", the repository whose registration to change, in full form. @return false: malformed, and replied */
static bool admin_take_repo(struct http_request *req, struct admin_request *a)
{
	const char *repo = http_query_arg(req, "repo");
	a->has_owner = repo;
	if (!repo || cairn_cas_owner_name(a->owner, sizeof(a->owner), repo))
		return true;
	http_reply_error(req, 400, "repo.name",
			 "repo is namespace/name, with models/, datasets/, spaces/, kernels/ or buckets/ before it; "
			 "empty: the operator's",
			 NULL);
	return false;
}

static void admin_start_file(struct http_request *req, void (*run)(struct route_job *job),
			     void (*reply)(struct http_request *req, struct route_job *job))
{
	struct cairn_hash file;
	struct admin_request *a = route_hash(req, &file) ? route_job_new(req, sizeof(*a), run, reply) : NULL;
	if (!a)
		return;
	a->file = file;
	if (admin_take_repo(req, a))
		route_job_start(req);
}

static void admin_delete_file(struct http_request *req)
{
	admin_start_file(req, admin_forget, admin_reply_forgotten);
}

static void admin_share_file(struct http_request *req)
{
	admin_start_file(req, admin_share, admin_reply_shared);
}

/* Should a collection stop? It stops when the daemon stops or the client has gone; the next one continues there. */
static bool admin_gc_stops(void *ctx)
{
	const struct route_job *job = ctx;
	return atomic_load(&job->app->stopping) || http_client_gone(job->req);
}

static void admin_gc(struct route_job *job)
{
	struct admin_request *a = (struct admin_request *)job;
	a->status = collect_run(job->app, admin_gc_stops, job, &a->gc);
}

static void admin_reply_gc(struct http_request *req, struct route_job *job)
{
	const struct admin_request *a = (const struct admin_request *)job;
	char json[200];
	if (a->status == CAIRN_E_BUSY && a->gc.held) {
		http_reply_error(req, 503, "gc.held", "a backup is being made; try again when it is done", NULL);
		return;
	}
	if (a->status == CAIRN_E_BUSY && !a->gc.diag.rule) {
		http_reply_error(req, 503, "gc.running", "a collection is running already; try again later", NULL);
		return;
	}
	if (a->status != CAIRN_OK) {
		http_reply_status(req, a->status, &a->gc.diag);
		return;
	}
	(void)snprintf(json, sizeof(json),
		       "{\"retired\":%" PRIu64 ",\"swept\":%" PRIu64 ",\"left_overs\":%" PRIu64
		       ",\"bytes_freed\":%" PRIu64 ",\"grace_s\":%" PRIu32 "}\n",
		       a->gc.n_retired, a->gc.n_swept, a->gc.n_left_over, a->gc.bytes_freed,
		       cairn_cas_options_of(job->app->cas)->gc_grace_s);
	http_reply_json(req, 200, json);
}

static void admin_post_gc(struct http_request *req)
{
	struct admin_request *a = route_job_new(req, sizeof(*a), admin_gc, admin_reply_gc);
	if (!a)
		return;
	a->job.workers = a->job.app->long_workers;
	a->job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

static void admin_stats(struct route_job *job)
{
	struct admin_request *a = (struct admin_request *)job;
	a->status = cairn_cas_totals(job->app->cas, &a->totals);
	cairn_losses_sum(job->app->cas, &a->lost);
	if (a->status == CAIRN_OK)
		collect_note_totals(job->app, &a->totals.index);
}

static void admin_reply_stats(struct http_request *req, struct route_job *job)
{
	const struct admin_request *a = (const struct admin_request *)job;
	if (a->status != CAIRN_OK) {
		http_reply_status(req, a->status, NULL);
		return;
	}
	const struct cairn_index_stats *index = &a->totals.stats.index;
	const struct cairn_index_totals *sums = &a->totals.index;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"files", sums->n_files},
		{"file_bytes", sums->file_bytes},
		{"shards", index->n_shards},
		{"xorbs", index->n_xorbs},
		{"stored_bytes", index->stored_bytes},
		{"unreferenced_xorbs", sums->n_unreferenced},
		{"unreferenced_bytes", sums->unreferenced_bytes},
		{"retired_xorbs", sums->n_retired},
		{"retired_bytes", sums->retired_bytes},
		{"eligible_chunks", index->n_eligible},
		{"index_bytes", index->file_bytes},
		{"unproved_claims", a->totals.claims.n_due},
		{"unproved_bytes", a->totals.claims.due_bytes},
		{"false_claims", a->totals.claims.n_false},
		{"lost_xorbs", a->lost.n_xorbs},
		{"lost_files", a->lost.n_files},
		{"lost_file_bytes", a->lost.file_bytes},
		{"free_bytes", a->totals.stats.room.bytes},
	};
	char json[1024] = "{";
	size_t len = 1;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		len += (size_t)snprintf(json + len, sizeof(json) - len, "%s\"%s\":%" PRIu64, i ? "," : "",
					numbers[i].name, numbers[i].value);
	(void)snprintf(json + len, sizeof(json) - len, "}\n");
	http_reply_json(req, 200, json);
}

static void admin_get_stats(struct http_request *req)
{
	struct admin_request *a = route_job_new(req, sizeof(*a), admin_stats, admin_reply_stats);
	if (!a)
		return;
	a->job.work.lane = CAIRN_LANE_HEAVY; /* counting rows takes long, and no sums are kept */
	a->job.for_reply = true;
	route_job_start(req);
}

const struct http_route ROUTES_ADMIN[] = {
	ROUTE_DELETE("/v1/files/{hash}", "files", CAIRN_TOKEN_ADMIN, admin_delete_file, free),
	ROUTE_POST("/v1/files/{hash}/share", "files-share", CAIRN_TOKEN_ADMIN, admin_share_file, free),
	ROUTE_POST("/v1/gc", "gc", CAIRN_TOKEN_ADMIN, admin_post_gc, free),
	ROUTE_GET("/v1/stats", "stats", CAIRN_TOKEN_ADMIN, admin_get_stats, free),
	{0},
};
