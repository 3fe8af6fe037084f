/* POST /v1/telemetry: what clients tell of their transfers, kept for a while. GET /v1/telemetry: the newest, for
 * operators. */
#include "base/json.h"
#include "base/json_text.h"
#include "index/operate.h"
#include "server/route/route_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TELEMETRY_BODY_BYTES_MAX = 1024 * 1024, /* source: protocol document */
	TELEMETRY_ANSWER_BYTES_MAX = 8 * 1024 * 1024,
	TELEMETRY_LIMIT_DEFAULT = 100,
};

/* --- POST --------------------------------------------------------------------------------------------------------- */

static uint64_t telemetry_body_max(void *app)
{
	(void)app;
	return TELEMETRY_BODY_BYTES_MAX;
}

static void telemetry_free(void *state)
{
	struct cairn_buf *body = state;
	if (!body)
		return;
	cairn_buf_fini(body);
	free(body);
}

static void telemetry_post_head(struct http_request *req)
{
	struct cairn_buf *body = calloc(1, sizeof(*body));
	if (!body) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	*body = cairn_buf_init(TELEMETRY_BODY_BYTES_MAX);
	http_set_state(req, body);
}

static void telemetry_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	cairn_buf_add(http_state(req), bytes, len);
}

/* A row on its way to the index. It is not waited for: telemetry is worth no client's time. */
struct telemetry_row {
	struct cairn_index_write write;
	char sender[128];
	uint8_t body[];
};

static void telemetry_written(struct cairn_index_write *write)
{
	free(write);
}

static void telemetry_keep(struct http_request *req, const struct cairn_buf *body)
{
	struct app *app = app_of(req);
	if (app->config.telemetry_rows == 0 || body->len > CAIRN_INDEX_TELEMETRY_BYTES_MAX)
		return;
	struct telemetry_row *row = calloc(1, sizeof(*row) + body->len);
	if (!row)
		return;
	(void)snprintf(row->sender, sizeof(row->sender), "%s", http_identity(req)->subject);
	memcpy(row->body, body->bytes, body->len);
	row->write = (struct cairn_index_write){
		.kind = CAIRN_INDEX_ADD_TELEMETRY,
		.telemetry = {.sender = row->sender,
			      .body = row->body,
			      .body_len = body->len,
			      .keep_max = (uint32_t)app->config.telemetry_rows},
		.done = telemetry_written,
	};
	if (cairn_index_submit(cairn_cas_index(app->cas), &row->write) != CAIRN_OK)
		free(row);
}

static void telemetry_post_done(struct http_request *req)
{
	const struct cairn_buf *body = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (body->status != CAIRN_OK) {
		http_reply_status(req, body->status, NULL);
		return;
	}
	if (body->len == 0 || cairn_json_parse(&json, (const char *)body->bytes, body->len) != CAIRN_OK ||
	    !cairn_json_string(cairn_json_get(json, "event")) ||
	    !cairn_json_is_object(cairn_json_get(json, "metrics"))) {
		http_reply_error(req, 400, "telemetry.body",
				 "telemetry is a JSON object with a text \"event\" and an object \"metrics\"", NULL);
		return;
	}
	telemetry_keep(req, body);
	http_reply_json(req, 200, "{}");
}

/* --- GET ---------------------------------------------------------------------------------------------------------- */

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

/* Bodies are JSON objects that were parsed when they came in, so they are put in as they are. */
static void telemetry_visit(void *ctx, const struct cairn_index_telemetry *row)
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
	t->status = cairn_index_each_telemetry(cairn_cas_index(job->app->cas), t->before_id, t->limit, telemetry_visit,
					       t, &t->next_id);
	cairn_buf_printf(&t->json, "],\"next\":%lld}\n", (long long)t->next_id);
}

static void telemetry_list_reply(struct http_request *req, struct route_job *job)
{
	struct telemetry_list *t = (struct telemetry_list *)job;
	if (t->status == CAIRN_OK && t->json.status == CAIRN_E_LIMIT)
		http_reply_error(req, 400, "telemetry.limit", "that is more than 8 MiB; ask for fewer with limit=N",
				 NULL);
	else if (t->status != CAIRN_OK || t->json.status != CAIRN_OK)
		http_reply_status(req, t->status != CAIRN_OK ? t->status : t->json.status, NULL);
	else {
		http_reply_bytes(req, 200, "application/json", t->json.bytes, t->json.len, free, t->json.bytes);
		t->json = cairn_buf_init(0);
	}
}

/* A number between min and max; otherwise if absent. @return false: neither, which was replied */
static bool telemetry_number(struct http_request *req, const char *name, int64_t otherwise, int64_t min, int64_t max,
			     int64_t *out)
{
	const char *text = http_query_arg(req, name);
	char *end;
	*out = otherwise;
	if (!text)
		return true;
	*out = strtoll(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0' && *out >= min && *out <= max)
		return true;
	http_reply_error(req, 400, "telemetry.argument",
			 "limit is 1 to 512, before is the \"next\" of an earlier answer", NULL);
	return false;
}

static void telemetry_get(struct http_request *req)
{
	int64_t limit, before_id;
	if (!telemetry_number(req, "limit", TELEMETRY_LIMIT_DEFAULT, 1, CAIRN_INDEX_PAGE_MAX, &limit) ||
	    !telemetry_number(req, "before", 0, 0, INT64_MAX - 1, &before_id))
		return;
	struct telemetry_list *t = route_job_new(req, sizeof(*t), telemetry_list_run, telemetry_list_reply);
	if (!t)
		return;
	t->limit = (uint32_t)limit;
	t->before_id = before_id;
	t->json = cairn_buf_init(TELEMETRY_ANSWER_BYTES_MAX);
	route_job_start(req);
}

const struct http_route ROUTES_TELEMETRY[] = {
	{.method = "POST",
	 .pattern = "/v1/telemetry",
	 .name = "telemetry",
	 .scope = CAIRN_TOKEN_READ,
	 .body_max = telemetry_body_max,
	 .head = telemetry_post_head,
	 .body = telemetry_post_body,
	 .done = telemetry_post_done,
	 .free = telemetry_free},
	{.method = "GET",
	 .pattern = "/v1/telemetry",
	 .name = "telemetry",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = telemetry_get,
	 .free = telemetry_list_free},
	{0},
};
