/* Requests that the HTTP service refuses, how it refuses them, and its timeouts. */
#include "server/http/http_library.h"

#include "support/http_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct client_reply reply;

static void setup(void)
{
	struct http_server_options o = fixture_options();
	fixture_start(&o);
}

/* Checks a refusal: it names its rule, in one common form. */
static void must_refuse(unsigned code, const char *rule)
{
	char start[100];
	(void)snprintf(start, sizeof(start), "{\"error\":{\"code\":\"%s\",\"message\":\"", rule);
	ck_assert_uint_eq(reply.code, code);
	ck_assert_msg(strncmp(reply.body, start, strlen(start)) == 0, "%s", reply.body);
	ck_assert_str_eq(client_header(&reply, "Content-Type"), "application/json");
	ck_assert_ptr_nonnull(client_header(&reply, "X-Request-Id"));
}

static bool is_closed_without_a_reply(int fd)
{
	char c;
	return recv(fd, &c, 1, MSG_PEEK) == 0;
}

/* Sends a request whose refusal also closes the connection. Versions of the library from 1.0 on refuse some requests by
 * themselves, with a page or by closing the connection. */
static void must_refuse_bytes(const char *request, size_t len, unsigned code, const char *rule)
{
	bool may_refuse_itself = strcmp(http_library_version(), HTTP_LIBRARY_DEBIAN_12) != 0;
	int fd = client_connect();
	client_send_bytes(fd, request, len);
	if (may_refuse_itself && is_closed_without_a_reply(fd)) {
		close(fd);
		return;
	}
	client_read(fd, &reply, "POST");
	if (may_refuse_itself && strncmp(reply.body, "<html>", 6) == 0)
		ck_assert_uint_eq(reply.code / 100, 4);
	else
		must_refuse(code, rule);
	ck_assert_str_eq(client_header(&reply, "Connection"), "close");
	ck_assert_uint_eq(client_await_close(fd), 0);
}

static void must_refuse_and_close(const char *request, unsigned code, const char *rule)
{
	must_refuse_bytes(request, strlen(request), code, rule);
}

static void post(int fd, const char *path, size_t announced)
{
	char head[200];
	(void)snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path,
		       announced);
	client_send(fd, head);
}

START_TEST(heads_that_two_parsers_read_in_two_ways)
{
	static const struct {
		const char *request;
		unsigned code;
		const char *rule;
	} CASES[] = {
		{"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400,
		 "http.framing"},
		{"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
		 "http.framing"},
		{"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n", 400,
		 "http.framing"},
		{"POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "http.transfer_encoding"},
		{"POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501,
		 "http.transfer_encoding"},
		{"GET /secret HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nAuthorization: Bearer bad\r\n\r\n",
		 400, "http.authorization"},
		{"GET /bytes HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400, "http.host"},
		{"GET /bytes HTTP/1.1\r\nHost: h/x\r\n\r\n", 400, "http.host"},
		{"GET /bytes HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\n", 400, "http.header"},
		{"GET http://h/bytes HTTP/1.1\r\nHost: h\r\n\r\n", 400, "http.target"},
		{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400, "http.target"},
		{"GET /echo/a/b?x=1%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "http.target"},
		{"POST /upload HTTP/1.1\r\nHost: h\r\nExpect: a-miracle\r\nContent-Length: 1\r\n\r\n", 417,
		 "http.expect"},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		must_refuse_and_close(CASES[i].request, CASES[i].code, CASES[i].rule);
	fixture_stop();
	ck_assert_uint_eq(fixture_released(), 0); /* the request reached no route */
}
END_TEST

/* Each line must end with CR LF, and no byte may be zero. */
START_TEST(heads_with_wrong_line_ends_are_refused)
{
#define BYTES(text)                                                                                                    \
	{                                                                                                              \
		text, sizeof(text) - 1                                                                                 \
	}
	static const struct {
		const char *bytes;
		size_t len;
	} CASES[] = {
		BYTES("GET /bytes HTTP/1.1\nHost: h\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\r\n\n"),
		BYTES("GET /bytes HTTP/1.1\nHost: h\n\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nX: y\r\n \r\nHost: h\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nX: y\r\n z\nHost: h\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\r\nX: y\n z\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\r\nX: y\0z\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\r\nX: y\0\r\n\r\n"),
		BYTES("GET /bytes HTTP/1.1\r\nHost: h\r\n\0X: y\r\n\r\n"),
		BYTES("GET /bytes\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
		BYTES("GET /bytes\0/x?y HTTP/1.1\r\nHost: h\r\n\r\n"),
		BYTES("GET /bytes?x=\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
		BYTES("GET\0X /bytes HTTP/1.1\r\nHost: h\r\n\r\n"),
	};
#undef BYTES
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		must_refuse_bytes(CASES[i].bytes, CASES[i].len, 400, "http.line");
	client_ask(&reply, "GET", "GET /bytes?a=%41&b HTTP/1.1\r\nHost:h\r\nX:\r\nY: z \t\r\nCookie: a=b; c\r\n\r\n");
	ck_assert_uint_eq(reply.code, 206);
	client_ask(&reply, "GET", "GET /bytes HTTP/1.0\r\n\r\n");
	ck_assert_uint_eq(reply.code, 206);
	fixture_stop();
}
END_TEST

/* A head that the library itself refuses counts as a request without a code, and no state of it remains. */
START_TEST(heads_that_the_library_refuses)
{
	static const char *const REQUESTS[] = {
		"GET /bytes HTTP/1.1\r\n\r\n",
		"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
		"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nxx\r\n",
	};
	for (unsigned i = 0; i < sizeof(REQUESTS) / sizeof(REQUESTS[0]); i++) {
		int fd = client_connect();
		client_send(fd, REQUESTS[i]);
		(void)client_await_close(fd);
		ck_assert_uint_eq(fixture_await_end(i + 1).code, 0);
	}
	fixture_stop();
}
END_TEST

/* Sends a GET whose head has n bytes. A long header fills it up. */
static void get_head_of(size_t n)
{
	static const char START[] = "GET /bytes HTTP/1.1\r\nHost: h\r\nX-Filler: ";
	char text[FIXTURE_HEAD_MAX * 4];
	size_t start = strlen(START);
	ck_assert(n < sizeof(text));
	memset(text, 'f', n);
	memcpy(text, START, start);
	memcpy(text + n - 4, "\r\n\r\n", 5);
	client_ask(&reply, "GET", text);
}

START_TEST(heads_at_the_limit_and_over)
{
	get_head_of(FIXTURE_HEAD_MAX);
	ck_assert_uint_eq(reply.code, 206);
	get_head_of(FIXTURE_HEAD_MAX + 1);
	must_refuse(431, "http.head_bytes");
	get_head_of(FIXTURE_HEAD_MAX * 3); /* longer than the library accepts, so the library answers */
	ck_assert_uint_eq(reply.code, 431);
	fixture_stop();
}
END_TEST

START_TEST(bodies_at_the_limit_and_over)
{
	int fd = client_connect();
	post(fd, "/upload", FIXTURE_BODY_MAX);
	ck_assert_uint_eq(client_send_fill(fd, FIXTURE_BODY_MAX), FIXTURE_BODY_MAX);
	client_read(fd, &reply, "POST");
	ck_assert_str_eq(reply.body, "{\"bytes\":1000,\"length\":1000}");
	post(fd, "/upload", FIXTURE_BODY_MAX + 1);
	ck_assert_uint_eq(client_send_fill(fd, FIXTURE_BODY_MAX + 1), FIXTURE_BODY_MAX + 1);
	client_read(fd, &reply, "POST");
	must_refuse(413, "http.body_bytes");
	ck_assert_ptr_nonnull(strstr(reply.body, "\"expected\":\"1000\",\"actual\":\"1001\""));
	ck_assert(client_is_open(fd)); /* the body was short enough to be read and ignored */
	post(fd, "/upload", 0);
	client_read(fd, &reply, "POST");
	ck_assert_str_eq(reply.body, "{\"bytes\":0,\"length\":0}");
	post(fd, "/bytes", 0);
	client_read(fd, &reply, "POST");
	must_refuse(405, "route.method");
	close(fd);
	ck_assert_uint_eq(fixture_body_bytes(), FIXTURE_BODY_MAX);
	fixture_stop();
}
END_TEST

START_TEST(a_resource_without_a_body_takes_none)
{
	int fd = client_connect();
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxx");
	client_read(fd, &reply, "GET");
	must_refuse(400, "http.body");
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 206);
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(chunked_bodies_at_the_limit_and_over)
{
	int fd = client_connect();
	client_send(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e7\r\n");
	client_send_fill(fd, 999);
	client_send(fd, "\r\n1\r\nx\r\n0\r\nTrailer: t\r\n\r\n");
	client_read(fd, &reply, "POST");
	ck_assert_str_eq(reply.body, "{\"bytes\":1000,\"length\":-1}");
	client_send(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n");
	client_send_fill(fd, 1001);
	client_read(fd, &reply, "POST");
	must_refuse(413, "http.body_bytes");
	ck_assert_uint_eq(client_await_close(fd), 0);
	ck_assert_uint_eq(fixture_await_end(2).code, 413);
	fixture_stop();
}
END_TEST

/* After a refusal, a chunk that never ends is cut in the end. */
START_TEST(an_endless_chunk_is_cut)
{
	int fd = client_connect();
	client_send(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n");
	ck_assert_uint_lt(client_send_fill(fd, 0xfffffff), 0xfffffff);
	close(fd);
	ck_assert_uint_eq(fixture_await_end(1).code, 413);
	fixture_stop();
}
END_TEST

/* --- refused by the route --------------------------------------------------------------------------------------- */

START_TEST(a_short_body_of_a_refused_request_is_swallowed)
{
	int fd = client_connect();
	for (int i = 0; i < 2; i++) {
		post(fd, "/no-head", 1 << 20);
		ck_assert_uint_eq(client_send_fill(fd, 1 << 20), 1 << 20);
		client_read(fd, &reply, "POST");
		must_refuse(403, "no");
	}
	ck_assert(client_is_open(fd));
	close(fd);
	ck_assert_uint_eq(fixture_body_bytes(), 0);
	fixture_stop();
}
END_TEST

START_TEST(a_long_body_of_a_refused_request_costs_the_connection)
{
	int fd = client_connect();
	post(fd, "/no-head", (1 << 20) + 1);
	client_read(fd, &reply, "POST"); /* refused at once, before any byte of the body */
	must_refuse(403, "no");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fd = client_connect();
	post(fd, "/unknown", FIXTURE_BIG_MAX);
	(void)client_send_fill(fd, FIXTURE_BIG_MAX); /* a client that writes everything before it reads */
	client_read(fd, &reply, "POST");
	must_refuse(404, "route.unknown");
	(void)client_await_close(fd);
	fd = client_connect();
	post(fd, "/big", FIXTURE_BIG_MAX + 1);
	client_read(fd, &reply, "POST");
	must_refuse(413, "http.body_bytes");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fd = client_connect();
	client_send(fd, "POST /no-head HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	client_read(fd, &reply, "POST");
	must_refuse(403, "no");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fixture_stop();
}
END_TEST

/* Waits until the memory of partly received bodies is released. */
static void await_release(void)
{
	while (fixture_body_bytes() == 0 || fixture_states() > 0)
		continue;
}

START_TEST(a_short_body_refused_in_the_middle_is_read_to_its_end)
{
	int fd = client_connect();
	post(fd, "/no-midway", 1 << 20);
	ck_assert_uint_eq(client_send_fill(fd, 1 << 19), 1 << 19);
	await_release();
	ck_assert_uint_eq(client_send_fill(fd, 1 << 19), 1 << 19);
	client_read(fd, &reply, "POST");
	must_refuse(400, "format");
	ck_assert_ptr_null(client_header(&reply, "Connection"));
	ck_assert(client_is_open(fd));
	close(fd);
	ck_assert_uint_lt(fixture_body_bytes(), 1 << 20); /* the route got no more bytes after its reply */
	fixture_stop();
}
END_TEST

/* The refusal is sent at once. A client that reads only at the end finds it, too. */
START_TEST(a_long_body_refused_in_the_middle_costs_the_connection)
{
	int fd = client_connect();
	post(fd, "/no-midway", FIXTURE_BIG_MAX);
	ck_assert_uint_eq(client_send_fill(fd, 1 << 19), 1 << 19);
	client_read(fd, &reply, "POST");
	must_refuse(400, "format");
	ck_assert_str_eq(client_header(&reply, "Connection"), "close");
	ck_assert_str_eq(client_header(&reply, "X-Added"), "midway");
	await_release();
	ck_assert_uint_eq(client_send_fill(fd, FIXTURE_BIG_MAX - (1 << 19)), FIXTURE_BIG_MAX - (1 << 19));
	ck_assert_uint_eq(client_await_close(fd), 0);
	fd = client_connect();
	post(fd, "/no-midway", FIXTURE_BIG_MAX);
	ck_assert_uint_eq(client_send_fill(fd, FIXTURE_BIG_MAX), FIXTURE_BIG_MAX);
	client_read(fd, &reply, "POST");
	must_refuse(400, "format");
	ck_assert_uint_eq(client_await_close(fd), 0);
	ck_assert_uint_eq(fixture_await_end(2).code, 400);
	ck_assert_uint_lt(fixture_body_bytes(), 2 * FIXTURE_BIG_MAX);
	fixture_stop();
}
END_TEST

START_TEST(expectations)
{
	int fd = client_connect();
	client_send(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	client_read_until(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	ck_assert(client_is_open(fd)); /* no more comes before the body */
	client_send(fd, "xxx");
	client_read(fd, &reply, "POST");
	ck_assert_str_eq(reply.body, "{\"bytes\":3,\"length\":3}");
	client_send(fd, "POST /no-head HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	client_read(fd, &reply, "POST"); /* the refusal comes instead of the 100 */
	must_refuse(403, "no");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fixture_stop();
}
END_TEST

/* --- clients that vanish, drip or crowd ------------------------------------------------------------------------- */

START_TEST(a_client_that_leaves_in_the_body)
{
	int fd = client_connect();
	post(fd, "/big", 100000);
	client_send_fill(fd, 5000);
	close(fd);
	struct fixture_end end = fixture_await_end(1);
	ck_assert_uint_eq(end.code, 0);
	ck_assert_uint_eq(end.request_bytes, 5000);
	fixture_stop();
}
END_TEST

START_TEST(a_client_that_resets_in_the_body)
{
	int fd = client_connect();
	post(fd, "/big", 100000);
	client_send_fill(fd, 5000);
	fixture_await_pieces(1); /* before this, there is no request */
	client_reset(fd);
	ck_assert_uint_eq(fixture_await_end(1).code, 0);
	fixture_stop();
}
END_TEST

START_TEST(a_client_that_has_said_all_gets_its_answer)
{
	int fd = client_connect();
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 206);
	ck_assert_uint_eq(client_await_close(fd), 0);
	fixture_stop();
}
END_TEST

START_TEST(a_client_that_leaves_in_the_head)
{
	int fd = client_connect();
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\nX-");
	close(fd);
	ck_assert_uint_eq(fixture_await_end(1).code, 0);
	fixture_stop();
}
END_TEST

static void start_impatient(unsigned idle_s, unsigned head_s, unsigned request_s)
{
	struct http_server_options o = fixture_options();
	o.idle_timeout_s = idle_s;
	o.head_timeout_s = head_s;
	o.request_timeout_s = request_s;
	fixture_start(&o);
}

/* Sends a byte at each tick of the service, until the service closes. @return the number of bytes */
static unsigned drip(int fd)
{
	unsigned n = 0;
	while (n < 8 && client_is_open(fd) && send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
		fixture_await_tick();
		n++;
	}
	return n;
}

START_TEST(a_dripping_head_is_cut)
{
	start_impatient(30, 1, 30);
	int fd = client_connect(), in_line = client_connect(), silent = client_connect();
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\nX-");
	client_send(in_line, "GET /by");
	ck_assert_uint_lt(drip(fd), 5);
	ck_assert_uint_eq(client_await_close(fd), 0);
	(void)client_await_close(in_line);
	(void)client_await_close(silent);
	fixture_stop();
}
END_TEST

START_TEST(a_dripping_body_is_cut_and_told)
{
	start_impatient(2, 30, 30); /* one byte a second avoids the idle timeout, but is slower than the minimum */
	int fd = client_connect();
	post(fd, "/upload", FIXTURE_BODY_MAX);
	ck_assert_uint_lt(drip(fd), 7);
	client_read(fd, &reply, "POST");
	must_refuse(408, "http.body_timeout");
	ck_assert_uint_eq(client_await_close(fd), 0);
	ck_assert_uint_eq(fixture_await_end(1).code, 408);
	fixture_stop();
}
END_TEST

START_TEST(a_body_has_a_time_limit_as_a_whole)
{
	start_impatient(30, 30, 1);
	int fd = client_connect();
	post(fd, "/big", 1 << 20);
	client_send_fill(fd, 1 << 15);
	client_read(fd, &reply, "POST");
	must_refuse(408, "http.body_timeout");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fixture_stop();
}
END_TEST

/* libmicrohttpd 1.0.1 ends the connection without a notice to the client or to the service. */
START_TEST(an_oversized_chunk_size_ends_the_connection)
{
	start_impatient(1, 5, 5);
	int fd = client_connect();
	client_send(fd, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;");
	client_send_fill(fd, 8 * FIXTURE_HEAD_MAX);
	(void)client_await_close(fd);
	struct fixture_end end = fixture_await_end(1);
	ck_assert_msg(end.code == 0 || end.code == 408, "%u", end.code);
	fixture_stop();
}
END_TEST

START_TEST(a_kept_connection_is_closed_when_idle)
{
	start_impatient(1, 30, 30);
	int fd = client_connect();
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(client_await_close(fd), 0);
	fixture_stop();
}
END_TEST

START_TEST(waiting_for_the_server_is_not_idling)
{
	start_impatient(1, 1, 1);
	int fd = client_connect();
	client_send(fd, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	for (int i = 0; i < 4; i++)
		fixture_await_tick();
	ck_assert(client_is_open(fd));
	fixture_release();
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 200);
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(an_address_has_so_many_connections)
{
	enum { LIMIT = 3 };
	struct http_server_options o = fixture_options();
	o.connections_per_address_max = LIMIT;
	fixture_start(&o);
	int fds[LIMIT];
	for (int i = 0; i < LIMIT; i++) {
		fds[i] = client_connect();
		client_send(fds[i], "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
		client_read(fds[i], &reply, "GET");
		ck_assert_uint_eq(reply.code, 206);
	}
	must_refuse_and_close("GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n", 429, "connections");
	ck_assert_str_eq(client_header(&reply, "Retry-After"), "3");
	close(fds[0]);
	do { /* the slot is free when the server has noticed the close */
		client_ask(&reply, "GET", "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	} while (reply.code == 429);
	ck_assert_uint_eq(reply.code, 206);
	for (int i = 1; i < LIMIT; i++)
		close(fds[i]);
	fixture_stop();
}
END_TEST

START_TEST(connections_over_the_limit_wait_their_turn)
{
	enum { LIMIT = 4, CLIENTS = 8 };
	struct http_server_options o = fixture_options();
	o.connections_max = LIMIT;
	fixture_start(&o);
	int fds[CLIENTS];
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = client_connect();
		client_send(fds[i], "GET /bytes HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	}
	for (int i = 0; i < CLIENTS; i++) {
		client_read(fds[i], &reply, "GET");
		ck_assert_uint_eq(reply.code, 206);
		(void)client_await_close(fds[i]);
	}
	fixture_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_limits");
	TCase *refusals = tcase_create("refusals");
	tcase_add_checked_fixture(refusals, setup, NULL);
	tcase_add_test(refusals, heads_that_two_parsers_read_in_two_ways);
	tcase_add_test(refusals, heads_with_wrong_line_ends_are_refused);
	tcase_add_test(refusals, heads_that_the_library_refuses);
	tcase_add_test(refusals, heads_at_the_limit_and_over);
	tcase_add_test(refusals, bodies_at_the_limit_and_over);
	tcase_add_test(refusals, a_resource_without_a_body_takes_none);
	tcase_add_test(refusals, chunked_bodies_at_the_limit_and_over);
	tcase_add_test(refusals, an_endless_chunk_is_cut);
	tcase_add_test(refusals, a_short_body_of_a_refused_request_is_swallowed);
	tcase_add_test(refusals, a_long_body_of_a_refused_request_costs_the_connection);
	tcase_add_test(refusals, a_short_body_refused_in_the_middle_is_read_to_its_end);
	tcase_add_test(refusals, a_long_body_refused_in_the_middle_costs_the_connection);
	tcase_add_test(refusals, expectations);
	tcase_add_test(refusals, a_client_that_leaves_in_the_body);
	tcase_add_test(refusals, a_client_that_resets_in_the_body);
	tcase_add_test(refusals, a_client_that_leaves_in_the_head);
	tcase_add_test(refusals, a_client_that_has_said_all_gets_its_answer);
	suite_add_tcase(suite, refusals);
	TCase *patience = tcase_create("patience");
	tcase_add_test(patience, a_dripping_head_is_cut);
	tcase_add_test(patience, a_dripping_body_is_cut_and_told);
	tcase_add_test(patience, a_body_has_a_time_limit_as_a_whole);
	tcase_add_test(patience, an_oversized_chunk_size_ends_the_connection);
	tcase_add_test(patience, a_kept_connection_is_closed_when_idle);
	tcase_add_test(patience, waiting_for_the_server_is_not_idling);
	tcase_add_test(patience, an_address_has_so_many_connections);
	tcase_add_test(patience, connections_over_the_limit_wait_their_turn);
	suite_add_tcase(suite, patience);
	return run_suite(suite);
}
