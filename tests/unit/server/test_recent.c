#include "server/recent.h"
#include "support/run.h"

#include <check.h>

static struct recent r;
static struct recent_list told;

static void ended(int64_t at_unix_s, unsigned code, uint64_t duration_us)
{
	recent_add(&r, &(struct recent_request){.at_unix_s = at_unix_s, .code = code, .duration_us = duration_us});
}

static void begin(void)
{
	r = (struct recent){0};
	recent_init(&r);
}

static void end(void)
{
	recent_fini(&r);
}

START_TEST(keeps_slow_and_failed_requests)
{
	ended(1000, 200, RECENT_SLOW_US - 1);
	ended(1000, 499, RECENT_SLOW_US);
	ended(1001, 500, 5);
	ended(1002, 503, 3 * RECENT_SLOW_US);
	ended(1003, 200, 2 * RECENT_SLOW_US);
	recent_failed(&r, 1004, &told);
	ck_assert_uint_eq(told.n, 2);
	ck_assert_uint_eq(told.all[0].code, 503);
	ck_assert_uint_eq(told.all[1].code, 500);
	recent_slow(&r, 1004, &told);
	ck_assert_uint_eq(told.n, 3);
	ck_assert_int_eq(told.all[0].at_unix_s, 1002);
	ck_assert_int_eq(told.all[1].at_unix_s, 1003);
	ck_assert_int_eq(told.all[2].at_unix_s, 1000);
	recent_failed(&r, 1001 + RECENT_SPAN_S, &told);
	ck_assert_uint_eq(told.n, 1);
	ck_assert(!told.more);
}
END_TEST

START_TEST(more_than_is_kept)
{
	for (int i = 0; i < RECENT_KEPT; i++)
		ended(i, 500, 0);
	recent_failed(&r, RECENT_KEPT, &told);
	ck_assert(told.n == RECENT_KEPT && !told.more);
	ended(RECENT_KEPT, 500, 0);
	recent_failed(&r, RECENT_KEPT, &told);
	ck_assert(told.n == RECENT_KEPT && told.more);
	ck_assert_int_eq(told.all[0].at_unix_s, RECENT_KEPT);
	ck_assert_int_eq(told.all[RECENT_KEPT - 1].at_unix_s, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("recent");
	TCase *c = tcase_create("recent");
	tcase_add_checked_fixture(c, begin, end);
	tcase_add_test(c, keeps_slow_and_failed_requests);
	tcase_add_test(c, more_than_is_kept);
	suite_add_tcase(s, c);
	return run_suite(s);
}
