/* Connects the service to libmicrohttpd: runs its daemons, and handles its callbacks through a request's life.
 * http_library.c lists the library's bugs and the workarounds. */
#include "server/http/http.h"

#include "hash/hash.h"
#include "server/http/http_accept.h"
#include "server/http/http_gate.h"
#include "server/http/http_library.h"
#include "server/http/http_reply.h"
#include "server/http/http_server.h"
#include "server/log/log.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HTTP_LIBRARY_BYTES = 4096, /* memory of a connection besides the head: bookkeeping, and the reply's head */
};

static const char HTTP_TLS_PRIORITIES[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

/* --- a request's life --------------------------------------------------------------------------------------------- */

static struct http_conn *http_peer_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* Called after the request line. The returned pointer becomes the context of all further calls. */
static void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
	struct http_thread *thread = cls;
	struct http_conn *peer = http_peer_of(conn);
	struct http_request *req = peer ? http_request_new(peer, uri) : NULL;
	if (!req)
		return NULL;
	peer->request = req;
	req->server = thread->server;
	req->thread = thread;
	req->conn = conn;
	req->started_us = http_now_us();
	req->body_limit = HTTP_DRAIN_BYTES_MAX;
	(void)http_conn_enter(peer, HTTP_CONN_HEAD, http_head_deadline_ms(req, req->started_us / 1000));
	http_thread_begin_request(thread);
	return req;
}

/* Decodes each "%" that is followed by two hexadecimal digits. Versions of the library differ in how they treat any
 * other "%". Nearly all texts have no "%", and are not scanned byte by byte. */
static size_t http_unescape(void *cls, struct MHD_Connection *conn, char *text)
{
	char *to = strchrnul(text, '%');
	(void)cls;
	(void)conn;
	for (const char *from = to; *from; to++) {
		uint8_t byte;
		if (*from == '%' && from[1] && cairn_hex_parse(&byte, 1, from + 1, 2) == CAIRN_OK) {
			*to = (char)byte;
			from += 3;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

static void http_drop_response(struct http_request *req)
{
	if (req->response && !req->response_is_kept)
		MHD_destroy_response(req->response);
	req->response = NULL;
}

/* Hands the reply to the library. */
static enum MHD_Result http_flush(struct http_request *req)
{
	enum MHD_Result ok = MHD_NO;
	if (req->response && http_conn_enter(req->peer, HTTP_CONN_REPLY, http_reply_deadline_ms(req, http_now_ms())))
		ok = MHD_queue_response(req->conn, req->code, req->response);
	http_drop_response(req);
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

/* Calls head() of the route. */
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

/* Handles the library's first call for a request: the head is complete, the body has not begun. */
static enum MHD_Result http_on_head(struct http_request *req, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(req->conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct http_head head = {0};
	struct http_gate_answer answer;
	if (http_conn_phase(req->peer) == HTTP_CONN_CUT)
		return MHD_NO; /* from here on the sweeper does not read the connection's request_id */
	size_t head_bytes = info ? info->header_size : 0;
	if (req->server->library_is_lax)
		http_lines_begin(&head.lines, method, req->target, req->target_len, version);
	MHD_get_connection_values_n(req->conn, MHD_HEADER_KIND, http_on_header, &head);
	http_lines_end(&head.lines, method, head_bytes);
	if (http_gate(req, &head, method, version, head_bytes, &answer))
		http_enter(req);
	else
		http_turn_away(req, &answer);
	/* A reply now closes the connection. That is wanted if the connection is out of sync, or if an unwanted body
	 * would have to be read otherwise. */
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

/* Passes a piece of the body to the route, or refuses one that exceeds the limit. */
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

/* Leaves one byte of the body with the library while the body is held. Otherwise the library, although the connection
 * is suspended, could pass on the next chunk, which it may have read already. When the library passes that byte on
 * again, http_on_body() skips it. */
static size_t http_left_over(struct http_request *req)
{
	req->is_ahead = req->body_len == UINT64_MAX && atomic_load(&req->held);
	return req->is_ahead ? 1 : 0;
}

static enum MHD_Result http_on_body(struct http_request *req, const char *bytes, size_t *n)
{
	size_t len = *n - req->is_ahead;
	bytes += req->is_ahead;
	req->is_ahead = false;
	*n = 0; /* all bytes are taken: leaving some without a suspension can hang the connection */
	if (len == 0)
		return MHD_YES;
	req->received += len;
	if (req->stage == HTTP_STAGE_LINGER)
		return http_linger(req);
	if (!http_conn_enter(req->peer, HTTP_CONN_BODY, http_body_deadline_ms(req)))
		return MHD_NO;
	if (req->code == 0)
		http_take_body(req, bytes, len);
	if (req->stage == HTTP_STAGE_LINGER)
		return http_linger(req);
	*n = http_left_over(req);
	return req->received > req->body_limit ? MHD_NO : MHD_YES;
}

/* Sends the reply unless the request waits. Called after done() or resumed(). */
static enum MHD_Result http_flush_unless_waiting(struct http_request *req)
{
	if (req->stage == HTTP_STAGE_WAITING)
		return MHD_YES;
	if (req->code == 0)
		http_reply_status(req, CAIRN_OK, NULL); /* the route forgot to reply */
	return http_flush(req);
}

static enum MHD_Result http_on_complete(struct http_request *req)
{
	if (req->stage == HTTP_STAGE_LINGER || !http_conn_enter(req->peer, HTTP_CONN_BUSY, 0))
		return MHD_NO;
	req->complete = true;
	if (req->code == 0)
		req->match.route->done(req);
	return http_flush_unless_waiting(req);
}

static enum MHD_Result http_on_request(void *cls, struct MHD_Connection *conn, const char *url, const char *method,
				       const char *version, const char *bytes, size_t *n, void **ctx)
{
	struct http_request *req = *ctx;
	(void)cls;
	(void)conn;
	(void)url; /* useless: url is already decoded, so that a %2F looks like a slash */
	if (!req)
		return MHD_NO; /* without memory for a request there is none for a reply */
	if (atomic_load(&req->held))
		return MHD_YES; /* this call takes no bytes */
	switch (req->stage) {
	case HTTP_STAGE_HEAD:
		return http_on_head(req, method, version);
	case HTTP_STAGE_BODY:
	case HTTP_STAGE_LINGER:
		return *n > 0 ? http_on_body(req, bytes, n) : http_on_complete(req);
	case HTTP_STAGE_WAITING:
		req->stage = HTTP_STAGE_BODY;
		req->resumed(req);
		return http_flush_unless_waiting(req);
	case HTTP_STAGE_REPLIED:
		break;
	}
	return MHD_NO;
}

/* Ends a request, in whatever state it is. Requests are freed here only. */
static void http_end(struct http_request *req)
{
	struct http_thread *thread = req->thread;
	int64_t now_us = http_now_us();
	req->peer->request = NULL;
	http_report_end(req, now_us);
	http_drop_response(req);
	http_request_release(req);
	if (req->reply_release)
		req->reply_release(req->reply_ctx);
	http_waits_give(&req->server->waits, &req->place);
	(void)http_conn_enter(req->peer, HTTP_CONN_IDLE, http_idle_deadline_ms(thread->server, now_us / 1000));
	http_request_free(req);
	http_thread_end_request(thread);
}

static void http_on_done(void *cls, struct MHD_Connection *conn, void **ctx, enum MHD_RequestTerminationCode why)
{
	struct http_request *req = *ctx;
	(void)cls, (void)conn, (void)why;
	*ctx = NULL;
	if (req)
		http_end(req);
}

/* Ends the connection's request if the library lost it (http_library.c). It reports the end of all others before. */
static void http_on_close(struct http_server *server, struct http_conn *peer)
{
	if (peer->request)
		http_end(peer->request);
	http_conns_remove(server->conns, peer);
}

static void http_on_connection(void *cls, struct MHD_Connection *conn, void **socket_ctx,
			       enum MHD_ConnectionNotificationCode code)
{
	struct http_thread *thread = cls;
	struct http_server *server = thread->server;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_ctx)
			http_on_close(server, *socket_ctx);
		*socket_ctx = NULL;
		http_thread_closed(thread);
		return;
	}
	http_thread_begins(thread);
	int fd = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*socket_ctx = http_conns_add(server->conns, fd, info ? info->client_addr : NULL,
				     http_first_head_deadline_ms(server, http_now_ms()));
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static void http_on_log(void *cls, const char *fmt, va_list ap) CAIRN_PRINTF(2, 0);

/* Logs the library's messages. While the library runs, these are about clients, not about this server. */
static void http_on_log(void *cls, const char *fmt, va_list ap)
{
	struct http_server *server = cls;
	enum log_level level = atomic_load(&server->started) ? LOG_DEBUG : LOG_ERROR;
	char text[512];
	if (!log_writes(level))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\r\n")] = '\0';
	LOG(level, "http_library", LOG_T("message", text));
}

static void http_on_panic(void *cls, const char *file, unsigned line, const char *reason)
{
	(void)cls;
	LOG(LOG_ERROR, "http_panic", LOG_T("file", file), LOG_N("line", line), LOG_T("reason", reason ? reason : "-"));
	log_flush();
	abort();
}

const char *http_library_version(void)
{
	return MHD_get_version();
}

static void http_judge_version(struct http_server *server)
{
	const char *version = http_library_version();
	server->library_is_lax = strcmp(version, HTTP_LIBRARY_DEBIAN_12) == 0;
	if (!http_library_is_tested(version))
		LOG(LOG_WARNING, "http_library_version", LOG_T("version", version), LOG_T("known", HTTP_LIBRARY_TESTED),
		    LOG_T("message", "this version of libmicrohttpd was not tried; run the tests where it matters"));
}

bool http_server_hand_over(struct http_thread *thread, int fd, const struct sockaddr *address, socklen_t len)
{
	if (!http_thread_take_slot(thread)) {
		(void)close(fd);
		return false;
	}
	if (MHD_add_connection(thread->daemon, fd, address, len) == MHD_YES)
		return true;
	http_thread_give_slot(thread); /* the library has closed the socket */
	return false;
}

/* Starts one daemon of the library per thread. A pool of the library would assign connections to threads by itself. */
static bool http_start_thread(struct http_thread *thread)
{
	struct http_server *server = thread->server;
	const struct http_server_options *o = &server->options;
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)HTTP_TLS_PRIORITIES},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)o->tls_retrieve},
		{MHD_OPTION_END, 0, NULL},
	};
	thread->miss = http_kept_empty_new(404);
	if (!thread->miss)
		return false;
	thread->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
			MHD_USE_ERROR_LOG | (o->tls_retrieve ? MHD_USE_TLS : 0),
		0, NULL, NULL, http_on_request, server, MHD_OPTION_EXTERNAL_LOGGER, http_on_log, server,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)(HTTP_THREAD_CONNS + HTTP_THREAD_CONNS_SPARE),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->head_bytes_max + HTTP_LIBRARY_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, o->idle_timeout_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_UNESCAPE_CALLBACK, http_unescape, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, http_on_uri, thread, MHD_OPTION_NOTIFY_COMPLETED, http_on_done, server,
		MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, thread, MHD_OPTION_ARRAY,
		o->tls_retrieve ? tls : tls + 2, MHD_OPTION_END);
	return thread->daemon != NULL;
}

static void http_stop_threads(struct http_server *server)
{
	for (unsigned i = 0; i < server->n_threads; i++) {
		if (server->threads[i].daemon)
			MHD_stop_daemon(server->threads[i].daemon);
		http_kept_free(server->threads[i].miss);
	}
}

static bool http_start_threads(struct http_server *server)
{
	for (unsigned i = 0; i < server->n_threads; i++)
		if (!http_start_thread(&server->threads[i])) {
			http_stop_threads(server);
			return false;
		}
	return true;
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
	http_judge_version(server);
	MHD_set_panic_func(http_on_panic, NULL);
	if (!http_start_threads(server)) {
		close(options->listen_fd);
		http_server_free(server);
		return cairn_fail(diag, CAIRN_E_NOMEM, "http.start", CAIRN_NO_OFFSET,
				  "the HTTP service cannot start; the log says why");
	}
	atomic_store(&server->started, true);
	if (!http_accept_start(server, http_server_hand_over) || !http_server_start_ticker(server)) {
		http_accept_stop(server);
		http_stop_threads(server);
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
	http_waits_stop(&server->waits);
}

bool http_server_stop(struct http_server *server, unsigned timeout_ms)
{
	http_server_drain(server, timeout_ms);
	http_server_stop_ticker(server);
	atomic_store(&server->closing, true);
	unsigned n = atomic_load(&server->n_suspended);
	if (n > 0) {
		/* Exit without stopping the library, which would abort the process. */
		LOG(LOG_ERROR, "http_stop", LOG_T("message", "requests still wait for work that was not finished"),
		    LOG_N("requests", n));
		return false;
	}
	http_accept_stop(server);
	http_stop_threads(server);
	http_server_free(server);
	return true;
}
