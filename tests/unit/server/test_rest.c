/* A thread's rest ends when its time is over, when another thread wakes it (before the rest or during it), or when the
 * thread must end. */
#include "server/rest.h"

#include "base/clock.h"
#include "support/run.h"

#include <check.h>

#define LONG_US INT64_C(60000000) /* a test that waits this long exceeds its time limit */

START_TEST(by_time)
{
	struct rest r;
	rest_init(&r);
	int64_t began_ms = cairn_clock_mono_ms();
	ck_assert(rest_for(&r, 20 * 1000));
	ck_assert_int_ge(cairn_clock_mono_ms() - began_ms, 19);
	ck_assert(rest_for(&r, 0));
	rest_fini(&r);
}
END_TEST

START_TEST(woken_before)
{
	struct rest r;
	rest_init(&r);
	rest_wake(&r);
	ck_assert(rest_for(&r, LONG_US));
	int64_t began_ms = cairn_clock_mono_ms();
	ck_assert_msg(rest_for(&r, 20 * 1000), "one wake is one rest");
	ck_assert_int_ge(cairn_clock_mono_ms() - began_ms, 19);
	rest_fini(&r);
}
END_TEST

static void *rest_of_a_thread(void *arg)
{
	struct rest *r = arg;
	while (rest_for(r, LONG_US))
		continue;
	return NULL;
}

START_TEST(ended)
{
	struct rest r;
	pthread_t thread;
	rest_init(&r);
	ck_assert_int_eq(pthread_create(&thread, NULL, rest_of_a_thread, &r), 0);
	rest_wake(&r);
	rest_end(&r);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(!rest_for(&r, LONG_US));
	ck_assert_msg(!rest_for(&r, 0), "for good");
	rest_fini(&r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rest");
	TCase *tc = tcase_create("rest");
	tcase_add_test(tc, by_time);
	tcase_add_test(tc, woken_before);
	tcase_add_test(tc, ended);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
