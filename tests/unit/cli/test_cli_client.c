/* How the command's client handles a server that answers with errors, disappears, and comes back. */
#include "base/fd.h"
#include "cli/common/client.h"
#include "support/run.h"

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A server of one connection: it answers one request and closes. */
struct server {
	int fd;
	struct sockaddr_in address;
	const char *answer;
	pthread_t thread;
};

static void server_listen(struct server *s)
{
	socklen_t len = sizeof(s->address);
	int yes = 1;
	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(s->fd, 0);
	ck_assert_int_eq(setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&s->address, len), 0);
	ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&s->address, &len), 0);
	ck_assert_int_eq(listen(s->fd, 1), 0);
}

static void *server_run(void *ctx)
{
	struct server *s = ctx;
	char request[4096];
	size_t n = 0;
	int peer = accept(s->fd, NULL, NULL);
	cairn_fd_closep(&s->fd); /* refuses later connections */
	while (n < 4 || memcmp(request + n - 4, "\r\n\r\n", 4) != 0) {
		ssize_t got = read(peer, request + n, 1);
		if (got != 1 || ++n == sizeof(request))
			break;
	}
	if (cairn_fd_write_all(peer, s->answer, strlen(s->answer)) != CAIRN_OK)
		abort();
	(void)close(peer);
	return NULL;
}

static void server_begin(struct server *s, const char *answer)
{
	*s = (struct server){.address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			     .answer = answer};
	server_listen(s);
	ck_assert_int_eq(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static struct client *client_of(const struct server *s, unsigned retries)
{
	char url[64];
	struct client *c = NULL;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)ntohs(s->address.sin_port));
	const struct client_options options = {.url = url, .retries = retries};
	ck_assert_int_eq(client_new(&c, &options, NULL), CAIRN_OK);
	return c;
}

/* Replaces the C library's function with which the client waits between two tries. It returns at once, and starts
 * COMES_BACK, if that is set. */
int client_waits(const struct timespec *wanted, struct timespec *left) __asm__("nanosleep");
static struct server *COMES_BACK;
static unsigned N_WAITS;

int client_waits(const struct timespec *wanted, struct timespec *left)
{
	(void)wanted;
	(void)left;
	N_WAITS++;
	if (COMES_BACK) {
		server_listen(COMES_BACK);
		ck_assert_int_eq(pthread_create(&COMES_BACK->thread, NULL, server_run, COMES_BACK), 0);
		COMES_BACK = NULL;
	}
	return 0;
}

static enum cairn_status get(struct client *c, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(1000);
	return client_request(c, CLIENT_GET, "/x", NULL, 0, &answer, diag);
}

static const char OK[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

START_TEST(a_server_that_was_there_may_come_back)
{
	struct server s;
	struct cairn_diag diag = {0};
	server_begin(&s, OK);
	CLEANUP(client_freep) struct client *c = client_of(&s, 3);
	ck_assert_int_eq(get(c, &diag), CAIRN_OK);
	ck_assert_int_eq(pthread_join(s.thread, NULL), 0);
	COMES_BACK = &s;
	ck_assert_msg(get(c, &diag) == CAIRN_OK, "%s", diag.text);
	ck_assert_int_eq(pthread_join(s.thread, NULL), 0);
	ck_assert_uint_eq(N_WAITS, 1);
	ck_assert_int_eq(get(c, &diag), CAIRN_E_BUSY); /* the retries are used up */
	ck_assert_uint_eq(N_WAITS, 4);
	ck_assert_str_eq(diag.rule, "server.connection");
}
END_TEST

START_TEST(a_server_that_never_answered_is_reported_at_once)
{
	struct server s;
	struct cairn_diag diag = {0};
	server_begin(&s, OK);
	CLEANUP(client_freep) struct client *once = client_of(&s, 0), *c = client_of(&s, 3);
	ck_assert_int_eq(get(once, NULL), CAIRN_OK);
	ck_assert_int_eq(pthread_join(s.thread, NULL), 0);
	ck_assert_int_eq(get(c, &diag), CAIRN_E_BUSY);
	ck_assert_uint_eq(N_WAITS, 0);
	ck_assert_str_eq(diag.rule, "server.connection");
	client_freep(&once);
}
END_TEST

START_TEST(an_error_shows_all_that_the_server_sent)
{
	static const char BODY[] = "{\"error\":{\"code\":\"shard.range_hash\",\"message\":\"wrong\",\"offset\":48,"
				   "\"expected\":\"aa\",\"actual\":\"bb\"},\"request_id\":\"r-17\"}";
	char answer[512];
	struct server s;
	struct cairn_diag diag = {0};
	(void)snprintf(answer, sizeof(answer),
		       "HTTP/1.1 400 Bad Request\r\nX-Request-Id: r-17\r\nContent-Length: %zu\r\n\r\n%s", strlen(BODY),
		       BODY);
	server_begin(&s, answer);
	CLEANUP(client_freep) struct client *c = client_of(&s, 0);
	ck_assert_int_eq(get(c, &diag), CAIRN_E_FORMAT);
	ck_assert_int_eq(pthread_join(s.thread, NULL), 0);
	ck_assert_str_eq(diag.text, "the server refuses it (400 shard.range_hash, request r-17): wrong");
	ck_assert_str_eq(diag.rule, "server.answer");
	ck_assert(diag.has_offset && diag.offset == 48);
	ck_assert_str_eq(diag.expected, "aa");
	ck_assert_str_eq(diag.actual, "bb");
}
END_TEST

/* An answer such as a proxy's error page, or from a server of another kind. */
START_TEST(an_answer_of_many_values)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(UINT64_C(4) * CLIENT_VALUES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	cairn_buf_add(&answer, "[0", 2);
	for (unsigned i = 1; i < CLIENT_VALUES_MAX; i++)
		cairn_buf_add(&answer, ",0", 2);
	cairn_buf_add(&answer, "]", 1);
	ck_assert_int_eq(client_json(&json, &answer), CAIRN_OK);
	ck_assert_uint_eq(cairn_json_count(json), CLIENT_VALUES_MAX);
	cairn_json_freep(&json);
	answer.len--;
	cairn_buf_add(&answer, ",0]", 3);
	ck_assert_int_eq(client_json(&json, &answer), CAIRN_E_FORMAT);
}
END_TEST

START_TEST(an_error_without_words)
{
	struct server s;
	struct cairn_diag diag = {0};
	server_begin(&s, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n<p>?");
	CLEANUP(client_freep) struct client *c = client_of(&s, 0);
	ck_assert_int_eq(get(c, &diag), CAIRN_E_BUSY);
	ck_assert_int_eq(pthread_join(s.thread, NULL), 0);
	ck_assert_str_eq(diag.text, "the server cannot do it now (502)");
	ck_assert(!diag.has_offset && !diag.expected[0] && !diag.actual[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_client");
	TCase *tc = tcase_create("cli_client");
	tcase_add_test(tc, a_server_that_was_there_may_come_back);
	tcase_add_test(tc, a_server_that_never_answered_is_reported_at_once);
	tcase_add_test(tc, an_error_shows_all_that_the_server_sent);
	tcase_add_test(tc, an_error_without_words);
	tcase_add_test(tc, an_answer_of_many_values);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
