/* Clients that get a connection, and clients that wait: http_accept.c in a running service. */
#include "server/http/http_accept.h"
#include "server/http/http_server.h"
#include "support/http_fixture.h"
#include "support/run.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 5 * HTTP_THREAD_CONNS };

static struct client_reply reply;

static void ask(int fd)
{
	client_send(fd, "GET /bytes HTTP/1.1\r\nHost: h\r\n\r\n");
}

static void must_answer(int fd)
{
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 206);
}

static int connected(void)
{
	int fd = client_connect();
	ask(fd);
	must_answer(fd);
	return fd;
}

static double cpu_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Checks that no thread spins while there is no work. A spinning thread would get as much processor time as this one,
 * however busy the processors are. */
static void must_be_idle(void)
{
	const double OWN_S = 0.2;
	double own = cpu_s(CLOCK_THREAD_CPUTIME_ID), all = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
	while (cpu_s(CLOCK_THREAD_CPUTIME_ID) - own < OWN_S)
		continue;
	double others = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - all - OWN_S;
	ck_assert_msg(others < OWN_S / 4, "%.2f s of processor time", others);
}

static int slots(unsigned thread)
{
	return atomic_load(&fixture_server()->threads[thread].n_slots);
}

START_TEST(one_over_the_limit_waits_until_another_goes)
{
	enum { LIMIT = 4 };
	struct http_server_options o = fixture_options();
	o.connections_max = LIMIT;
	fixture_start(&o);
	int fds[LIMIT], waiting;
	for (int i = 0; i < LIMIT; i++)
		fds[i] = connected();
	waiting = client_connect();
	ask(waiting);
	must_be_idle();
	for (int i = 0; i < LIMIT; i++) {
		ask(fds[i]);
		must_answer(fds[i]);
	}
	ck_assert(client_is_open(waiting));
	close(fds[0]);
	must_answer(waiting);
	must_be_idle();
	fixture_stop();
}
END_TEST

START_TEST(few_connections_are_shared_out_among_few_threads)
{
	enum { CLIENTS = 12 };
	struct http_server_options o = fixture_options();
	o.connections_max = MANY;
	fixture_start(&o);
	const struct http_server *server = fixture_server();
	int fds[CLIENTS];
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = connected();
	unsigned n = http_accept_n_serving(server->n_threads, CLIENTS - 1, server->processors);
	int each = CLIENTS / (int)n;
	for (unsigned i = 0; i < server->n_threads; i++)
		ck_assert_msg(i < n ? slots(i) >= each && slots(i) <= each + 1 : slots(i) == 0, "%u: %d", i, slots(i));
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	fixture_stop();
}
END_TEST

/* Each thread reserves a range of request numbers, so no two requests get the same number. */
START_TEST(no_two_requests_have_one_id)
{
	enum { CLIENTS = 12, REQUESTS = 3, ALL = CLIENTS * REQUESTS };
	static char ids[ALL][HTTP_ID_BYTES_MAX + 1];
	struct http_server_options o = fixture_options();
	fixture_start(&o);
	int fds[CLIENTS];
	for (int i = 0; i < ALL; i++) {
		if (i < CLIENTS)
			fds[i] = client_connect();
		ask(fds[i % CLIENTS]);
		must_answer(fds[i % CLIENTS]);
		(void)snprintf(ids[i], sizeof(ids[i]), "%s", client_header(&reply, "X-Request-Id"));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(ids[i], ids[k]);
	}
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	fixture_stop();
}
END_TEST

/* A connection that opens or closes while slots are counted makes the count wrong by one. */
START_TEST(slot_counts_never_fall_below_zero)
{
	struct http_server_options o = fixture_options();
	o.connections_max = MANY;
	fixture_start(&o);
	struct http_thread *last = &fixture_server()->threads[fixture_server()->n_threads - 1];
	if (fixture_server()->n_threads > fixture_server()->processors) {
		atomic_store(&last->n_slots, -1);
		int fd = connected();
		ck_assert_int_eq(atomic_load(&last->n_slots), -1);
		atomic_store(&last->n_slots, 0);
		close(fd);
	}
	fixture_stop();
}
END_TEST

enum { LAST_DESCRIPTOR = 255 };

/* @return the limit before */
static struct rlimit use_up_descriptors(void)
{
	struct rlimit before, now;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = LAST_DESCRIPTOR + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
	while (fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) >= 0)
		continue;
	ck_assert_int_ge(fcntl(LAST_DESCRIPTOR, F_GETFD), 0);
	return before;
}

START_TEST(a_connection_without_a_descriptor_is_served_later)
{
	struct http_server_options o = fixture_options();
	tzset(); /* otherwise the first thread that formats a time opens the zone's file for a moment */
	fixture_start(&o);
	struct rlimit before = use_up_descriptors();
	ck_assert_int_eq(close(LAST_DESCRIPTOR), 0); /* leaves one descriptor for the server, and the client's */
	int late = client_connect();
	ask(late);
	must_be_idle();
	ck_assert(client_is_open(late));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	must_answer(late);
	close(late);
	fixture_stop();
}
END_TEST

START_TEST(without_descriptors_nobody_begins_to_accept)
{
	struct http_server server = {.options.listen_fd = dup(STDIN_FILENO)};
	int listen_fd = server.options.listen_fd;
	ck_assert_int_ge(listen_fd, 0);
	(void)use_up_descriptors();
	ck_assert(!http_accept_start(&server, http_server_hand_over));
	ck_assert_int_lt(fcntl(listen_fd, F_GETFD), 0);
	http_accept_stop(&server); /* harmless */
	ck_assert_int_eq(server.accept.listen_fd, -1);
}
END_TEST

START_TEST(a_connection_during_the_end_is_closed)
{
	struct http_server_options o = fixture_options();
	fixture_start(&o);
	int before = connected();
	http_server_drain(fixture_server(), 0);
	int fd = client_connect();
	ck_assert_uint_eq(client_await_close(fd), 0);
	struct http_server_stats stats;
	http_server_stats(fixture_server(), &stats);
	ck_assert_uint_eq(stats.connections, 1);
	close(before);
	fixture_stop();
}
END_TEST

START_TEST(stopping_closes_the_socket)
{
	struct http_server server = {.options.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	int listen_fd = server.options.listen_fd;
	ck_assert_int_ge(listen_fd, 0);
	ck_assert(http_accept_start(&server, http_server_hand_over));
	http_accept_stop(&server);
	ck_assert_int_lt(fcntl(listen_fd, F_GETFD), 0);
	ck_assert_int_eq(close(server.accept.wake), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_connections");
	TCase *t = tcase_create("http_connections");
	tcase_add_test(t, one_over_the_limit_waits_until_another_goes);
	tcase_add_test(t, few_connections_are_shared_out_among_few_threads);
	tcase_add_test(t, no_two_requests_have_one_id);
	tcase_add_test(t, slot_counts_never_fall_below_zero);
	tcase_add_test(t, a_connection_without_a_descriptor_is_served_later);
	tcase_add_test(t, without_descriptors_nobody_begins_to_accept);
	tcase_add_test(t, a_connection_during_the_end_is_closed);
	tcase_add_test(t, stopping_closes_the_socket);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
