#include "server/http/http_accept.h"
#include "support/run.h"

#include <check.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS = 3 };

static struct http_thread threads[THREADS];
static struct http_server server;

static void setup(void)
{
	server = (struct http_server){.threads = threads, .n_threads = THREADS};
	server.accept.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ge(server.accept.wake, 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = (struct http_thread){.server = &server};
}

static void teardown(void)
{
	(void)close(server.accept.wake);
}

static bool was_woken(void)
{
	uint64_t n;
	return read(server.accept.wake, &n, sizeof(n)) == sizeof(n);
}

START_TEST(threads_for_so_many_connections)
{
	static const struct {
		unsigned connections_max, processors, threads;
	} cases[] = {
		{2, 2, 2},    {112, 1, 2},    {224, 2, 2},    {225, 2, 3},       {1008, 2, 9},
		{1008, 9, 9}, {1008, 16, 16}, {1008, 64, 64}, {1008, 1000, 126}, {16384, 2, 147},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(http_accept_n_threads(cases[i].connections_max, cases[i].processors),
				  cases[i].threads);
}
END_TEST

START_TEST(few_connections_share_few_threads)
{
	ck_assert_uint_eq(http_accept_n_serving(9, 0, 2), 2);
	ck_assert_uint_eq(http_accept_n_serving(9, 95, 2), 2);
	ck_assert_uint_eq(http_accept_n_serving(9, 96, 2), 3);
	ck_assert_uint_eq(http_accept_n_serving(9, 287, 2), 8);
	ck_assert_uint_eq(http_accept_n_serving(9, 1008, 2), 9);
	ck_assert_uint_eq(http_accept_n_serving(16, 0, 16), 16); /* no processor stays idle */
	ck_assert_uint_eq(http_accept_n_serving(9, 0, 1), 2);
}
END_TEST

START_TEST(a_thread_takes_so_many_and_no_more)
{
	for (int i = 0; i < HTTP_THREAD_CONNS; i++)
		ck_assert(http_thread_take_slot(&threads[0]));
	ck_assert(!http_thread_take_slot(&threads[0]));
	ck_assert(http_thread_take_slot(&threads[1]));
	ck_assert(!was_woken()); /* nobody was waiting */
	http_thread_begins(&threads[0]);
	atomic_store(&server.accept.full, true);
	http_thread_closed(&threads[0]);
	ck_assert(was_woken());
	ck_assert(http_thread_take_slot(&threads[0]));
	ck_assert(!http_thread_take_slot(&threads[0]));
}
END_TEST

START_TEST(a_lost_connection_frees_its_slot)
{
	for (int i = 0; i < HTTP_THREAD_CONNS; i++)
		ck_assert(http_thread_take_slot(&threads[2]));
	for (int i = 1; i < HTTP_THREAD_CONNS; i++)
		http_thread_begins(&threads[2]); /* only one connection has begun */
	http_threads_recount(&server);
	ck_assert(!http_thread_take_slot(&threads[2])); /* a connection may still be on its way */
	http_threads_recount(&server);
	atomic_store(&server.accept.full, true);
	http_threads_recount(&server);
	ck_assert(was_woken());
	ck_assert(http_thread_take_slot(&threads[2]));
	ck_assert(!http_thread_take_slot(&threads[2]));
}
END_TEST

START_TEST(a_closed_connection_frees_its_slot)
{
	for (int i = 0; i < HTTP_THREAD_CONNS; i++) {
		ck_assert(http_thread_take_slot(&threads[0]));
		http_thread_begins(&threads[0]);
		http_thread_closed(&threads[0]);
	}
	http_threads_recount(&server);
	http_threads_recount(&server);
	ck_assert(http_thread_take_slot(&threads[0]));
}
END_TEST

START_TEST(stopping_before_the_start_does_nothing)
{
	http_accept_stop(&server);
	ck_assert(!was_woken());
	ck_assert(!atomic_load(&server.accept.stopping));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_accept");
	TCase *tc = tcase_create("slots");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, threads_for_so_many_connections);
	tcase_add_test(tc, few_connections_share_few_threads);
	tcase_add_test(tc, a_thread_takes_so_many_and_no_more);
	tcase_add_test(tc, a_lost_connection_frees_its_slot);
	tcase_add_test(tc, a_closed_connection_frees_its_slot);
	tcase_add_test(tc, stopping_before_the_start_does_nothing);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
