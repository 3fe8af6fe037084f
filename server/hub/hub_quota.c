/* Quotas, for the operator: GET /v1/quotas?place=PLACE, and POST /v1/quotas. */
#include "base/json.h"
#include "hub/quota.h"
#include "server/route/route_body.h"
#include "server/route/route_job.h"
#include "server/route/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUOTA_BODY_BYTES_MAX = 4096,
	QUOTA_PLACE_BYTES = 2 * CAIRN_INDEX_ACCOUNT_NAME_MAX + 32, /* longer ones are none */
};

struct quota_request {
	struct route_job job;
	struct route_body body;
	char place[QUOTA_PLACE_BYTES];
	bool sets;
	uint64_t limit_bytes; /* to be set */
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
	free(q);
}

static void quota_run(struct route_job *job)
{
	struct quota_request *q = (struct quota_request *)job;
	struct cairn_cas *cas = job->app->cas;
	if (q->sets)
		q->status = cairn_hub_set_quota(cas, q->place, q->limit_bytes, &q->diag);
	if (q->status == CAIRN_OK)
		q->status = cairn_hub_quota(cas, q->place, &q->room, &q->diag);
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
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "place", q->place);
	if (q->room.limit_bytes != CAIRN_INDEX_NO_QUOTA)
		cairn_json_put_u64(&w, "quota_bytes", q->room.limit_bytes);
	cairn_json_put_u64(&w, "stored_bytes", q->room.stored_bytes);
	cairn_json_close(&w);
	cairn_buf_add(&json, "\n", 2);
	if (json.status == CAIRN_OK)
		http_reply_json(req, 200, (const char *)json.bytes);
	else
		http_reply_status(req, json.status, NULL);
}

/* One that is cut is none. */
static bool quota_take_place(struct quota_request *q, const char *place)
{
	int n = place ? snprintf(q->place, sizeof(q->place), "%s", place) : -1;
	return n > 0 && (size_t)n < sizeof(q->place);
}

static void quota_get(struct http_request *req)
{
	struct quota_request *q = route_job_new(req, sizeof(*q), quota_run, quota_reply);
	if (!q)
		return;
	if (quota_take_place(q, http_query_arg(req, "place")))
		route_job_start(req);
	else
		http_reply_error(req, 400, "quota.body", "ask with place=ACCOUNT, or place=models/ACCOUNT/NAME", NULL);
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

static uint64_t quota_body_max(void *app)
{
	(void)app;
	return QUOTA_BODY_BYTES_MAX;
}

static void quota_post_head(struct http_request *req)
{
	struct quota_request *q = route_job_new(req, sizeof(*q), quota_run, quota_reply);
	if (q)
		(void)route_body_begin(req, &q->body, QUOTA_BODY_BYTES_MAX);
}

static void quota_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct quota_request *q = http_state(req);
	route_body_add(req, &q->body, bytes, len);
}

/* A number, or "none". */
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
	if (quota_take_limit(q, json) && quota_take_place(q, cairn_json_string(cairn_json_get(json, "place"))))
		route_job_start(req);
	else
		http_reply_error(
			req, 400, "quota.body",
			"send {\"place\":\"ACCOUNT\" or \"models/ACCOUNT/NAME\",\"quota_bytes\":NUMBER or \"none\"}",
			NULL);
}

const struct http_route ROUTES_QUOTA[] = {
	{.method = "GET",
	 .pattern = "/v1/quotas",
	 .name = "quotas",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = quota_get,
	 .free = quota_free},
	{.method = "POST",
	 .pattern = "/v1/quotas",
	 .name = "quotas",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .body_max = quota_body_max,
	 .head = quota_post_head,
	 .body = quota_post_body,
	 .done = quota_post_done,
	 .free = quota_free},
	{0},
};
