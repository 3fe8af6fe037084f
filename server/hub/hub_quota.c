/* Quotas, for operators: GET /v1/quotas?place=PLACE, GET /v1/quotas, POST /v1/quotas. They work without a hub, too. */
#include "base/json.h"
#include "hub/quota.h"
#include "server/ask/route_args.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUOTA_BODY_BYTES_MAX = 4096,
	QUOTA_PLACE_BYTES = 2 * CAIRN_INDEX_ACCOUNT_NAME_MAX + 32, /* no place has a longer name */
	QUOTA_LIMIT_DEFAULT = 100,
	QUOTA_LIST_BYTES_MAX = 1024 * 1024, /* enough for rows of at most 1 KiB */
};

struct quota_request {
	struct route_job job;
	struct route_body body;
	char place[QUOTA_PLACE_BYTES];
	bool sets;
	uint64_t limit_bytes; /* the quota to set */
	uint32_t limit;       /* number of rows of a list, which begins after the place */
	struct cairn_buf list;
	struct cairn_json_out json; /* writes into list */
	struct cairn_index_room room;
	enum cairn_status status;
	struct cairn_diag diag;
};

static void quota_free(void *state)
{
	struct quota_request *q = state;
	if (!q)
		return;
	route_body_fini(&q->body);
	cairn_buf_fini(&q->list);
	free(q);
}

static void quota_run(struct route_job *job)
{
	struct quota_request *q = (struct quota_request *)job;
	const struct cairn_hub *hub = &job->app->hub;
	if (q->sets)
		q->status = cairn_hub_set_quota(hub, q->place, job->app->config.hub, q->limit_bytes, &q->diag);
	if (q->status == CAIRN_OK)
		q->status = cairn_hub_quota(hub, q->place, &q->room, &q->diag);
}

static void quota_put(struct cairn_json_out *w, const char *place, const struct cairn_index_room *room)
{
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "place", place);
	if (room->limit_bytes != CAIRN_INDEX_NO_QUOTA)
		cairn_json_put_u64(w, "quota_bytes", room->limit_bytes);
	cairn_json_put_u64(w, "stored_bytes", room->stored_bytes);
	cairn_json_close(w);
}

static void quota_reply(struct http_request *req, struct route_job *job)
{
	const struct quota_request *q = (const struct quota_request *)job;
	if (q->status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "account.unknown", "there is no account of this name", &q->diag);
		return;
	}
	if (q->status != CAIRN_OK) {
		http_reply_status(req, q->status, &q->diag);
		return;
	}
	CLEANUP(cairn_buf_fini) struct cairn_buf json = cairn_buf_init(QUOTA_BODY_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&json);
	quota_put(&w, q->place, &q->room);
	cairn_buf_add(&json, "\n", 1);
	route_reply_made(req, CAIRN_OK, &json);
}

/* Reads the place. A name that was cut matches no place. */
static bool quota_take_place(struct quota_request *q, const char *place)
{
	int n = place ? snprintf(q->place, sizeof(q->place), "%s", place) : -1;
	return n > 0 && (size_t)n < sizeof(q->place);
}

static void quota_get_one(struct http_request *req, const char *place)
{
	struct quota_request *q = route_job_new(req, sizeof(*q), quota_run, quota_reply);
	if (!q)
		return;
	if (quota_take_place(q, place))
		route_job_start(req);
	else
		http_reply_error(req, 400, "quota.body", "ask with place=ACCOUNT, or place=models/ACCOUNT/NAME", NULL);
}

static void quota_visit(void *ctx, const char *place, const struct cairn_index_room *room)
{
	struct quota_request *q = ctx;
	quota_put(&q->json, place, room);
	(void)quota_take_place(q, place);
}

static void quota_list_run(struct route_job *job)
{
	struct quota_request *q = (struct quota_request *)job;
	char after[QUOTA_PLACE_BYTES];
	bool more = false;
	memcpy(after, q->place, sizeof(after));
	q->json = cairn_json_out_init(&q->list);
	cairn_json_open_object(&q->json, NULL);
	cairn_json_open_array(&q->json, "quotas");
	q->status = cairn_hub_each_quota(&job->app->hub, after, q->limit, quota_visit, q, &more);
	cairn_json_close(&q->json);
	cairn_json_put_text(&q->json, "next", more ? q->place : NULL);
	cairn_json_close(&q->json);
	cairn_buf_printf(&q->list, "\n");
}

static void quota_list_reply(struct http_request *req, struct route_job *job)
{
	struct quota_request *q = (struct quota_request *)job;
	route_reply_made(req, q->status, &q->list);
}

static void quota_get_all(struct http_request *req)
{
	struct quota_request *q = route_job_new(req, sizeof(*q), quota_list_run, quota_list_reply);
	const char *after = http_query_arg(req, "after");
	if (!q)
		return;
	q->list = cairn_buf_init(QUOTA_LIST_BYTES_MAX);
	q->job.work.lane = CAIRN_LANE_HEAVY; /* with many accounts and repositories this takes long */
	q->job.for_reply = true;
	if (route_limit(req, QUOTA_LIMIT_DEFAULT, CAIRN_HUB_QUOTAS_PAGE_MAX, &q->limit) &&
	    (!after || quota_take_place(q, after)))
		route_job_start(req);
	else
		http_reply_error(req, 400, "quota.argument",
				 "limit is 1 to 512, after is the \"next\" of an earlier answer", NULL);
}

static void quota_get(struct http_request *req)
{
	const char *place = http_query_arg(req, "place");
	if (place)
		quota_get_one(req, place);
	else
		quota_get_all(req);
}

static void quota_post_head(struct http_request *req)
{
	struct quota_request *q = route_job_new(req, sizeof(*q), quota_run, quota_reply);
	if (q)
		(void)route_body_begin(req, &q->body);
}

static void quota_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct quota_request *q = http_state(req);
	route_body_add(req, &q->body, bytes, len);
}

/* Reads a limit: a number, or "none". */
static bool quota_take_limit(struct quota_request *q, const struct cairn_json *json)
{
	const struct cairn_json *quota = cairn_json_get(json, "quota_bytes");
	const char *none = cairn_json_string(quota);
	int64_t bytes = -1;
	q->limit_bytes = CAIRN_INDEX_NO_QUOTA;
	if (none)
		return strcmp(none, "none") == 0;
	if (!cairn_json_i64(quota, &bytes) || bytes < 0)
		return false;
	q->limit_bytes = (uint64_t)bytes;
	return true;
}

static void quota_post_done(struct http_request *req)
{
	struct quota_request *q = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&q->body);
	q->sets = true;
	if (quota_take_limit(q, json) && quota_take_place(q, cairn_json_text_of(json, "place")))
		route_job_start(req);
	else
		http_reply_error(
			req, 400, "quota.body",
			"send {\"place\":\"ACCOUNT\" or \"models/ACCOUNT/NAME\",\"quota_bytes\":NUMBER or \"none\"}",
			NULL);
}

const struct http_route ROUTES_QUOTA[] = {
	ROUTE_GET("/v1/quotas", "quotas", CAIRN_TOKEN_ADMIN, quota_get, quota_free),
	ROUTE_BODY_POST("/v1/quotas", "quotas", CAIRN_TOKEN_ADMIN, QUOTA_BODY_BYTES_MAX, quota_post_head,
			quota_post_body, quota_post_done, quota_free),
	{0},
};
