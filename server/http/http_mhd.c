/* The one file that knows libmicrohttpd. What it gets wrong, and what is done about it: http_library.c. */
#include "server/http/http.h"

#include "server/http/errors.h"
#include "server/http/http_error.h"
#include "server/http/http_gate.h"
#include "server/http/http_library.h"
#include "server/http/http_pump.h"
#include "server/http/http_server.h"
#include "server/http/http_stream.h"
#include "server/log.h"

#include <assert.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HTTP_LIBRARY_BYTES = 4096, /* of a connection's memory, beside the head: bookkeeping and the reply's head */
	HTTP_READER_BLOCK_BYTES = 256 * 1024,
	HTTP_STREAM_BLOCK_BYTES = 4096,
	HTTP_PUMP_SENT_BYTES = 64 * 1024, /* of a block, at once */
	HTTP_LINGER_MS = 2000,
};

static const char HTTP_TLS_PRIORITIES[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

/* --- what a route may ask ----------------------------------------------------------------------------------------- */

void *http_app(const struct http_request *req)
{
	return req->server->options.app;
}

const char *http_header(const struct http_request *req, const char *name)
{
	return MHD_lookup_connection_value(req->conn, MHD_HEADER_KIND, name);
}

struct http_query_visit {
	const char *name;
	bool (*visit)(void *ctx, const char *value);
	void *ctx;
};

static enum MHD_Result http_on_argument(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct http_query_visit *v = cls;
	(void)kind;
	if (strcmp(name, v->name) != 0)
		return MHD_YES;
	return v->visit(v->ctx, value ? value : "") ? MHD_YES : MHD_NO;
}

void http_query_each(const struct http_request *req, const char *name, bool (*visit)(void *ctx, const char *value),
		     void *ctx)
{
	struct http_query_visit v = {name, visit, ctx};
	MHD_get_connection_values(req->conn, MHD_GET_ARGUMENT_KIND, http_on_argument, &v);
}

static bool http_take_first(void *ctx, const char *value)
{
	const char **out = ctx;
	*out = value;
	return false;
}

const char *http_query_arg(const struct http_request *req, const char *name)
{
	const char *value = NULL;
	http_query_each(req, name, http_take_first, &value);
	return value;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static void http_add_header(void *ctx, const char *name, const char *value)
{
	MHD_add_response_header(ctx, name, value);
}

/* Every reply of this server passes here, refusals included, but for those that are sent past the library. */
static void http_reply(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       struct MHD_Response *response)
{
	assert(req->code == 0);
	req->code = code;
	req->reply_bytes = len;
	req->response = response;
	if (!response)
		return; /* http_flush() cuts the connection */
	http_request_headers(req, content_type, http_add_header, response);
}

void http_reply_json(struct http_request *req, unsigned code, const char *json)
{
	size_t len = strlen(json);
	/* The library takes a pointer to what it might free, and so to what is not const; it copies here. */
	http_reply(req, code, "application/json", len,
		   MHD_create_response_from_buffer(len, (void *)(uintptr_t)json, MHD_RESPMEM_MUST_COPY));
}

/* Past the library; on the request's thread, with nothing else on its way to the client. */
static bool http_send(const struct http_request *req, const struct cairn_buf *b)
{
	const struct http_server_options *o = &req->server->options;
	if (!o->tls_send)
		return send(req->peer->fd, b->bytes, b->len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b->len;
	return o->tls_send(MHD_get_connection_info(req->conn, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session,
			   b->bytes, b->len);
}

/* The library takes no reply before the end of a body. So a refusal in the midst of a long one is written past it, and
 * the rest is swallowed: a client that reads while it sends stops at once, and one that writes all first finds the
 * answer then. (Closing on unread bytes resets the connection, and the client might never read what was sent.) Of what
 * is over the limit not all is swallowed. @return false: it is said in the usual way when the body has ended */
static bool http_says_midway(struct http_request *req, unsigned code, const struct cairn_buf *body)
{
	bool over = req->received > req->body_limit;
	if (req->stage != HTTP_STAGE_BODY || req->complete ||
	    (!over && http_request_body_left(req) <= HTTP_DRAIN_BYTES_MAX))
		return false;
	req->close_after = true;
	req->raw = cairn_buf_init(2 * (size_t)HTTP_ERROR_BYTES_MAX);
	http_request_raw(req, code, body, &req->raw);
	int64_t until_ms = over ? http_now_ms() + HTTP_LINGER_MS : http_body_deadline_ms(req);
	if (req->raw.status != CAIRN_OK || !http_conn_enter(req->peer, HTTP_CONN_LINGER, until_ms)) {
		cairn_buf_fini(&req->raw);
		return false;
	}
	req->stage = HTTP_STAGE_LINGER;
	req->code = code;
	req->reply_bytes = body->len;
	req->linger_max = over ? req->received + HTTP_DRAIN_BYTES_MAX : req->body_limit;
	return true;
}

/* What http_says_midway() has written, once nothing is held for the body any more. */
static void http_say_midway(struct http_request *req)
{
	bool over = req->received > req->body_limit;
	if (!http_send(req, &req->raw))
		req->linger_max = 0; /* nothing can be said any more */
	else if (over && !req->server->options.tls_send)
		shutdown(req->peer->fd, SHUT_WR);
	cairn_buf_fini(&req->raw);
}

void http_reply_error(struct http_request *req, unsigned code, const char *rule, const char *message,
		      const struct cairn_diag *diag)
{
	enum http_error_shape shape = req->match.route ? req->match.route->errors : HTTP_ERRORS_CAS;
	struct cairn_buf body = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	if (code >= 500 && code != 501) /* 501 is the client's doing */
		http_request_log_failure(req, code, diag && diag->rule ? diag->rule : rule,
					 diag && diag->text[0] ? diag->text : message);
	http_error_body(&body, shape, rule, message, diag, req->id);
	if (body.status != CAIRN_OK) {
		cairn_buf_fini(&body);
		http_reply(req, code, NULL, 0, NULL);
		return;
	}
	if ((code == 429 || code == 503) && !http_request_has_added(req, "Retry-After"))
		http_reply_header(req, "Retry-After", "3");
	if (code == 401)
		http_reply_header(req, "WWW-Authenticate", "Bearer");
	if (shape == HTTP_ERRORS_HUB) {
		char line[HTTP_ERROR_LINE_BYTES];
		http_error_line(line, diag && diag->text[0] ? diag->text : message);
		http_reply_header(req, "X-Error-Message", line);
	}
	if (http_says_midway(req, code, &body)) {
		cairn_buf_fini(&body);
		return;
	}
	struct MHD_Response *response = MHD_create_response_from_buffer(body.len, body.bytes, MHD_RESPMEM_MUST_FREE);
	http_reply(req, code, "application/json", body.len, response);
	if (!response)
		cairn_buf_fini(&body);
}

void http_reply_status(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag)
{
	bool upload = req->match.route && req->match.route->body_max;
	struct errors_reply e = errors_of_status(status, upload);
	http_reply_error(req, e.code, e.rule, e.message, diag);
}

/* The body of a reply to HEAD, or of a 304: there is a length and nothing to read. */
static ssize_t http_read_nothing(void *cls, uint64_t pos, char *out, size_t max)
{
	(void)cls;
	(void)pos;
	(void)out;
	(void)max;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

void http_reply_empty(struct http_request *req, unsigned code, uint64_t content_length)
{
	struct MHD_Response *response;
	bool bodyless = code == 304 || http_method(req) == HTTP_HEAD;
	if (content_length != UINT64_MAX && bodyless) {
		response = MHD_create_response_from_callback(content_length, HTTP_STREAM_BLOCK_BYTES, http_read_nothing,
							     NULL, NULL);
	} else {
		assert(content_length == UINT64_MAX || content_length == 0);
		response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	}
	http_reply(req, code, NULL, 0, response);
}

void http_reply_bytes(struct http_request *req, unsigned code, const char *content_type, const uint8_t *bytes,
		      size_t len, void (*release)(void *ctx), void *ctx)
{
	void *buffer = (void *)(uintptr_t)bytes; /* not written to */
	struct MHD_Response *response =
		release ? MHD_create_response_from_buffer_with_free_callback_cls(len, buffer, release, ctx)
			: MHD_create_response_from_buffer(len, buffer, MHD_RESPMEM_PERSISTENT);
	if (!response && release)
		release(ctx);
	http_reply(req, code, content_type, len, response);
}

struct http_reader {
	ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max);
	void (*release)(void *ctx);
	void *ctx;
};

static ssize_t http_reader_read(void *cls, uint64_t pos, char *out, size_t max)
{
	const struct http_reader *r = cls;
	ssize_t n = r->read(r->ctx, pos, (uint8_t *)out, max);
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR; /* 0 would be asked for again at once, for ever */
}

static void http_reader_free(void *cls)
{
	struct http_reader *r = cls;
	if (r->release)
		r->release(r->ctx);
	free(r);
}

void http_reply_reader(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx)
{
	struct MHD_Response *response = NULL;
	struct http_reader *r = calloc(1, sizeof(*r));
	if (r) {
		*r = (struct http_reader){read, release, ctx};
		size_t block = len < HTTP_READER_BLOCK_BYTES ? (size_t)len + 1 : HTTP_READER_BLOCK_BYTES;
		response = MHD_create_response_from_callback(len, block, http_reader_read, r, http_reader_free);
	}
	if (!response) {
		free(r);
		if (release)
			release(ctx);
	}
	http_reply(req, code, content_type, len, response);
}

/* A part of a file that can't be sent without copying. */
struct http_part {
	int fd;
	uint64_t offset;
};

static ssize_t http_part_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	const struct http_part *part = ctx;
	return pread(part->fd, out, max, (off_t)(part->offset + pos));
}

static void http_part_free(void *ctx)
{
	struct http_part *part = ctx;
	close(part->fd);
	free(part);
}

void http_reply_file(struct http_request *req, unsigned code, const char *content_type, int fd, uint64_t offset,
		     uint64_t len)
{
	struct http_part *part = req->server->options.tls_retrieve ? malloc(sizeof(*part)) : NULL;
	if (part) { /* the library would read the file in blocks of 4 KiB, and encrypt each by itself */
		*part = (struct http_part){fd, offset};
		http_reply_reader(req, code, content_type, len, http_part_read, http_part_free, part);
		return;
	}
	struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(len, fd, offset);
	if (!response)
		close(fd);
	http_reply(req, code, content_type, len, response);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* Counted before closing is looked at, while http_server_stop() does both in the other order: one of the two sees the
 * other, and no connection is left suspended when the library is stopped (it would abort the process). */
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

/* @return what the library wants to be told */
static ssize_t http_stream_answer(enum http_stream_read read, size_t n)
{
	switch (read) {
	case HTTP_STREAM_BYTES:
	case HTTP_STREAM_PAUSED:
		return (ssize_t)n; /* 0 while paused: the library then watches only for the resume */
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

void http_reply_pumped(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx, struct cairn_workers *workers)
{
	const struct http_pump_source source = {read, release, ctx, len};
	struct http_pump *p = http_pump_new(&HTTP_STREAM_OPS, req, &source, workers, http_turn(req));
	struct MHD_Response *response = NULL;
	if (p)
		response = MHD_create_response_from_callback(len, HTTP_PUMP_SENT_BYTES, http_pump_on_read, p,
							     http_pump_on_free);
	if (p && !response)
		http_pump_free(p);
	http_reply(req, code, content_type, len, response);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

bool http_suspend(struct http_request *req, void (*resumed)(struct http_request *req))
{
	assert(req->complete && req->code == 0);
	req->resumed = resumed;
	req->stage = HTTP_STAGE_WAITING;
	if (http_pause(req, &req->server->drained))
		return true;
	req->stage = HTTP_STAGE_BODY;
	http_reply_error(req, 503, "stopping", "the server is being stopped; try again in a few seconds", NULL);
	return false;
}

void http_resume(struct http_request *req)
{
	http_unpause(req);
}

bool http_client_gone(const struct http_request *req)
{
	struct pollfd p = {.fd = req->peer->fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* --- a request's life --------------------------------------------------------------------------------------------- */

static struct http_conn *http_peer_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* The request line is here. What this returns becomes the context of all further calls. */
static void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
	struct http_server *server = cls;
	struct http_conn *peer = http_peer_of(conn);
	struct http_request *req = peer ? http_request_new(peer, uri) : NULL;
	if (!req)
		return NULL;
	peer->request = req;
	req->server = server;
	req->conn = conn;
	req->started_us = http_now_us();
	req->body_limit = HTTP_DRAIN_BYTES_MAX;
	(void)http_conn_enter(peer, HTTP_CONN_HEAD, http_head_deadline_ms(req, req->started_us / 1000));
	http_server_begin(server);
	return req;
}

/* Hand the reply to the library. */
static enum MHD_Result http_flush(struct http_request *req)
{
	struct MHD_Response *response = req->response;
	req->response = NULL;
	if (!response || !http_conn_enter(req->peer, HTTP_CONN_REPLY, http_reply_deadline_ms(req, http_now_ms()))) {
		if (response)
			MHD_destroy_response(response);
		return MHD_NO;
	}
	enum MHD_Result ok = MHD_queue_response(req->conn, req->code, response);
	MHD_destroy_response(response);
	if (ok == MHD_YES)
		req->stage = HTTP_STAGE_REPLIED;
	return ok;
}

static enum MHD_Result http_on_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_len,
				      const char *value, size_t value_len)
{
	(void)kind;
	http_head_note(cls, name, name_len, value ? value : "", value_len);
	return MHD_YES;
}

/* The route has it now. */
static void http_enter(struct http_request *req)
{
	req->has_route_state = true;
	if (req->match.route->head)
		req->match.route->head(req);
	if (req->code != 0)
		http_request_release(req);
}

static void http_turn_away(struct http_request *req, const struct http_gate_answer *answer)
{
	if (answer->code == 204)
		http_reply_empty(req, 204, UINT64_MAX);
	else
		http_reply_error(req, answer->code, answer->rule, answer->message,
				 answer->diag.rule ? &answer->diag : NULL);
}

/* First call: the head, and nothing of the body. */
static enum MHD_Result http_on_head(struct http_request *req, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(req->conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct http_head head = {0};
	struct http_gate_answer answer;
	if (http_conn_phase(req->peer) == HTTP_CONN_CUT)
		return MHD_NO; /* from here on the sweeper does not look at the record's request_id */
	MHD_get_connection_values_n(req->conn, MHD_HEADER_KIND, http_on_header, &head);
	if (http_gate(req, &head, method, version, info ? info->header_size : 0, &answer))
		http_enter(req);
	else
		http_turn_away(req, &answer);
	/* A reply now closes the connection. That is wanted where it is out of step, and where the alternative is to
	 * take in a body of which nothing is used. */
	if (req->code != 0 && (req->close_after || req->expects_100 || req->body_len > HTTP_DRAIN_BYTES_MAX))
		return http_flush(req);
	req->stage = HTTP_STAGE_BODY;
	if (req->body_len == 0)
		return http_conn_enter(req->peer, HTTP_CONN_BUSY, 0) ? MHD_YES : MHD_NO;
	memcpy(req->peer->request_id, req->id, sizeof(req->id));
	req->body_started_ms = http_now_ms();
	return http_conn_enter(req->peer, HTTP_CONN_BODY, http_body_deadline_ms(req)) ? MHD_YES : MHD_NO;
}

static enum MHD_Result http_linger(struct http_request *req)
{
	bool over = req->received > req->body_limit;
	if (req->received > req->linger_max)
		return MHD_NO;
	return over || http_conn_enter(req->peer, HTTP_CONN_LINGER, http_body_deadline_ms(req)) ? MHD_YES : MHD_NO;
}

/* A piece of the body for the route, or the one that is too much. */
static void http_take_body(struct http_request *req, const char *bytes, size_t len)
{
	if (req->received > req->body_limit)
		http_reply_error(req, 413, "http.body_bytes",
				 "the body is larger than this server takes; send less at once", NULL);
	else
		req->match.route->body(req, (const uint8_t *)bytes, len);
	if (req->code != 0)
		http_request_release(req);
	if (req->stage == HTTP_STAGE_LINGER)
		http_say_midway(req);
}

static enum MHD_Result http_on_body(struct http_request *req, const char *bytes, size_t *n)
{
	size_t len = *n;
	*n = 0; /* all is taken, always: bytes left over without a suspension can hang the connection */
	req->received += len;
	if (req->stage == HTTP_STAGE_LINGER)
		return http_linger(req);
	if (!http_conn_enter(req->peer, HTTP_CONN_BODY, http_body_deadline_ms(req)))
		return MHD_NO;
	if (req->code == 0)
		http_take_body(req, bytes, len);
	if (req->stage == HTTP_STAGE_LINGER)
		return http_linger(req);
	return req->received > req->body_limit ? MHD_NO : MHD_YES;
}

/* done() or resumed() was called: it has replied, or it waits. */
static enum MHD_Result http_settle(struct http_request *req)
{
	if (req->stage == HTTP_STAGE_WAITING)
		return MHD_YES;
	if (req->code == 0)
		http_reply_status(req, CAIRN_OK, NULL); /* a route that forgot to */
	return http_flush(req);
}

static enum MHD_Result http_on_complete(struct http_request *req)
{
	if (req->stage == HTTP_STAGE_LINGER || !http_conn_enter(req->peer, HTTP_CONN_BUSY, 0))
		return MHD_NO;
	req->complete = true;
	if (req->code == 0)
		req->match.route->done(req);
	return http_settle(req);
}

static enum MHD_Result http_on_request(void *cls, struct MHD_Connection *conn, const char *url, const char *method,
				       const char *version, const char *bytes, size_t *n, void **ctx)
{
	struct http_request *req = *ctx;
	(void)cls;
	(void)conn;
	(void)url; /* decoded already, and so of no use: %2F is a slash in it */
	if (!req)
		return MHD_NO; /* without memory for a request there is none for a reply */
	switch (req->stage) {
	case HTTP_STAGE_HEAD:
		return http_on_head(req, method, version);
	case HTTP_STAGE_BODY:
	case HTTP_STAGE_LINGER:
		return *n > 0 ? http_on_body(req, bytes, n) : http_on_complete(req);
	case HTTP_STAGE_WAITING:
		req->stage = HTTP_STAGE_BODY;
		req->resumed(req);
		return http_settle(req);
	case HTTP_STAGE_REPLIED:
		break;
	}
	return MHD_NO;
}

/* However a request ended: the only place that frees one. */
static void http_end(struct http_request *req)
{
	struct http_server *server = req->server;
	req->peer->request = NULL;
	http_tell_end(req);
	if (req->response)
		MHD_destroy_response(req->response);
	http_request_release(req);
	(void)http_conn_enter(req->peer, HTTP_CONN_IDLE, http_idle_deadline_ms(server, http_now_ms()));
	http_request_free(req);
	http_server_end(server);
}

static void http_on_done(void *cls, struct MHD_Connection *conn, void **ctx, enum MHD_RequestTerminationCode why)
{
	struct http_request *req = *ctx;
	(void)cls, (void)conn, (void)why;
	*ctx = NULL;
	if (req)
		http_end(req);
}

/* Its request is told of first, but for one that the library has lost (http_library.c). */
static void http_on_close(struct http_server *server, struct http_conn *peer)
{
	if (peer->request)
		http_end(peer->request);
	http_conns_remove(server->conns, peer);
}

static void http_on_connection(void *cls, struct MHD_Connection *conn, void **socket_ctx,
			       enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = cls;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_ctx)
			http_on_close(server, *socket_ctx);
		*socket_ctx = NULL;
		return;
	}
	int fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*socket_ctx = http_conns_add(server->conns, fd, info ? info->client_addr : NULL,
				     http_first_head_deadline_ms(server, http_now_ms()));
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static void http_on_log(void *cls, const char *fmt, va_list ap) CAIRN_PRINTF(2, 0);

/* Once it runs, the library complains about clients, not about us. */
static void http_on_log(void *cls, const char *fmt, va_list ap)
{
	struct http_server *server = cls;
	char text[512];
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\r\n")] = '\0';
	LOG(atomic_load(&server->started) ? LOG_DEBUG : LOG_ERROR, "http_library", LOG_T("message", text));
}

static void http_on_panic(void *cls, const char *file, unsigned line, const char *reason)
{
	(void)cls;
	LOG(LOG_ERROR, "http_panic", LOG_T("file", file), LOG_N("line", line), LOG_T("reason", reason ? reason : "-"));
	log_flush();
	abort();
}

/* While draining nobody new is let in. (MHD_quiesce_daemon() would stop listening, but takes the socket from each
 * thread's epoll set at the same time as the thread may do so itself, and then aborts the process.) */
static enum MHD_Result http_on_accept(void *cls, const struct sockaddr *address, socklen_t len)
{
	const struct http_server *server = cls;
	(void)address, (void)len;
	return atomic_load(&server->draining) ? MHD_NO : MHD_YES;
}

const char *http_library_version(void)
{
	return MHD_get_version();
}

static void http_tell_version(void)
{
	const char *version = http_library_version();
	if (!http_library_is_known(version))
		LOG(LOG_WARNING, "http_library_version", LOG_T("version", version), LOG_T("known", HTTP_LIBRARY_KNOWN),
		    LOG_T("message", "this version of libmicrohttpd was not tried; run the tests where it matters"));
}

bool http_server_adopt(struct http_server *server, int fd)
{
	const struct sockaddr nobody = {.sa_family = AF_UNIX};
	return MHD_add_connection(server->daemon, fd, &nobody, sizeof(nobody.sa_family)) == MHD_YES;
}

static bool http_start_library(struct http_server *server)
{
	const struct http_server_options *o = &server->options;
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)HTTP_TLS_PRIORITIES},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)o->tls_retrieve},
		{MHD_OPTION_END, 0, NULL},
	};
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG |
			(o->tls_retrieve ? MHD_USE_TLS : 0),
		0, http_on_accept, server, http_on_request, server, MHD_OPTION_EXTERNAL_LOGGER, http_on_log, server,
		MHD_OPTION_LISTEN_SOCKET, o->listen_fd, MHD_OPTION_CONNECTION_LIMIT, o->connections_max,
		MHD_OPTION_THREAD_POOL_SIZE, http_server_threads(server), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		o->head_bytes_max + HTTP_LIBRARY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, o->idle_timeout_s,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK,
		http_on_uri, server, MHD_OPTION_NOTIFY_COMPLETED, http_on_done, server, MHD_OPTION_NOTIFY_CONNECTION,
		http_on_connection, server, MHD_OPTION_ARRAY, o->tls_retrieve ? tls : tls + 2, MHD_OPTION_END);
	return server->daemon != NULL;
}

enum cairn_status http_server_start(struct http_server **out, const struct http_server_options *options,
				    struct cairn_diag *diag)
{
	*out = NULL;
	struct http_server *server = NULL;
	enum cairn_status status = CAIRN_OK;
	if (!http_options_are_valid(options))
		status = cairn_fail(
			diag, CAIRN_E_USAGE, "http.options", CAIRN_NO_OFFSET,
			"connections must be 2 or more, timeouts and bursts 1 s or more, heads 1 KiB to 1 MiB");
	else if (!(server = http_server_new(options)))
		status = CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		if (options->listen_fd >= 0)
			close(options->listen_fd);
		return status;
	}
	assert(server);
	http_tell_version();
	MHD_set_panic_func(http_on_panic, NULL);
	if (!http_start_library(server)) {
		close(options->listen_fd);
		http_server_free(server);
		return cairn_fail(diag, CAIRN_E_NOMEM, "http.start", CAIRN_NO_OFFSET,
				  "the HTTP service cannot start; the log says why");
	}
	atomic_store(&server->started, true);
	if (!http_server_start_ticker(server)) {
		MHD_stop_daemon(server->daemon);
		http_server_free(server);
		return CAIRN_E_NOMEM;
	}
	*out = server;
	return CAIRN_OK;
}

void http_server_drain(struct http_server *server, unsigned timeout_ms)
{
	atomic_store(&server->draining, true);
	http_server_wait(server, timeout_ms);
	atomic_store(&server->drained, true);
}

bool http_server_stop(struct http_server *server, unsigned timeout_ms)
{
	http_server_drain(server, timeout_ms);
	http_server_stop_ticker(server);
	atomic_store(&server->closing, true);
	unsigned n = atomic_load(&server->n_suspended);
	if (n > 0) {
		/* Stopping the library would abort the process. */
		LOG(LOG_ERROR, "http_stop", LOG_T("message", "requests still wait for work that was not finished"),
		    LOG_N("requests", n));
		return false;
	}
	MHD_stop_daemon(server->daemon);
	http_server_free(server);
	return true;
}
