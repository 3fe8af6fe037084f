#include "server/route/route_body.h"

#include "server/app.h"

enum { ROUTE_BODY_VALUES_MAX = 200, ROUTE_BODY_LIST_VALUES_MAX = 100000 };

bool route_body_begin(struct http_request *req, struct route_body *body, size_t bytes_max)
{
	struct cairn_hash sender;
	http_sender(req, &sender);
	return route_body_begin_as(req, body, bytes_max, &sender);
}

bool route_body_begin_as(struct http_request *req, struct route_body *body, size_t bytes_max,
			 const struct cairn_hash *sender)
{
	struct cairn_diag diag = {0};
	body->bytes = cairn_buf_init(bytes_max);
	enum cairn_status status =
		cairn_use_begin(&body->use, app_of(req)->cas, sender, http_content_length(req), false, &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
	return status == CAIRN_OK;
}

void route_body_add(struct http_request *req, struct route_body *body, const uint8_t *bytes, size_t len)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_use_add(&body->use, len, &diag);
	cairn_buf_add(&body->bytes, bytes, status == CAIRN_OK ? len : 0);
	if (status == CAIRN_OK)
		status = body->bytes.status;
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
}

static struct cairn_json *body_json(const struct route_body *body, size_t values_max)
{
	struct cairn_json *json = NULL;
	if (body->bytes.len == 0 ||
	    cairn_json_parse_some(&json, (const char *)body->bytes.bytes, body->bytes.len, values_max) != CAIRN_OK)
		return NULL;
	return json;
}

struct cairn_json *route_body_json(const struct route_body *body)
{
	return body_json(body, ROUTE_BODY_VALUES_MAX);
}

struct cairn_json *route_body_json_list(const struct route_body *body)
{
	return body_json(body, ROUTE_BODY_LIST_VALUES_MAX);
}

void route_body_fini(struct route_body *body)
{
	cairn_buf_fini(&body->bytes);
	cairn_use_end(&body->use);
}
