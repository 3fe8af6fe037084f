/* Evicts files of the mirrored hub now, for the operator: POST /v1/mirror/prune, and POST …/prune of a repository. */
#include "mirror/evict.h"
#include "mirror/operate.h"
#include "server/ask/hub_repo.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_mirror_place.h"
#include "server/hub/hub_routes.h"
#include "server/log/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PRUNE_FILES_MAX = 4096, /* files that one call evicts */
	PRUNE_KEEP_S = 86400,   /* for plans of files that were read today */
};

struct prune_request {
	struct route_job job;
	struct hub_mirror_place place; /* name NULL: all repositories */
	uint64_t to_bytes, left_bytes;
	struct cairn_mirror_evicted evicted;
	enum cairn_status status;
	struct cairn_diag diag;
};

static bool prune_stops(void *ctx)
{
	const struct prune_request *p = ctx;
	return atomic_load(&p->job.app->stopping) || http_client_gone(p->job.req) || p->evicted.n >= PRUNE_FILES_MAX;
}

static void prune_log(const struct prune_request *p)
{
	char name[HUB_MIRROR_TEXT_BYTES];
	LOG(LOG_INFO, "mirror_prune", LOG_T("repo", p->place.name ? hub_mirror_text(name, &p->place) : NULL),
	    LOG_N("files", p->evicted.n), LOG_N("bytes", p->evicted.bytes),
	    LOG_T("message", "the operator evicted files of the mirrored hub"));
}

static void prune_repo(struct prune_request *p)
{
	struct cairn_index_mirrored m;
	struct cairn_index_commit head;
	const struct cairn_hub *hub = &p->job.app->hub;
	p->status = cairn_mirror_find(hub, p->place.kind, p->place.namespace, p->place.name, &m, &head, &p->diag);
	if (p->status == CAIRN_OK && m.ahead.keeps)
		p->status = cairn_fail(&p->diag, CAIRN_E_CONFLICT, "mirror.kept", CAIRN_NO_OFFSET,
				       "the repository is kept; add it again without --keep first");
	if (p->status == CAIRN_OK)
		p->status = cairn_mirror_evict_repo(hub, m.repo.id, prune_stops, p, &p->evicted);
}

/* Evicts the files that were read least recently, even those that were read today, because the operator wants the
 * space. */
static void prune_all(struct prune_request *p)
{
	const struct cairn_hub *hub = &p->job.app->hub;
	uint64_t bytes = 0, n_files;
	p->status = cairn_mirror_sum(hub, &bytes, &n_files);
	if (p->status == CAIRN_OK && bytes > p->to_bytes)
		p->status = cairn_mirror_evict(hub, bytes - p->to_bytes, INT64_MAX, PRUNE_KEEP_S, prune_stops, p,
					       &p->evicted);
	if (p->status == CAIRN_OK)
		p->status = cairn_mirror_sum(hub, &p->left_bytes, &n_files);
}

static void prune_run(struct route_job *job)
{
	struct prune_request *p = (struct prune_request *)job;
	if (p->place.name)
		prune_repo(p);
	else
		prune_all(p);
	atomic_fetch_add(&job->app->mirror_counts.evicted_bytes, p->evicted.bytes);
	if (p->evicted.n > 0)
		prune_log(p);
}

static void prune_reply(struct http_request *req, struct route_job *job)
{
	const struct prune_request *p = (const struct prune_request *)job;
	bool more = p->place.name ? p->evicted.n >= PRUNE_FILES_MAX : p->left_bytes > p->to_bytes && p->evicted.n > 0;
	char json[160];
	if (p->status != CAIRN_OK) {
		http_reply_status(req, p->status, &p->diag);
		return;
	}
	int n = snprintf(json, sizeof(json), "{\"evicted\":%" PRIu64 ",\"bytes\":%" PRIu64, p->evicted.n,
			 p->evicted.bytes);
	if (!p->place.name)
		n += snprintf(json + n, sizeof(json) - (size_t)n, ",\"left_bytes\":%" PRIu64, p->left_bytes);
	(void)snprintf(json + n, sizeof(json) - (size_t)n, ",\"more\":%s}\n", more ? "true" : "false");
	http_reply_json(req, 200, json);
}

static struct prune_request *prune_new(struct http_request *req)
{
	struct prune_request *p = route_job_new(req, sizeof(*p), prune_run, prune_reply);
	if (!p)
		return NULL;
	p->job.workers = p->job.app->long_workers;
	p->job.work.lane = CAIRN_LANE_HEAVY;
	return p;
}

static void prune_post(struct http_request *req)
{
	struct prune_request *p = prune_new(req);
	if (!p)
		return;
	p->to_bytes = UINT64_MAX;
	if (http_query_arg(req, "to") && http_query_number(req, "to", 0, INT64_MAX, &p->to_bytes))
		route_job_start(req);
	else
		http_reply_error(req, 400, "mirror.argument", "to is a number of bytes", NULL);
}

static void prune_post_repo(struct http_request *req)
{
	struct prune_request *p = prune_new(req);
	if (p && hub_mirror_take_place(req, &p->place))
		route_job_start(req);
}

const struct http_route ROUTES_MIRROR_PRUNE[] = {
	ROUTE_POST("/v1/mirror/prune", "mirror", CAIRN_TOKEN_ADMIN, prune_post, free),
	ROUTE_POST("/v1/mirror/repositories/{type}/{namespace}/{name}/prune", "mirrored", CAIRN_TOKEN_ADMIN,
		   prune_post_repo, free),
	{0},
};
