#include "server/ask/route_body.h"

#include "server/app.h"
#include "server/ask/route_job.h"

#include <assert.h>

enum {
	ROUTE_BODY_VALUES_MAX = 200,
	ROUTE_BODY_LIST_VALUES_MAX = 100000,
	ROUTE_BODY_QUICK_BYTES = 256 * 1024, /* reading a longer body takes more than some milliseconds */
};

static enum cairn_status body_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct route_body *body = ctx;
	return cairn_body_write(&body->in, bytes, len, diag);
}

bool route_body_begin(struct http_request *req, struct route_body *body)
{
	struct cairn_hash sender;
	http_sender(req, &sender);
	return route_body_begin_as(req, body, &sender);
}

bool route_body_begin_as(struct http_request *req, struct route_body *body, const struct cairn_hash *sender)
{
	struct cairn_diag diag = {0};
	body->piece = (struct route_piece){.take = body_take, .ctx = body};
	enum cairn_status status =
		cairn_body_begin(&body->in, app_of(req)->cas, sender, http_content_length(req), &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
	return status == CAIRN_OK;
}

void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len)
{
	bool waits = cairn_body_waits(&body->in, len);
	enum cairn_status status = route_piece_take(&body->piece, req, bytes, len, waits);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &body->piece.diag);
}

void route_body_start(struct http_request *req, struct route_body *body)
{
	struct route_job *job = http_state(req);
	enum cairn_status status = route_piece_end(&body->piece);
	job->body = &body->in;
	if (body->in.len > ROUTE_BODY_QUICK_BYTES)
		job->work.lane = CAIRN_LANE_HEAVY;
	if (status == CAIRN_OK)
		route_job_start(req);
	else
		http_reply_status(req, status, &body->piece.diag);
}

static struct cairn_json *body_json(const struct cairn_body *body, size_t values_max)
{
	struct cairn_json *json = NULL;
	assert(body->bytes || !body->spool);
	if (body->len == 0 ||
	    cairn_json_parse_some(&json, (const char *)body->bytes, body->len, values_max) != CAIRN_OK)
		return NULL;
	return json;
}

struct cairn_json *route_body_json(const struct route_body *body)
{
	return body_json(&body->in, ROUTE_BODY_VALUES_MAX);
}

struct cairn_json *route_body_json_list(const struct route_body *body)
{
	return body_json(&body->in, ROUTE_BODY_LIST_VALUES_MAX);
}

void route_body_fini(struct route_body *body)
{
	route_piece_fini(&body->piece);
	cairn_body_fini(&body->in);
}
