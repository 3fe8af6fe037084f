/* POST /v1/telemetry: keeps clients' reports on transfers for a while. GET: shows operators the newest reports. */
#include "base/clock.h"
#include "base/json_text.h"
#include "cas/service/telemetry.h"
#include "server/ask/route_args.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/http/rate.h"
#include "server/route/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TELEMETRY_BODY_BYTES_MAX = 1024 * 1024, /* limit of the protocol document */
	TELEMETRY_ANSWER_BYTES_MAX = 8 * 1024 * 1024,
	TELEMETRY_LIMIT_DEFAULT = 100,
};

struct telemetry_request {
	struct route_job job;
	struct route_body body;
	bool is_read; /* the body is valid and can be stored */
	uint64_t who; /* hash of the sender; 0: the daemon needs no tokens */
};

static void telemetry_free(void *state)
{
	struct telemetry_request *t = state;
	if (t)
		route_body_fini(&t->body);
	free(t);
}

/* May one more message of this sender be kept? Stock clients report twice a transfer, and once a minute of a long one.
 * Further messages are answered, but not kept. */
static bool telemetry_is_within_rate(const struct app *app, uint64_t who)
{
	return who == 0 || rate_take(app->telemetry_rate, &who, sizeof(who), cairn_clock_mono_ms() * 1000) == 0;
}

static void telemetry_keep(struct route_job *job)
{
	struct telemetry_request *t = (struct telemetry_request *)job;
	const struct app *app = job->app;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&t->body);
	t->is_read = cairn_json_text_of(json, "event") && cairn_json_is_object(cairn_json_get(json, "metrics"));
	if (t->is_read && telemetry_is_within_rate(app, t->who))
		cairn_cas_keep_telemetry(app->cas, http_identity(job->req)->subject, t->who, t->body.in.bytes,
					 t->body.in.len, (uint32_t)atomic_load(&app->live.telemetry_rows),
					 &t->body.in.use);
}

static void telemetry_reply(struct http_request *req, struct route_job *job)
{
	if (((struct telemetry_request *)job)->is_read)
		http_reply_json(req, 200, "{}");
	else
		http_reply_error(req, 400, "telemetry.body",
				 "telemetry is a JSON object with a text \"event\" and an object \"metrics\"", NULL);
}

static void telemetry_post_head(struct http_request *req)
{
	/* Anybody gets a token for public repositories, so messages of unknown senders are not kept. */
	if (http_identity(req)->by_token && !auth_is_somebody(http_identity(req))) {
		http_reply_json(req, 200, "{}");
		return;
	}
	struct telemetry_request *t = route_job_new(req, sizeof(*t), telemetry_keep, telemetry_reply);
	if (!t)
		return;
	t->who = http_identity(req)->by_token ? http_turn(req) : 0;
	(void)route_body_begin(req, &t->body);
}

static void telemetry_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct telemetry_request *t = http_state(req);
	route_body_add(req, &t->body, bytes, len);
}

static void telemetry_post_done(struct http_request *req)
{
	struct telemetry_request *t = http_state(req);
	route_body_start(req, &t->body);
}

struct telemetry_list {
	struct route_job job;
	uint32_t limit;
	int64_t before_id, next_id;
	enum cairn_status status;
	struct cairn_buf json;
	uint32_t n;
};

static void telemetry_list_free(void *state)
{
	struct telemetry_list *t = state;
	if (!t)
		return;
	cairn_buf_fini(&t->json);
	free(t);
}

/* Writes a message. It is copied unchanged, because it was parsed as a JSON object on arrival. */
static void telemetry_visit(void *ctx, const struct cairn_telemetry *row)
{
	struct telemetry_list *t = ctx;
	cairn_buf_printf(&t->json, "%s{\"id\":%lld,\"at\":%lld,\"sender\":", t->n++ ? "," : "", (long long)row->id,
			 (long long)row->at_unix_s);
	cairn_json_text(&t->json, row->sender, SIZE_MAX);
	cairn_buf_printf(&t->json, ",\"body\":");
	cairn_buf_add(&t->json, row->body, row->body_len);
	cairn_buf_add(&t->json, "}", 1);
}

static void telemetry_list_run(struct route_job *job)
{
	struct telemetry_list *t = (struct telemetry_list *)job;
	cairn_buf_printf(&t->json, "{\"telemetry\":[");
	t->status = cairn_cas_each_telemetry(job->app->cas, t->before_id, t->limit, telemetry_visit, t, &t->next_id);
	cairn_buf_printf(&t->json, "],\"next\":%lld}\n", (long long)t->next_id);
}

static void telemetry_list_reply(struct http_request *req, struct route_job *job)
{
	struct telemetry_list *t = (struct telemetry_list *)job;
	if (t->status == CAIRN_OK && t->json.status == CAIRN_E_LIMIT)
		http_reply_error(req, 400, "telemetry.limit", "that is more than 8 MiB; ask for fewer with limit=N",
				 NULL);
	else
		route_reply_made(req, t->status, &t->json);
}

static void telemetry_get(struct http_request *req)
{
	uint32_t limit;
	uint64_t before_id = 0;
	if (!route_limit(req, TELEMETRY_LIMIT_DEFAULT, CAIRN_TELEMETRY_PAGE_MAX, &limit) ||
	    !http_query_number(req, "before", 0, INT64_MAX - 1, &before_id)) {
		http_reply_error(req, 400, "telemetry.argument",
				 "limit is 1 to 512, before is the \"next\" of an earlier answer", NULL);
		return;
	}
	struct telemetry_list *t = route_job_new(req, sizeof(*t), telemetry_list_run, telemetry_list_reply);
	if (!t)
		return;
	t->limit = limit;
	t->before_id = (int64_t)before_id;
	t->json = cairn_buf_init(TELEMETRY_ANSWER_BYTES_MAX);
	route_job_start(req);
}

const struct http_route ROUTES_TELEMETRY[] = {
	ROUTE_BODY_POST("/v1/telemetry", "telemetry", CAIRN_TOKEN_READ, TELEMETRY_BODY_BYTES_MAX, telemetry_post_head,
			telemetry_post_body, telemetry_post_done, telemetry_free),
	ROUTE_GET("/v1/telemetry", "telemetry", CAIRN_TOKEN_ADMIN, telemetry_get, telemetry_list_free),
	{0},
};
