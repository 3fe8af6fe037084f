#include "support/http_fixture.h"

#include "base/workers.h"
#include "server/http/auth.h"
#include "server/http/listen.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { FIXTURE_WAIT_MS = 10000 };

/* Each test has its own state, because Check runs each test in its own process. */
static struct {
	struct http_server *server;
	struct cairn_workers *workers;
	struct listen_address address;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake;
	unsigned n_jobs, n_tickets, n_ticks, n_streams_gone, n_pieces;
	bool gone;
	struct fixture_end end;
	atomic_uint n_states, n_released;
	atomic_bool feed_until_gone;
	_Atomic uint64_t body_bytes;
} fx = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static char fx_context[] = "context";

/* Waits, with the lock held, until *value is at least n. */
static void fixture_await(const unsigned *value, unsigned n)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FIXTURE_WAIT_MS / 1000;
	while (*value < n)
		ck_assert_msg(pthread_cond_timedwait(&fx.wake, &fx.lock, &until) == 0, "waited too long");
}

static void fixture_count(unsigned *value)
{
	pthread_mutex_lock(&fx.lock);
	(*value)++;
	pthread_cond_broadcast(&fx.wake);
	pthread_mutex_unlock(&fx.lock);
}

/* --- routes ----------------------------------------------------------------------------------------------------- */

struct fixture_state {
	struct cairn_work work;
	struct http_request *req;
	struct http_stream *stream;
	uint64_t bytes;
};

static struct fixture_state *fixture_state_new(struct http_request *req)
{
	struct fixture_state *s = calloc(1, sizeof(*s));
	ck_assert_ptr_nonnull(s);
	s->req = req;
	atomic_fetch_add(&fx.n_states, 1);
	http_set_state(req, s);
	return s;
}

static void fixture_state_free(void *state)
{
	atomic_fetch_sub(&fx.n_states, 1);
	free(state);
}

static void fixture_head(struct http_request *req)
{
	(void)fixture_state_new(req);
}

static void fixture_release_count(void *ctx)
{
	ck_assert_ptr_eq(ctx, fx_context);
	atomic_fetch_add(&fx.n_released, 1);
}

static bool fixture_add_value(void *ctx, const char *value)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, 256 - at, "(%s)", value);
	return strcmp(value, "stop") != 0;
}

static void route_echo(struct http_request *req)
{
	char json[1024], all[256] = "", base[128];
	const char *first = http_query_arg(req, "x");
	http_query_each(req, "x", fixture_add_value, all);
	http_base_url(req, base, sizeof(base));
	(void)snprintf(json, sizeof(json), "%s|%s|%s|%s|%s|%s|%d|%s", http_path_arg(req, "one"),
		       http_path_arg(req, "two"), first ? first : "-", all, base,
		       http_header(req, "x-custom") ? http_header(req, "x-custom") : "-", (int)http_method(req),
		       http_identity(req)->subject);
	http_reply_header(req, "X-Added", "value");
	http_reply_json(req, 200, json);
}

/* Adds FIXTURE_HEADERS headers, each longer than the one before. */
static void route_headers(struct http_request *req)
{
	for (int i = 0; i < FIXTURE_HEADERS; i++) {
		char name[32], value[64];
		(void)snprintf(name, sizeof(name), "X-Added-%d", i);
		(void)snprintf(value, sizeof(value), "%0*d", 10 + 2 * i, i);
		http_reply_header(req, name, value);
	}
	http_reply_empty(req, 204, UINT64_MAX);
}

static void route_bytes(struct http_request *req)
{
	static const uint8_t BYTES[] = {'a', 0, 'b'};
	http_reply_bytes(req, 206, "application/octet-stream", BYTES, sizeof(BYTES), fixture_release_count, fx_context);
}

static void route_file(struct http_request *req)
{
	FILE *f = tmpfile();
	ck_assert_ptr_nonnull(f);
	ck_assert_int_gt(fprintf(f, "0123456789"), 0);
	ck_assert_int_eq(fflush(f), 0);
	int fd = dup(fileno(f));
	(void)fclose(f);
	http_reply_file(req, 206, "application/octet-stream", fd, 3, 4);
}

static ssize_t fixture_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	ck_assert_ptr_eq(ctx, fx_context);
	size_t n = max < 1000 ? max : 1000;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)('a' + (pos + i) % 26);
	return (ssize_t)n;
}

static void route_reader(struct http_request *req)
{
	http_reply_reader(req, 206, "multipart/byteranges", 30000, fixture_read, fixture_release_count, fx_context);
}

static ssize_t fixture_read_failing(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	return pos < 1000 ? fixture_read(ctx, pos, out, max) : -1;
}

static void route_broken_reader(struct http_request *req)
{
	http_reply_reader(req, 200, "text/plain", 30000, fixture_read_failing, fixture_release_count, fx_context);
}

static void route_size(struct http_request *req)
{
	http_reply_empty(req, 200, (uint64_t)5 << 40);
}

static void route_empty(struct http_request *req)
{
	http_reply_empty(req, (unsigned)strtoul(http_path_arg(req, "code"), NULL, 10), UINT64_MAX);
}

static void route_status(struct http_request *req)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = (enum cairn_status) - (int)strtol(http_path_arg(req, "n"), NULL, 10);
	(void)cairn_fail(&diag, status, "rule.name", 7, "a \"text\"");
	cairn_diag_values(&diag, "more", "less");
	http_reply_status(req, status, &diag);
}

static void route_forgetful(struct http_request *req)
{
	(void)req;
}

static uint64_t fixture_body_max(void *app)
{
	ck_assert_ptr_eq(app, &fx);
	return FIXTURE_BODY_MAX;
}

static void route_take(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct fixture_state *s = http_state(req);
	ck_assert(len > 0 && bytes[0] == 'x' && bytes[len - 1] == 'x');
	s->bytes += len;
	atomic_fetch_add(&fx.body_bytes, len);
	fixture_count(&fx.n_pieces);
}

static void route_taken(struct http_request *req)
{
	const struct fixture_state *s = http_state(req);
	char json[100];
	(void)snprintf(json, sizeof(json), "{\"bytes\":%llu,\"length\":%lld}", (unsigned long long)s->bytes,
		       (long long)http_content_length(req));
	http_reply_json(req, 200, json);
}

static void route_no_head(struct http_request *req)
{
	(void)fixture_state_new(req);
	http_reply_error(req, 403, "no", "not today", NULL);
}

static void route_no_midway(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct fixture_state *s = http_state(req);
	(void)bytes;
	s->bytes += len;
	atomic_fetch_add(&fx.body_bytes, len);
	fixture_count(&fx.n_pieces);
	if (s->bytes <= 10)
		return;
	http_reply_header(req, "X-Added", "midway");
	http_reply_status(req, CAIRN_E_FORMAT, NULL);
}

static void fixture_job_wait(void)
{
	fixture_count(&fx.n_jobs);
	pthread_mutex_lock(&fx.lock);
	fixture_await(&fx.n_tickets, 1);
	fx.n_tickets--;
	pthread_mutex_unlock(&fx.lock);
}

static void fixture_job(struct cairn_work *work)
{
	struct fixture_state *s = (struct fixture_state *)work;
	fixture_job_wait();
	s->bytes++;
	bool gone = http_client_gone(s->req);
	pthread_mutex_lock(&fx.lock);
	fx.gone = gone;
	pthread_mutex_unlock(&fx.lock);
	http_resume(s->req);
}

static void fixture_resumed_twice(struct http_request *req)
{
	struct fixture_state *s = http_state(req);
	s->bytes++;
	route_taken(req);
}

static void fixture_resumed(struct http_request *req)
{
	struct fixture_state *s = http_state(req);
	if (strcmp(http_path_arg(req, "times"), "2") != 0) {
		route_taken(req);
		return;
	}
	if (!http_suspend(req, fixture_resumed_twice))
		return;
	ck_assert_int_eq(cairn_workers_submit(fx.workers, &s->work), CAIRN_OK);
}

static void route_wait(struct http_request *req)
{
	struct fixture_state *s = http_state(req);
	s->work.run = fixture_job;
	if (!http_suspend(req, fixture_resumed))
		return;
	ck_assert_int_eq(cairn_workers_submit(fx.workers, &s->work), CAIRN_OK);
}

/* Simulates a route that found the queue full: suspends the request and resumes it at once, on the same thread. */
static void route_no_worker(struct http_request *req)
{
	if (http_suspend(req, route_taken))
		http_resume(req);
}

static void fixture_feed(struct cairn_work *work)
{
	struct fixture_state *s = (struct fixture_state *)work;
	struct http_stream *stream = s->stream;
	bool ok = true;
	char frame[32];
	for (int i = 0; ok && (i < 3 || atomic_load(&fx.feed_until_gone)); i++) {
		if (i < 3)
			fixture_job_wait();
		(void)snprintf(frame, sizeof(frame), "{\"frame\":%d}\n", i);
		ok = http_stream_frame(stream, frame, strlen(frame));
	}
	http_stream_finish(stream, "{\"last\":true}\n", 14);
	if (!ok)
		fixture_count(&fx.n_streams_gone);
	free(s);
}

static void route_stream(struct http_request *req)
{
	struct fixture_state *s = calloc(1, sizeof(*s)); /* owned by the feeder, because the request may end first */
	ck_assert_ptr_nonnull(s);
	s->work.run = fixture_feed;
	s->stream = http_reply_stream(req, "application/x-ndjson");
	ck_assert_ptr_nonnull(s->stream);
	ck_assert_int_eq(cairn_workers_submit(fx.workers, &s->work), CAIRN_OK);
}

static const struct http_route ROUTES_PLAIN[] = {
	{.method = "GET", .pattern = "/echo/{one}/{two}", .name = "echo", .done = route_echo},
	{.method = "GET", .pattern = "/secret", .name = "secret", .scope = CAIRN_TOKEN_READ, .done = route_bytes},
	{.method = "GET", .pattern = "/headers", .name = "headers", .done = route_headers},
	{.method = "GET", .pattern = "/bytes", .name = "bytes", .done = route_bytes},
	{.method = "GET", .pattern = "/file", .name = "file", .done = route_file},
	{.method = "GET", .pattern = "/reader", .name = "reader", .done = route_reader},
	{.method = "GET", .pattern = "/broken-reader", .name = "broken", .done = route_broken_reader},
	{.method = "HEAD", .pattern = "/size", .name = "size", .done = route_size},
	{.method = "GET", .pattern = "/empty/{code}", .name = "empty", .done = route_empty},
	{.method = "GET", .pattern = "/status/{n}", .name = "status", .done = route_status},
	{.method = "GET", .pattern = "/forgetful", .name = "forgetful", .done = route_forgetful},
	{.method = NULL},
};

#define FIXTURE_STATEFUL .head = fixture_head, .free = fixture_state_free

static const struct http_route ROUTES_STATEFUL[] = {
	{.method = "POST",
	 .pattern = "/upload",
	 .name = "upload",
	 .body_max_of = fixture_body_max,
	 FIXTURE_STATEFUL,
	 .body = route_take,
	 .done = route_taken},
	{.method = "POST",
	 .pattern = "/big",
	 .name = "big",
	 .body_max = FIXTURE_BIG_MAX,
	 FIXTURE_STATEFUL,
	 .body = route_take,
	 .done = route_taken},
	{.method = "POST",
	 .pattern = "/no-head",
	 .name = "no-head",
	 .body_max = FIXTURE_BIG_MAX,
	 .head = route_no_head,
	 .body = route_take,
	 .done = route_taken,
	 .free = fixture_state_free},
	{.method = "POST",
	 .pattern = "/no-midway",
	 .name = "no-midway",
	 .body_max = FIXTURE_BIG_MAX,
	 FIXTURE_STATEFUL,
	 .body = route_no_midway,
	 .done = route_taken},
	{.method = "GET", .pattern = "/wait/{times}", .name = "wait", FIXTURE_STATEFUL, .done = route_wait},
	{.method = "GET", .pattern = "/no-worker", .name = "no-worker", FIXTURE_STATEFUL, .done = route_no_worker},
	{.method = "GET", .pattern = "/stream", .name = "stream", .done = route_stream},
	{.method = NULL},
};

static const struct http_route *const ROUTES[] = {ROUTES_PLAIN, ROUTES_STATEFUL, NULL};

/* --- service ---------------------------------------------------------------------------------------------------- */

static bool fixture_authorise(void *app, const char *authorization, unsigned scope, struct auth_identity *out,
			      unsigned *code, struct cairn_diag *diag)
{
	ck_assert_ptr_eq(app, &fx);
	(void)snprintf(out->subject, sizeof(out->subject), "%s", "somebody");
	if (scope == 0 || (authorization && strcmp(authorization, "Bearer good") == 0))
		return true;
	*code = authorization ? 403 : 401;
	(void)cairn_fail(diag, CAIRN_E_DENIED, "token.missing", CAIRN_NO_OFFSET, "no token");
	return false;
}

static void fixture_ended(void *app, const struct http_request *req, const struct http_summary *s)
{
	ck_assert_ptr_eq(app, &fx);
	pthread_mutex_lock(&fx.lock);
	unsigned n = fx.end.n;
	fx.end = (struct fixture_end){
		.n = n + 1, .code = s->code, .request_bytes = s->request_bytes, .reply_bytes = s->reply_bytes};
	(void)snprintf(fx.end.method, sizeof(fx.end.method), "%s", s->method);
	(void)snprintf(fx.end.target, sizeof(fx.end.target), "%s", s->target);
	(void)snprintf(fx.end.route, sizeof(fx.end.route), "%s", s->route);
	(void)snprintf(fx.end.address, sizeof(fx.end.address), "%s", s->address);
	(void)snprintf(fx.end.session_id, sizeof(fx.end.session_id), "%s", s->session_id ? s->session_id : "-");
	(void)snprintf(fx.end.user_agent, sizeof(fx.end.user_agent), "%s", s->user_agent ? s->user_agent : "-");
	(void)snprintf(fx.end.request_id, sizeof(fx.end.request_id), "%s", http_request_id(req));
	pthread_cond_broadcast(&fx.wake);
	pthread_mutex_unlock(&fx.lock);
}

static void fixture_tick(void *app)
{
	ck_assert_ptr_eq(app, &fx);
	fixture_count(&fx.n_ticks);
}

struct http_server_options fixture_options(void)
{
	return (struct http_server_options){
		.connections_max = 64,
		.connections_per_address_max = 64,
		.idle_timeout_s = 30,
		.head_timeout_s = 30,
		.request_timeout_s = 30,
		.head_bytes_max = FIXTURE_HEAD_MAX,
		.routes = ROUTES,
		.app = &fx,
		.authorise = fixture_authorise,
		.ended = fixture_ended,
		.tick = fixture_tick,
	};
}

void fixture_start(const struct http_server_options *options)
{
	struct http_server_options o = *options;
	struct cairn_diag diag = {0};
	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(listen_parse("127.0.0.1:0", &fx.address, NULL), CAIRN_OK);
	ck_assert_int_eq(listen_open(&fx.address, &o.listen_fd, NULL), CAIRN_OK);
	ck_assert_int_eq(listen_address_of(o.listen_fd, &fx.address), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_new(&fx.workers, "test", 4, 0, 64), CAIRN_OK);
	ck_assert_msg(http_server_start(&fx.server, &o, &diag) == CAIRN_OK, "%s", diag.text);
}

struct http_server *fixture_server(void)
{
	return fx.server;
}

void fixture_stop(void)
{
	http_server_drain(fx.server, 0);
	cairn_workers_free(fx.workers);
	ck_assert(http_server_stop(fx.server, FIXTURE_WAIT_MS));
	ck_assert_uint_eq(atomic_load(&fx.n_states), 0);
}

void fixture_release(void)
{
	fixture_count(&fx.n_tickets);
}

void fixture_feed_until_gone(void)
{
	atomic_store(&fx.feed_until_gone, true);
}

static void fixture_await_count(const unsigned *value, unsigned n)
{
	pthread_mutex_lock(&fx.lock);
	fixture_await(value, n);
	pthread_mutex_unlock(&fx.lock);
}

void fixture_await_job(void)
{
	pthread_mutex_lock(&fx.lock);
	fixture_await(&fx.n_jobs, 1);
	fx.n_jobs--;
	pthread_mutex_unlock(&fx.lock);
}

struct fixture_end fixture_await_end(unsigned n)
{
	fixture_await_count(&fx.end.n, n);
	pthread_mutex_lock(&fx.lock);
	struct fixture_end end = fx.end;
	pthread_mutex_unlock(&fx.lock);
	return end;
}

void fixture_await_pieces(unsigned n)
{
	fixture_await_count(&fx.n_pieces, n);
}

void fixture_await_tick(void)
{
	pthread_mutex_lock(&fx.lock);
	fixture_await(&fx.n_ticks, fx.n_ticks + 1);
	pthread_mutex_unlock(&fx.lock);
}

void fixture_await_stream_gone(void)
{
	fixture_await_count(&fx.n_streams_gone, 1);
}

unsigned fixture_states(void)
{
	return atomic_load(&fx.n_states);
}

unsigned fixture_released(void)
{
	return atomic_load(&fx.n_released);
}

uint64_t fixture_body_bytes(void)
{
	return atomic_load(&fx.body_bytes);
}

bool fixture_said_gone(void)
{
	pthread_mutex_lock(&fx.lock);
	bool gone = fx.gone;
	pthread_mutex_unlock(&fx.lock);
	return gone;
}

/* --- client ----------------------------------------------------------------------------------------------------- */

int client_connect(void)
{
	int fd = socket(fx.address.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = {.tv_sec = FIXTURE_WAIT_MS / 1000};
	const struct sockaddr_storage to = fx.address.addr;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, fx.address.len), 0);
	return fd;
}

void client_send_bytes(int fd, const char *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, bytes + at, len - at, MSG_NOSIGNAL);
		ck_assert_int_gt(n, 0);
		at += (size_t)n;
	}
}

void client_send(int fd, const char *text)
{
	client_send_bytes(fd, text, strlen(text));
}

size_t client_send_fill(int fd, size_t n)
{
	char block[8192];
	memset(block, 'x', sizeof(block));
	size_t at = 0;
	while (at < n) {
		ssize_t k = send(fd, block, n - at < sizeof(block) ? n - at : sizeof(block), MSG_NOSIGNAL);
		if (k <= 0)
			break;
		at += (size_t)k;
	}
	return at;
}

static char client_byte(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);
	ck_assert_msg(n == 1, "the connection ended within a reply, or nothing came: %zd, errno %d", n, errno);
	return c;
}

static void client_line(int fd, char *out, size_t size)
{
	size_t n = 0;
	do {
		ck_assert_uint_lt(n + 1, size);
		out[n++] = client_byte(fd);
	} while (n < 2 || out[n - 2] != '\r' || out[n - 1] != '\n');
	out[n] = '\0';
}

static void client_body(int fd, struct client_reply *reply, size_t n)
{
	ck_assert_uint_lt(reply->len + n, sizeof(reply->body));
	while (n-- > 0)
		reply->body[reply->len++] = client_byte(fd);
	reply->body[reply->len] = '\0';
}

static void client_chunks(int fd, struct client_reply *reply)
{
	char line[128];
	for (;;) {
		client_line(fd, line, sizeof(line));
		size_t n = strtoul(line, NULL, 16);
		client_body(fd, reply, n);
		client_line(fd, line, sizeof(line));
		ck_assert_str_eq(line, "\r\n");
		if (n == 0)
			return;
	}
}

void client_read(int fd, struct client_reply *reply, const char *method)
{
	size_t at = 0;
	memset(reply, 0, sizeof(*reply));
	do {
		size_t start = at;
		client_line(fd, reply->head + at, sizeof(reply->head) - at);
		at = strlen(reply->head);
		if (strcmp(reply->head + start, "\r\n") == 0)
			break;
	} while (true);
	ck_assert(strncmp(reply->head, "HTTP/1.1 ", 9) == 0 || strncmp(reply->head, "HTTP/1.0 ", 9) == 0);
	reply->code = (unsigned)strtoul(reply->head + 9, NULL, 10);
	if (strcmp(method, "HEAD") == 0 || reply->code == 204 || reply->code == 304 || reply->code < 200)
		return;
	const char *length = client_header(reply, "Content-Length");
	if (length)
		client_body(fd, reply, strtoul(length, NULL, 10));
	else
		client_chunks(fd, reply);
}

void client_ask(struct client_reply *reply, const char *method, const char *text)
{
	int fd = client_connect();
	client_send(fd, text);
	client_read(fd, reply, method);
	close(fd);
}

const char *client_header(const struct client_reply *reply, const char *name)
{
	static char value[1024];
	size_t len = strlen(name);
	for (const char *p = strstr(reply->head, "\r\n"); p && p[2]; p = strstr(p + 2, "\r\n")) {
		const char *line = p + 2;
		if (strncasecmp(line, name, len) != 0 || line[len] != ':')
			continue;
		(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(line + len + 2, "\r"), line + len + 2);
		return value;
	}
	return NULL;
}

void client_read_until(int fd, const char *text)
{
	size_t len = strlen(text), matched = 0;
	while (matched < len) {
		char c = client_byte(fd);
		matched = c == text[matched] ? matched + 1 : c == text[0];
	}
}

size_t client_await_close(int fd)
{
	char block[4096];
	size_t total = 0;
	ssize_t n;
	while ((n = recv(fd, block, sizeof(block), 0)) > 0)
		total += (size_t)n;
	ck_assert_msg(n == 0 || errno == ECONNRESET, "the connection was not closed: errno %d", errno);
	close(fd);
	return total;
}

void client_reset(int fd)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close(fd);
}

bool client_is_open(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
	return poll(&p, 1, 0) == 0;
}
