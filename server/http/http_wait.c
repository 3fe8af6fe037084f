/* Replies that wait for their bytes, and suspended requests: the connection waits without blocking a thread. */
#include "server/http/http_pump.h"
#include "server/http/http_reply.h"
#include "server/http/http_server.h"
#include "server/http/http_stream.h"

#include <assert.h>
#include <microhttpd.h>

enum {
	HTTP_STREAM_BLOCK_BYTES = 4096,
	HTTP_PUMP_SENT_BYTES = 64 * 1024, /* length of a block that is sent at once */
};

/* Pauses a connection, unless the server stops. Counts the request before it reads closing; http_server_stop() does
 * both in reverse order. So at least one of the two sees the other, and no connection is suspended when the library
 * stops (which would abort the process). */
static bool http_pause(struct http_request *req, const atomic_bool *refuse)
{
	atomic_fetch_add(&req->server->n_suspended, 1);
	if (atomic_load(refuse)) {
		atomic_fetch_sub(&req->server->n_suspended, 1);
		return false;
	}
	MHD_suspend_connection(req->conn);
	return true;
}

static void http_unpause(struct http_request *req)
{
	struct http_server *server = req->server;
	struct MHD_Connection *conn = req->conn;
	atomic_fetch_sub(&server->n_suspended, 1);
	MHD_resume_connection(conn);
}

static bool http_stream_pause(void *ctx)
{
	struct http_request *req = ctx;
	return http_pause(req, &req->server->closing);
}

static void http_stream_wake(void *ctx)
{
	http_unpause(ctx);
}

static const struct http_stream_ops HTTP_STREAM_OPS = {http_stream_pause, http_stream_wake};

/* Removes the deadline of a client that has nothing to read. */
static void http_pump_wait_begins(void *ctx)
{
	struct http_request *req = ctx;
	req->held_ms = http_now_ms();
	req->held_deadline_ms = http_conn_deadline_ms(req->peer);
	(void)http_conn_enter(req->peer, HTTP_CONN_BUSY, 0);
}

static void http_pump_wait_ends(void *ctx)
{
	struct http_request *req = ctx;
	(void)http_conn_enter(req->peer, HTTP_CONN_REPLY, req->held_deadline_ms + http_now_ms() - req->held_ms);
}

static bool http_pump_is_left(void *ctx)
{
	return http_client_gone(ctx);
}

static const struct http_pump_ops HTTP_PUMP_OPS = {
	{http_stream_pause, http_stream_wake}, http_pump_wait_begins, http_pump_wait_ends, http_pump_is_left};

/* Converts a result to the library's return value. */
static ssize_t http_stream_answer(enum http_stream_read read, size_t n)
{
	switch (read) {
	case HTTP_STREAM_BYTES:
	case HTTP_STREAM_PAUSED:
		return (ssize_t)n; /* 0 while paused: the library then waits for the resume alone */
	case HTTP_STREAM_END:
		return MHD_CONTENT_READER_END_OF_STREAM;
	case HTTP_STREAM_FAILED:
		break;
	}
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t http_stream_on_read(void *cls, uint64_t pos, char *out, size_t max)
{
	size_t n = 0;
	(void)pos;
	enum http_stream_read read = http_stream_read(cls, (uint8_t *)out, max, &n);
	return http_stream_answer(read, n);
}

static void http_stream_on_free(void *cls)
{
	http_stream_gone(cls);
}

struct http_stream *http_reply_stream(struct http_request *req, const char *content_type)
{
	struct http_stream *s = http_stream_new(&HTTP_STREAM_OPS, req);
	struct MHD_Response *response = NULL;
	if (s)
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, HTTP_STREAM_BLOCK_BYTES,
							     http_stream_on_read, s, http_stream_on_free);
	if (!response) {
		if (s) {
			http_stream_gone(s);
			http_stream_finish(s, "", 0);
		}
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return NULL;
	}
	req->is_stream = true;
	http_reply(req, 200, content_type, 0, response);
	return s;
}

static ssize_t http_pump_on_read(void *cls, uint64_t pos, char *out, size_t max)
{
	size_t n = 0;
	enum http_stream_read read = http_pump_read(cls, pos, (uint8_t *)out, max, &n);
	return http_stream_answer(read, n);
}

static void http_pump_on_free(void *cls)
{
	http_pump_free(cls);
}

void http_reply_pumped(struct http_request *req, unsigned code, const char *content_type,
		       const struct http_source *source, struct cairn_workers *workers)
{
	assert(!source->wait || req->place.taken);
	struct http_waits *waits = &req->server->waits;
	struct http_pump *p = http_pump_new(&HTTP_PUMP_OPS, req, source, workers, waits, http_turn(req));
	struct MHD_Response *response = NULL;
	if (p)
		response = MHD_create_response_from_callback(source->bytes, HTTP_PUMP_SENT_BYTES, http_pump_on_read, p,
							     http_pump_on_free);
	if (p && !response)
		http_pump_free(p);
	http_reply(req, code, content_type, source->bytes, response);
}

bool http_may_wait(struct http_request *req)
{
	return req->place.taken || http_waits_take(&req->server->waits, &req->place, http_turn(req));
}

bool http_suspend(struct http_request *req, void (*resumed)(struct http_request *req))
{
	assert(req->complete && req->code == 0);
	req->resumed = resumed;
	req->stage = HTTP_STAGE_WAITING;
	if (http_pause(req, &req->server->drained))
		return true;
	req->stage = HTTP_STAGE_BODY;
	http_reply_error(req, 503, "stopping", "the server is stopping; try again in a few seconds", NULL);
	return false;
}

bool http_hold_body(struct http_request *req)
{
	assert(!req->complete && req->code == 0);
	if (!http_conn_enter(req->peer, HTTP_CONN_BUSY, 0))
		return false;
	req->held_ms = http_now_ms();
	atomic_store(&req->held, true);
	if (http_pause(req, &req->server->drained))
		return true;
	atomic_store(&req->held, false);
	http_reply_error(req, 503, "stopping", "the server is stopping; try again in a few seconds", NULL);
	return false;
}

/* Resumes the body. The client's deadline moves by as long as the body was held. */
static void http_let_go(struct http_request *req)
{
	req->body_started_ms += http_now_ms() - req->held_ms;
	(void)http_conn_enter(req->peer, HTTP_CONN_BODY, http_body_deadline_ms(req));
	atomic_store(&req->held, false);
}

void http_resume(struct http_request *req)
{
	if (atomic_load(&req->held))
		http_let_go(req);
	http_unpause(req);
}
