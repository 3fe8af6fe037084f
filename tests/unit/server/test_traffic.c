#include "server/traffic.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>

enum { STEP_MS = TRAFFIC_STEP_S * 1000 };

static const char *const ROUTES[] = {"a", "b", NULL};
static struct traffic t;
static struct metrics *m;
static struct traffic_step told[TRAFFIC_STEPS];
static int64_t begun_ms;

static void begin(void)
{
	t = (struct traffic){0};
	traffic_init(&t);
	m = metrics_new(ROUTES);
}

static void end(void)
{
	traffic_fini(&t);
	metrics_free(m);
}

static void ended(unsigned n, unsigned code, uint64_t us)
{
	for (unsigned i = 0; i < n; i++)
		metrics_request(m, ROUTES[i % 2], code, 0, 0, us);
}

START_TEST(requests_before_the_first_sample_do_not_count)
{
	ended(7, 500, 1000);
	ck_assert_uint_eq(traffic_read(&t, m, 0, told, &begun_ms), 0);
	traffic_sample(&t, m, STEP_MS + 500);
	ended(3, 200, 1000);
	ck_assert_uint_eq(traffic_read(&t, m, STEP_MS + 700, told, &begun_ms), 1);
	ck_assert_uint_eq(told[0].n, 3);
	ck_assert_uint_eq(told[0].failed, 0);
	ck_assert_int_eq(begun_ms, 700);
}
END_TEST

/* A step begins with the first call within it. Later calls in it change nothing. */
START_TEST(steps)
{
	traffic_sample(&t, m, 0);
	ended(100, 200, 900);
	traffic_sample(&t, m, STEP_MS - 1);
	ended(2, 503, 40000);
	traffic_sample(&t, m, STEP_MS);
	ended(1, 200, 70000000);
	traffic_sample(&t, m, STEP_MS + 1);
	ck_assert_uint_eq(traffic_read(&t, m, STEP_MS + 2, told, &begun_ms), 2);
	ck_assert_uint_eq(told[1].n, 102);
	ck_assert_uint_eq(told[1].failed, 2);
	ck_assert_uint_eq(told[1].half_us, 1000);
	ck_assert_uint_eq(told[1].most_us, 1000);
	ck_assert(!told[1].is_over);
	ck_assert_uint_eq(told[0].n, 1);
	ck_assert_uint_eq(told[0].most_us, 60000000);
	ck_assert(told[0].is_over);
}
END_TEST

START_TEST(bounds)
{
	traffic_sample(&t, m, 0);
	ended(50, 200, 5000);
	ended(44, 200, 5001);
	ended(6, 200, 400000);
	(void)traffic_read(&t, m, 1, told, &begun_ms);
	ck_assert_uint_eq(told[0].half_us, 5000);
	ck_assert_uint_eq(told[0].most_us, 500000);
	ended(20, 200, 5001);
	(void)traffic_read(&t, m, 1, told, &begun_ms);
	ck_assert_uint_eq(told[0].half_us, 10000);
	ck_assert_uint_eq(told[0].most_us, 10000);
}
END_TEST

/* After a late call, only the mean of the missed steps is known. A clock that stands still changes nothing. */
START_TEST(late)
{
	traffic_sample(&t, m, 0);
	ended(7, 500, 5);
	traffic_sample(&t, m, 3 * STEP_MS);
	traffic_sample(&t, m, 3 * STEP_MS);
	ck_assert_uint_eq(traffic_read(&t, m, 3 * STEP_MS, told, &begun_ms), 4);
	ck_assert_uint_eq(told[0].n, 0);
	for (unsigned i = 1; i < 4; i++)
		ck_assert(told[i].n == 3 && told[i].failed == 3 && told[i].n_steps == 3);
	traffic_sample(&t, m, 1000000LL * STEP_MS);
	ck_assert_uint_eq(traffic_read(&t, m, 1000000LL * STEP_MS, told, &begun_ms), TRAFFIC_STEPS);
	for (unsigned i = 0; i < TRAFFIC_STEPS; i++)
		ck_assert_uint_eq(told[i].n, 0);
}
END_TEST

START_TEST(ring)
{
	for (int64_t i = 0; i <= 2 * TRAFFIC_STEPS; i++) {
		traffic_sample(&t, m, i * STEP_MS);
		ended((unsigned)i, 200, 5);
	}
	ck_assert_uint_eq(traffic_read(&t, m, 2LL * TRAFFIC_STEPS * STEP_MS, told, &begun_ms), TRAFFIC_STEPS);
	for (unsigned i = 0; i < TRAFFIC_STEPS; i++)
		ck_assert_uint_eq(told[i].n, 2 * TRAFFIC_STEPS - i);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("traffic");
	TCase *c = tcase_create("traffic");
	tcase_add_checked_fixture(c, begin, end);
	tcase_add_test(c, requests_before_the_first_sample_do_not_count);
	tcase_add_test(c, steps);
	tcase_add_test(c, bounds);
	tcase_add_test(c, late);
	tcase_add_test(c, ring);
	suite_add_tcase(s, c);
	return run_suite(s);
}
