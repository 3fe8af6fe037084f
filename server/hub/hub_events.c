/* Reports the changes of a bucket: GET /api/buckets/{namespace}/{name}/events. An answer has the changes since the
 * client's previous request, and asks the client to come back a second later. So no connection waits for changes, and
 * any daemon that shares the index can answer. */
#include "base/decimal.h"
#include "base/json.h"
#include "hub/feed.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each byte of a path may take six bytes in JSON, and each path has some words around it. */
enum { EVENTS_ANSWER_BYTES_MAX = CAIRN_HUB_FEED_BATCHES_MAX * 32 * CAIRN_INDEX_FEED_BYTES_MAX };

struct events_request {
	struct hub_repo bucket;
	struct cairn_hub_feed_from from;
};

/* Opens an event and its data: an object with the cursor, which is left open. */
static struct cairn_json_out events_open(struct cairn_buf *b, const char *event, int64_t cursor)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%" PRId64, cursor);
	cairn_buf_printf(b, "event: %s\ndata: ", event);
	struct cairn_json_out w = cairn_json_out_init(b);
	cairn_json_open_object(&w, NULL);
	if (cursor != 0)
		cairn_json_put_text(&w, "cursor", text);
	return w;
}

static void events_close(struct cairn_buf *b, struct cairn_json_out *w)
{
	cairn_json_close(w);
	cairn_buf_printf(b, "\n\n");
}

static void events_put_change(struct cairn_json_out *w, char letter, const char *path, int64_t at_unix_ms)
{
	char when[HUB_TIME_BYTES];
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "path", path);
	cairn_json_put_text(w, "op", letter == 'd' ? "delete" : letter == 'u' ? "update" : "add");
	if (letter != 'd')
		cairn_json_put_text(w, "uploadedAt", hub_time(when, at_unix_ms));
	cairn_json_close(w);
}

static void events_put_batch(void *ctx, const struct cairn_index_feed_batch *batch)
{
	struct cairn_buf *b = ctx;
	struct cairn_json_out w = events_open(b, "changes", batch->at_unix_ms);
	cairn_json_open_array(&w, "changes");
	for (size_t at = 0; at < batch->len;) {
		const char *path = batch->paths + at + 1;
		size_t room = batch->len - at - 1, len = strnlen(path, room);
		if (len == room) /* the last path was cut, so it is left out */
			break;
		events_put_change(&w, batch->paths[at], path, batch->at_unix_ms);
		at += len + 2;
	}
	cairn_json_close(&w);
	events_close(b, &w);
}

static void events_put_end(struct cairn_buf *b, const struct cairn_hub_feed_end *end)
{
	static const char *const ENDS[] = {"ready", "reconnect"};
	if (end->is_reset) {
		cairn_buf_printf(b, "event: reset\ndata: {\"reason\":\"changes before these are not kept\"}\n\n");
		return;
	}
	for (size_t i = end->is_ready ? 0 : 1; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
		struct cairn_json_out w = events_open(b, ENDS[i], end->cursor);
		events_close(b, &w);
	}
}

static void events_read(struct hub_call *call)
{
	struct events_request *e = (struct events_request *)call;
	struct cairn_hub_feed_end end;
	if (!hub_repo_find(&e->bucket, CAIRN_HUB_READ))
		return;
	call->status = cairn_hub_read_feed(&call->job.app->hub, &e->bucket.repo, &e->from, events_put_batch,
					   &call->answer, &end);
	if (call->status == CAIRN_OK)
		events_put_end(&call->answer, &end);
}

static void events_show(struct http_request *req, struct hub_call *call)
{
	hub_call_show_code(req, call, 200, "text/event-stream");
}

/* Reads where to continue. @return false: the cursor or the time is malformed */
static bool events_take_from(const struct http_request *req, struct cairn_hub_feed_from *out)
{
	const char *cursor = http_query_arg(req, "cursor"), *since = http_query_arg(req, "since");
	uint64_t number = 0;
	out->has_cursor = cursor != NULL;
	out->has_since = !cursor && since && since[0];
	if (out->has_cursor && !cairn_decimal_parse(cursor, 1, INT64_MAX - 1, &number))
		return false;
	out->at_unix_ms = (int64_t)number;
	return !out->has_since || cairn_hub_feed_time(since, &out->at_unix_ms);
}

static void events_get(struct http_request *req)
{
	struct events_request *e = hub_repo_new(req, sizeof(*e), CAIRN_INDEX_BUCKET, events_read, events_show);
	if (!e)
		return;
	e->bucket.namespace = http_path_arg(req, "namespace");
	e->bucket.name = http_path_arg(req, "name");
	e->bucket.call.answer = cairn_buf_init(EVENTS_ANSWER_BYTES_MAX);
	if (events_take_from(req, &e->from))
		route_job_start(req);
	else
		hub_reply_error(req, 400, NULL, "bucket.events",
				"cursor is that of an earlier answer, and since a time such as "
				"2026-11-03T14:05:06.000Z");
}

const struct http_route ROUTES_EVENTS[] = {
	HUB_GET("/api/buckets/{namespace}/{name}/events", "bucket-events", events_get, hub_repo_free),
	{0},
};
