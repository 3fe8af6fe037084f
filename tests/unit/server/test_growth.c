#include "server/growth.h"
#include "support/run.h"
#include "support/tempdir.h"

#include "base/status.h"

#include <check.h>
#include <sys/stat.h>

enum { TODAY = 20000 };

static struct tempdir folder;
static struct growth g;

static void setup(void)
{
	folder = tempdir_new();
	CLEANUP(tempdir_textp) char *tmp = tempdir_path(&folder, "tmp"); /* every data folder has a folder tmp */
	ck_assert_int_eq(mkdir(tmp, 0700), 0);
	growth_open(&g, folder.path);
}

static void teardown(void)
{
	pthread_mutex_destroy(&g.lock);
	tempdir_fini(&folder);
}

static void take(int64_t day, int64_t bytes)
{
	ck_assert_int_eq(growth_take(&g, folder.path, day, bytes), CAIRN_OK);
}

static void assert_days(int64_t newest, int64_t first, int64_t second, int64_t third)
{
	int64_t bytes[GROWTH_DAYS];
	ck_assert_int_eq(growth_read(&g, bytes), newest);
	ck_assert_int_eq(bytes[0], first);
	ck_assert_int_eq(bytes[1], second);
	ck_assert_int_eq(bytes[2], third);
}

START_TEST(a_day_once)
{
	int64_t bytes[GROWTH_DAYS];
	ck_assert_int_eq(growth_read(&g, bytes), 0);
	take(TODAY, 5);
	assert_days(TODAY, 5, -1, -1);
	take(TODAY, 6);
	take(TODAY - 1, 7); /* from a clock that was set back */
	assert_days(TODAY, 5, -1, -1);
	take(TODAY + 1, 8);
	take(TODAY + 3, 9);
	assert_days(TODAY + 3, 9, -1, 8);
}
END_TEST

START_TEST(outlasts_the_process)
{
	take(TODAY, 5);
	take(TODAY + 1, 0);
	pthread_mutex_destroy(&g.lock);
	growth_open(&g, folder.path);
	assert_days(TODAY + 1, 0, 5, -1);
}
END_TEST

/* After a month all samples are too old. A clock that jumps far ahead has the same effect. */
START_TEST(forgets_old_samples)
{
	int64_t bytes[GROWTH_DAYS];
	take(TODAY, 5);
	take(TODAY + GROWTH_DAYS - 1, 6);
	(void)growth_read(&g, bytes);
	ck_assert_int_eq(bytes[GROWTH_DAYS - 1], 5);
	take(TODAY + GROWTH_DAYS, 7);
	assert_days(TODAY + GROWTH_DAYS, 7, 6, -1);
	take(INT64_MAX, 8);
	(void)growth_read(&g, bytes);
	for (size_t i = 1; i < GROWTH_DAYS; i++)
		ck_assert_int_eq(bytes[i], -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("growth");
	TCase *tc = tcase_create("growth");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_day_once);
	tcase_add_test(tc, outlasts_the_process);
	tcase_add_test(tc, forgets_old_samples);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
