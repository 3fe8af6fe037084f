#include "base/clock.h"
#include "cas/slow_disk.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A write that took so long, by the clock that cannot be moved. */
static int64_t long_ago(void)
{
	return cairn_clock_mono_ms() - CAIRN_SLOW_WRITE_MS;
}

START_TEST(a_quick_write_says_nothing)
{
	struct cairn_slow_disk d = {0};
	int64_t began_ms = cairn_slow_disk_begin(&d);
	ck_assert(!cairn_slow_disk_is_slow(&d) || cairn_clock_mono_ms() - began_ms >= CAIRN_SLOW_WRITE_MS);
	cairn_slow_disk_end(&d, cairn_clock_mono_ms() + 1); /* whatever this machine does meanwhile */
	ck_assert_uint_eq(atomic_load(&d.n_slow), 0);
	ck_assert_int_eq(atomic_load(&d.slow_until_ms), 0);
}
END_TEST

START_TEST(a_slow_one_is_remembered_for_a_while)
{
	struct cairn_slow_disk d = {0};
	cairn_slow_disk_end(&d, long_ago());
	ck_assert_uint_eq(atomic_load(&d.n_slow), 1);
	ck_assert(cairn_slow_disk_is_slow(&d));
	ck_assert_int_ge(atomic_load(&d.slow_until_ms), cairn_clock_mono_ms() + CAIRN_SLOW_DISK_LASTS_MS / 2);
	atomic_store(&d.slow_until_ms, cairn_clock_mono_ms());
	ck_assert(!cairn_slow_disk_is_slow(&d));
}
END_TEST

START_TEST(one_that_goes_on_is_seen)
{
	struct cairn_slow_disk d = {0};
	(void)cairn_slow_disk_begin(&d);
	int64_t began_ms = long_ago();
	atomic_store(&d.began_ms, began_ms);
	ck_assert(cairn_slow_disk_is_slow(&d));
	(void)cairn_slow_disk_begin(&d); /* another one, which ends at once */
	ck_assert_int_eq(atomic_load(&d.began_ms), began_ms);
	cairn_slow_disk_end(&d, cairn_clock_mono_ms() + 1);
	ck_assert(cairn_slow_disk_is_slow(&d));
	ck_assert_uint_eq(atomic_load(&d.n_slow), 0);
	cairn_slow_disk_end(&d, began_ms);
	ck_assert_int_eq(atomic_load(&d.began_ms), 0);
	ck_assert_uint_eq(atomic_load(&d.n_slow), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slow_disk");
	TCase *tc = tcase_create("slow_disk");
	tcase_add_test(tc, a_quick_write_says_nothing);
	tcase_add_test(tc, a_slow_one_is_remembered_for_a_while);
	tcase_add_test(tc, one_that_goes_on_is_seen);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
