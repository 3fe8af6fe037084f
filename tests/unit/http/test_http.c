/* Requests and replies of a running service. test_http_limits.c has refusals and timeouts. */
#include "support/http_fixture.h"
#include "support/run.h"

#include "server/http/auth.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct client_reply reply;

static void setup(void)
{
	struct http_server_options o = fixture_options();
	fixture_start(&o);
}

static void get(const char *path)
{
	char text[600];
	(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h:1\r\n\r\n", path);
	client_ask(&reply, "GET", text);
}

/* Returns the error in the reply. Checks that the reply is an error with that code. */
static json_t *error_of(unsigned code, const char *rule)
{
	json_error_t parse;
	ck_assert_uint_eq(reply.code, code);
	ck_assert_str_eq(client_header(&reply, "Content-Type"), "application/json");
	json_t *body = json_loadb(reply.body, reply.len, JSON_REJECT_DUPLICATES, &parse);
	ck_assert_msg(body, "%s in %s", parse.text, reply.body);
	const json_t *error = json_object_get(body, "error");
	ck_assert_str_eq(json_string_value(json_object_get(error, "code")), rule);
	ck_assert_uint_gt(json_string_length(json_object_get(error, "message")), 7);
	ck_assert_str_eq(json_string_value(json_object_get(body, "request_id")), client_header(&reply, "X-Request-Id"));
	return body;
}

static void must_be_error(unsigned code, const char *rule)
{
	json_decref(error_of(code, rule));
}

START_TEST(a_route_sees_arguments_and_headers)
{
	client_ask(&reply, "GET",
		   "GET /echo/a.b/c~d?x=1&y=no&x=%26+b&x&X=5 HTTP/1.1\r\nHost: host.example:81\r\nX-CUSTOM: v\r\n\r\n");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_str_eq(reply.body, "a.b|c~d|1|(1)(& b)()|http://host.example:81|v|0|somebody");
	ck_assert_str_eq(client_header(&reply, "Content-Type"), "application/json");
	ck_assert_str_eq(client_header(&reply, "X-Added"), "value");
	get("/echo/a/b?x=stop&x=2");
	ck_assert_str_eq(reply.body, "a|b|stop|(stop)|http://h:1|-|0|somebody");
	fixture_stop();
}
END_TEST

/* Versions of the library treat invalid escapes differently (1.0.1 also drops two letters). */
START_TEST(invalid_escapes_stay)
{
	get("/echo/a/b?x=%%41&x=%4%4a&x=%zz%4A&x=100%%20a&x=%g1&x=%1g&x=a%4&x=a%&x=%25%2b+");
	ck_assert_str_eq(reply.body, "a|b|%A|(%A)(%4J)(%zzJ)(100% a)(%g1)(%1g)(a%4)(a%)(%+ )|http://h:1|-|0|somebody");
	fixture_stop();
}
END_TEST

/* More headers than fit into a request's own memory. */
START_TEST(a_reply_may_have_many_headers)
{
	char name[32], value[64];
	client_ask(&reply, "GET", "GET /headers HTTP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_uint_eq(reply.code, 204);
	for (int i = 0; i < FIXTURE_HEADERS; i++) {
		(void)snprintf(name, sizeof(name), "X-Added-%d", i);
		(void)snprintf(value, sizeof(value), "%0*d", 10 + 2 * i, i);
		ck_assert_str_eq(client_header(&reply, name), value);
	}
	fixture_stop();
}
END_TEST

START_TEST(public_url_replaces_the_host)
{
	struct http_server_options o = fixture_options();
	o.public_url = "https://public.example/base//";
	fixture_start(&o);
	get("/echo/a/b");
	ck_assert_str_eq(reply.body, "a|b|-||https://public.example/base|-|0|somebody");
	fixture_stop();
}
END_TEST

START_TEST(http_1_0_without_a_host_gets_the_address)
{
	client_ask(&reply, "GET", "GET /echo/a/b HTTP/1.0\r\n\r\n");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_ptr_nonnull(strstr(reply.body, "|http://127.0.0.1:"));
	ck_assert_ptr_null(strstr(reply.body, "127.0.0.1:0"));
	fixture_stop();
}
END_TEST

START_TEST(connections_are_kept)
{
	int fd = client_connect();
	for (int i = 0; i < 3; i++) {
		client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
		client_read(fd, &reply, "GET");
		ck_assert_uint_eq(reply.code, 206);
		ck_assert_ptr_null(client_header(&reply, "Connection"));
		ck_assert_uint_eq(reply.len, 3);
		ck_assert_mem_eq(reply.body, "a\0b", 3);
		client_send(fd, "GET /unknown HTTP/1.1\r\nHost: h\r\n\r\n");
		client_read(fd, &reply, "GET");
		must_be_error(404, "route.unknown");
		ck_assert_ptr_null(client_header(&reply, "Connection"));
	}
	ck_assert(client_is_open(fd));
	close(fd);
	fixture_stop();
	ck_assert_uint_eq(fixture_released(), 3);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
	int fd = client_connect();
	client_send(fd, "GET /echo/1/a HTTP/1.1\r\nHost: h\r\n\r\n"
			"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxx"
			"GET /no-worker HTTP/1.1\r\nHost: h\r\n\r\n"
			"GET /echo/2/b HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_ptr_eq(strstr(reply.body, "1|a|"), reply.body);
	client_read(fd, &reply, "POST");
	ck_assert_str_eq(reply.body, "{\"bytes\":2,\"length\":2}");
	client_read(fd, &reply, "GET");
	ck_assert_str_eq(reply.body, "{\"bytes\":0,\"length\":0}");
	client_read(fd, &reply, "GET");
	ck_assert_ptr_eq(strstr(reply.body, "2|b|"), reply.body);
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(head_has_the_length_and_no_body)
{
	int fd = client_connect();
	client_send(fd, "HEAD /bytes HTTP/1.1\r\nHost: h\r\n\r\nHEAD /size HTTP/1.1\r\nHost: h\r\n\r\n"
			"HEAD /unknown HTTP/1.1\r\nHost: h\r\n\r\nGET /size HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "HEAD");
	ck_assert_uint_eq(reply.code, 206);
	ck_assert_str_eq(client_header(&reply, "Content-Length"), "3");
	client_read(fd, &reply, "HEAD");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_str_eq(client_header(&reply, "Content-Length"), "5497558138880");
	client_read(fd, &reply, "HEAD");
	ck_assert_uint_eq(reply.code, 404);
	client_read(fd, &reply, "GET");
	must_be_error(405, "route.method");
	ck_assert_str_eq(client_header(&reply, "Allow"), "HEAD");
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(empty_replies)
{
	int fd = client_connect();
	client_send(fd, "GET /empty/204 HTTP/1.1\r\nHost: h\r\n\r\nGET /empty/304 HTTP/1.1\r\nHost: h\r\n\r\n"
			"GET /empty/200 HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 204);
	ck_assert_ptr_null(client_header(&reply, "Content-Length"));
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 304);
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_uint_eq(reply.len, 0);
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(files_and_readers_are_sent)
{
	get("/file");
	ck_assert_uint_eq(reply.code, 206);
	ck_assert_str_eq(reply.body, "3456");
	get("/reader");
	ck_assert_str_eq(client_header(&reply, "Content-Length"), "30000");
	for (size_t i = 0; i < 30000; i++)
		ck_assert_int_eq(reply.body[i], (int)('a' + i % 26));
	fixture_stop();
	ck_assert_uint_eq(fixture_released(), 1);
}
END_TEST

START_TEST(a_reader_that_fails_cuts_the_connection)
{
	int fd = client_connect();
	client_send(fd, "GET /broken-reader HTTP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_uint_lt(client_await_close(fd), 30000);
	fixture_stop();
	ck_assert_uint_eq(fixture_released(), 1);
}
END_TEST

START_TEST(errors_carry_the_diagnosis)
{
	get("/status/3");
	json_t *body = error_of(400, "rule.name");
	const json_t *error = json_object_get(body, "error");
	ck_assert_str_eq(json_string_value(json_object_get(error, "message")), "a \"text\"");
	ck_assert_int_eq(json_integer_value(json_object_get(error, "offset")), 7);
	ck_assert_str_eq(json_string_value(json_object_get(error, "expected")), "more");
	ck_assert_str_eq(json_string_value(json_object_get(error, "actual")), "less");
	json_decref(body);
	get("/status/6");
	must_be_error(404, "rule.name");
	ck_assert_ptr_null(client_header(&reply, "Retry-After"));
	get("/status/10");
	must_be_error(503, "rule.name");
	ck_assert_str_eq(client_header(&reply, "Retry-After"), "3");
	get("/forgetful");
	must_be_error(500, "internal");
	fixture_stop();
}
END_TEST

START_TEST(methods_and_paths_that_are_not_there)
{
	get("/echo/a");
	must_be_error(404, "route.unknown");
	get("/echo/a/b%2fc");
	must_be_error(404, "route.unknown");
	client_ask(&reply, "DELETE", "DELETE /upload?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
	must_be_error(405, "route.method");
	ck_assert_str_eq(client_header(&reply, "Allow"), "POST");
	client_ask(&reply, "BREW", "BREW /upload HTTP/1.1\r\nHost: h\r\n\r\n");
	must_be_error(501, "route.method_unknown");
	ck_assert_uint_eq(fixture_await_end(4).code, 501);
	fixture_stop();
}
END_TEST

START_TEST(tokens_are_asked_for)
{
	get("/secret");
	must_be_error(401, "token.missing");
	ck_assert_str_eq(client_header(&reply, "WWW-Authenticate"), "Bearer");
	client_ask(&reply, "GET", "GET /secret HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer bad\r\n\r\n");
	must_be_error(403, "token.missing");
	ck_assert_ptr_null(client_header(&reply, "WWW-Authenticate"));
	client_ask(&reply, "GET", "GET /secret HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n\r\n");
	ck_assert_uint_eq(reply.code, 206);
	fixture_stop();
}
END_TEST

START_TEST(request_ids_are_the_clients_or_made)
{
	char first[80];
	client_ask(&reply, "GET", "GET /bytes HTTP/1.1\r\nHost: h\r\nX-Request-Id: my.own_ID-1\r\n\r\n");
	ck_assert_str_eq(client_header(&reply, "X-Request-Id"), "my.own_ID-1");
	client_ask(&reply, "GET", "GET /bytes HTTP/1.1\r\nHost: h\r\nX-Request-Id: a b\r\n\r\n");
	(void)snprintf(first, sizeof(first), "%s", client_header(&reply, "X-Request-Id"));
	ck_assert_uint_eq(strlen(first), 16);
	ck_assert_uint_eq(strspn(first, "0123456789abcdef"), 16);
	get("/bytes");
	ck_assert_str_ne(client_header(&reply, "X-Request-Id"), first);
	fixture_stop();
}
END_TEST

START_TEST(an_ended_request_is_summed_up)
{
	client_ask(&reply, "POST",
		   "POST /upload?X-Sig=secret&y=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX-Request-Id: abc\r\n"
		   "X-Xet-Session-Id: s-1\r\nUser-Agent: tester/1\r\n\r\nxxx");
	struct fixture_end end = fixture_await_end(1);
	ck_assert_uint_eq(end.code, 200);
	ck_assert_str_eq(end.method, "POST");
	ck_assert_str_eq(end.target, "/upload?-&-");
	ck_assert_str_eq(end.route, "upload");
	ck_assert_str_eq(end.address, "127.0.0.1");
	ck_assert_str_eq(end.session_id, "s-1");
	ck_assert_str_eq(end.user_agent, "tester/1");
	ck_assert_str_eq(end.request_id, "abc");
	ck_assert_uint_eq(end.request_bytes, 3);
	ck_assert_uint_eq(end.reply_bytes, reply.len);
	client_ask(&reply, "GET", "GET /unknown HTTP/1.1\r\nHost: h\r\nX-Xet-Session-Id: a b\r\n\r\n");
	end = fixture_await_end(2);
	ck_assert_str_eq(end.route, "none");
	ck_assert_str_eq(end.session_id, "-");
	ck_assert_uint_eq(end.code, 404);
	fixture_stop();
}
END_TEST

/* --- waiting ---------------------------------------------------------------------------------------------------- */

START_TEST(a_suspended_request_is_answered_once_resumed)
{
	int fd = client_connect();
	for (int i = 0; i < 2; i++) {
		client_send(fd, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
		fixture_await_job();
		ck_assert(client_is_open(fd));
		ck_assert_uint_eq(fixture_states(), 1);
		fixture_release();
		client_read(fd, &reply, "GET");
		ck_assert_str_eq(reply.body, "{\"bytes\":1,\"length\":0}");
		ck_assert(!fixture_said_gone());
	}
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(a_request_may_wait_twice)
{
	int fd = client_connect();
	client_send(fd, "GET /wait/2 HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	fixture_release();
	fixture_await_job();
	fixture_release();
	client_read(fd, &reply, "GET");
	ck_assert_str_eq(reply.body, "{\"bytes\":3,\"length\":0}");
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(many_wait_at_once)
{
	enum { CLIENTS = 40, ROUNDS = 5 };
	int fds[CLIENTS];
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = client_connect();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CLIENTS; i++)
			client_send(fds[i], i % 2 ? "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n"
						  : "GET /no-worker HTTP/1.1\r\nHost: h\r\n\r\n");
		for (int i = 0; i < CLIENTS / 2; i++)
			fixture_release();
		for (int i = 0; i < CLIENTS; i++) {
			client_read(fds[i], &reply, "GET");
			ck_assert_uint_eq(reply.code, 200);
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	fixture_stop();
}
END_TEST

START_TEST(a_client_that_leaves_while_it_waits)
{
	int fd = client_connect();
	client_send(fd, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	close(fd);
	fixture_release();
	(void)fixture_await_end(1);
	ck_assert(fixture_said_gone());
	fixture_stop();
}
END_TEST

START_TEST(a_stream_sends_each_frame_when_it_is_made)
{
	int fd = client_connect();
	client_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		char frame[32];
		fixture_await_job();
		fixture_release();
		(void)snprintf(frame, sizeof(frame), "{\"frame\":%d}\n", i);
		client_read_until(fd, frame);
	}
	client_read_until(fd, "{\"last\":true}\n");
	client_read_until(fd, "\r\n0\r\n\r\n");
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 206);
	close(fd);
	fixture_stop();
}
END_TEST

START_TEST(a_stream_ends_when_its_client_leaves)
{
	int fd = client_connect();
	client_send(fd, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	fixture_release();
	client_read_until(fd, "{\"frame\":0}\n");
	client_reset(fd);
	fixture_release(); /* no client receives this frame */
	(void)fixture_await_end(1);
	fixture_feed_until_gone(); /* the library reports the end a moment before it releases the reply */
	fixture_release();
	fixture_await_stream_gone();
	fixture_stop();
}
END_TEST

/* --- stopping --------------------------------------------------------------------------------------------------- */

START_TEST(draining_lets_requests_finish)
{
	int waiting = client_connect(), idle = client_connect(), streaming = client_connect();
	client_send(idle, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(idle, &reply, "GET");
	client_send(waiting, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	client_send(streaming, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	struct http_server_stats stats;
	http_server_stats(fixture_server(), &stats);
	ck_assert_uint_eq(stats.connections, 3);
	ck_assert_uint_eq(stats.requests, 2);

	http_server_drain(fixture_server(), 0);
	client_send(idle, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(idle, &reply, "GET");
	must_be_error(503, "stopping");
	ck_assert_str_eq(client_header(&reply, "Connection"), "close");
	ck_assert_str_eq(client_header(&reply, "Retry-After"), "3");
	ck_assert_uint_eq(client_await_close(idle), 0);
	for (int i = 0; i < 4; i++)
		fixture_release();
	client_read(waiting, &reply, "GET");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_str_eq(client_header(&reply, "Connection"), "close");
	client_read_until(streaming, "{\"last\":true}\n");
	(void)client_await_close(waiting);
	fixture_stop();
	(void)client_await_close(streaming); /* kept alive, because its head was sent before the drain */
}
END_TEST

START_TEST(stopping_closes_idle_connections)
{
	int silent = client_connect(), half = client_connect(), idle = client_connect();
	client_send(idle, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(idle, &reply, "GET");
	client_send(half, "POST /upload HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
	client_read_until(half, "100 Continue\r\n\r\n");
	ck_assert(http_server_stop(fixture_server(), 100));
	ck_assert_uint_eq(client_await_close(silent), 0);
	ck_assert_uint_eq(client_await_close(half), 0);
	ck_assert_uint_eq(client_await_close(idle), 0);
	ck_assert_uint_eq(fixture_states(), 0);
}
END_TEST

START_TEST(a_stop_that_times_out_is_reported)
{
	int waiting = client_connect();
	client_send(waiting, "GET /wait/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_await_job();
	ck_assert(!http_server_stop(fixture_server(), 0));
	ck_assert(client_is_open(waiting)); /* a stop that times out frees nothing in use */
	ck_assert_uint_eq(fixture_states(), 1);
	close(waiting);
}
END_TEST

START_TEST(the_second_ticks)
{
	fixture_await_tick();
	fixture_await_tick();
	fixture_stop();
}
END_TEST

START_TEST(impossible_options_are_refused)
{
	for (int i = 0; i < 5; i++) {
		struct http_server_options o = fixture_options();
		struct http_server *server;
		struct cairn_diag diag = {0};
		o.listen_fd = -1;
		if (i > 0)
			o.listen_fd = dup(STDIN_FILENO);
		if (i == 1)
			o.connections_max = 1;
		else if (i == 2)
			o.head_timeout_s = 0;
		else if (i == 3)
			o.head_bytes_max = 1023;
		else if (i == 4)
			o.authorise = NULL;
		ck_assert_int_eq(http_server_start(&server, &o, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "http.options");
	}
}
END_TEST

static TCase *requests(void)
{
	TCase *tc = tcase_create("requests");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_route_sees_arguments_and_headers);
	tcase_add_test(tc, invalid_escapes_stay);
	tcase_add_test(tc, a_reply_may_have_many_headers);
	tcase_add_test(tc, http_1_0_without_a_host_gets_the_address);
	tcase_add_test(tc, connections_are_kept);
	tcase_add_test(tc, pipelined_requests_are_answered_in_order);
	tcase_add_test(tc, head_has_the_length_and_no_body);
	tcase_add_test(tc, empty_replies);
	tcase_add_test(tc, files_and_readers_are_sent);
	tcase_add_test(tc, a_reader_that_fails_cuts_the_connection);
	tcase_add_test(tc, errors_carry_the_diagnosis);
	tcase_add_test(tc, methods_and_paths_that_are_not_there);
	tcase_add_test(tc, tokens_are_asked_for);
	tcase_add_test(tc, request_ids_are_the_clients_or_made);
	tcase_add_test(tc, an_ended_request_is_summed_up);
	return tc;
}

static TCase *waiting(void)
{
	TCase *tc = tcase_create("waiting");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_suspended_request_is_answered_once_resumed);
	tcase_add_test(tc, a_request_may_wait_twice);
	tcase_add_test(tc, many_wait_at_once);
	tcase_add_test(tc, a_client_that_leaves_while_it_waits);
	tcase_add_test(tc, a_stream_sends_each_frame_when_it_is_made);
	tcase_add_test(tc, a_stream_ends_when_its_client_leaves);
	tcase_add_test(tc, draining_lets_requests_finish);
	tcase_add_test(tc, stopping_closes_idle_connections);
	tcase_add_test(tc, a_stop_that_times_out_is_reported);
	tcase_add_test(tc, the_second_ticks);
	return tc;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool entered, open;
} wedge = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wedge_done(struct http_request *req)
{
	pthread_mutex_lock(&wedge.lock);
	wedge.entered = true;
	pthread_cond_broadcast(&wedge.changed);
	while (!wedge.open)
		pthread_cond_wait(&wedge.changed, &wedge.lock);
	pthread_mutex_unlock(&wedge.lock);
	http_reply_json(req, 200, "{}");
}

static const struct http_route ROUTES_WEDGE[] = {
	{.method = "GET", .pattern = "/wedge", .name = "wedge", .done = wedge_done},
	{.method = NULL},
};
static const struct http_route *const WEDGE_TABLES[] = {ROUTES_WEDGE, NULL};

/* The failure of each single thread is noticed. */
START_TEST(a_thread_that_stands_still_is_noticed)
{
	struct http_server_options o = fixture_options();
	o.routes = WEDGE_TABLES;
	o.connections_max = 5 * 112;
	fixture_start(&o);
	ck_assert(http_server_answers(fixture_server(), 10000));
	int fd = client_connect();
	client_send(fd, "GET /wedge HTTP/1.1\r\nHost: h:1\r\n\r\n");
	pthread_mutex_lock(&wedge.lock);
	while (!wedge.entered)
		pthread_cond_wait(&wedge.changed, &wedge.lock);
	pthread_mutex_unlock(&wedge.lock);
	ck_assert(!http_server_answers(fixture_server(), 100));
	pthread_mutex_lock(&wedge.lock);
	wedge.open = true;
	pthread_cond_broadcast(&wedge.changed);
	pthread_mutex_unlock(&wedge.lock);
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 200);
	(void)close(fd);
	ck_assert(http_server_answers(fixture_server(), 10000));
	http_server_drain(fixture_server(), 0);
	ck_assert(!http_server_answers(fixture_server(), 100));
	fixture_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http");
	TCase *options = tcase_create("options");
	tcase_add_test(options, public_url_replaces_the_host);
	tcase_add_test(options, impossible_options_are_refused);
	tcase_add_test(options, a_thread_that_stands_still_is_noticed);
	suite_add_tcase(suite, requests());
	suite_add_tcase(suite, waiting());
	suite_add_tcase(suite, options);
	return run_suite(suite);
}
