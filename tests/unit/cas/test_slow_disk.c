#include "base/clock.h"
#include "cas/slow_disk.h"
#include "support/run.h"

#include <check.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

static int64_t long_ago_ms(void)
{
	return cairn_clock_mono_ms() - CAIRN_SLOW_WRITE_MS;
}

/* Sleeps, so that the thread has waited once, as for a slow disk. */
static void wait_a_little(void)
{
	(void)poll(NULL, 0, 1);
}

START_TEST(a_quick_write_says_nothing)
{
	struct cairn_slow_disk d = {0};
	struct cairn_slow_write write = cairn_slow_disk_begin(&d);
	wait_a_little();
	write.began_ms = cairn_clock_mono_ms() + 1; /* so that no time seems to have passed */
	cairn_slow_disk_end(&d, write);
	ck_assert_uint_eq(atomic_load(&d.n_slow), 0);
	ck_assert(!cairn_slow_disk_is_slow(&d));
}
END_TEST

START_TEST(a_slow_one_is_remembered_for_a_while)
{
	struct cairn_slow_disk d = {0};
	struct cairn_slow_write write = cairn_slow_disk_begin(&d);
	wait_a_little();
	write.began_ms = long_ago_ms();
	cairn_slow_disk_end(&d, write);
	ck_assert_uint_eq(atomic_load(&d.n_slow), 1);
	ck_assert(cairn_slow_disk_is_slow(&d));
	ck_assert_int_ge(atomic_load(&d.slow_until_ms), cairn_clock_mono_ms() + CAIRN_SLOW_DISK_LASTS_MS / 2);
	atomic_store(&d.slow_until_ms, cairn_clock_mono_ms());
	ck_assert(!cairn_slow_disk_is_slow(&d));
}
END_TEST

/* The write took long because the thread had no processor, so the disk does not count as slow. */
START_TEST(a_write_that_did_not_wait_is_not_slow)
{
	struct cairn_slow_disk d = {0};
	struct cairn_slow_write write = cairn_slow_disk_begin(&d);
	write.began_ms = long_ago_ms();
	cairn_slow_disk_end(&d, write);
	ck_assert_uint_eq(atomic_load(&d.n_slow), 0);
	ck_assert(!cairn_slow_disk_is_slow(&d));
}
END_TEST

START_TEST(while_nothing_moves_it_is_slow)
{
	struct cairn_slow_disk d = {0};
	struct cairn_slow_write first = cairn_slow_disk_begin(&d), second = cairn_slow_disk_begin(&d);
	atomic_store(&d.moved_ms, long_ago_ms());
	ck_assert(cairn_slow_disk_is_slow(&d));
	struct cairn_slow_write third = cairn_slow_disk_begin(&d); /* beginning a write is no progress */
	ck_assert(cairn_slow_disk_is_slow(&d));
	cairn_slow_disk_end(&d, third);
	ck_assert_int_gt(atomic_load(&d.moved_ms), long_ago_ms());
	cairn_slow_disk_end(&d, second);
	atomic_store(&d.moved_ms, long_ago_ms());
	ck_assert(cairn_slow_disk_is_slow(&d));
	cairn_slow_disk_end(&d, first);
	atomic_store(&d.moved_ms, long_ago_ms());
	ck_assert(!cairn_slow_disk_is_slow(&d)); /* no write is under way */
	first = cairn_slow_disk_begin(&d);
	ck_assert_int_gt(atomic_load(&d.moved_ms), long_ago_ms());
	cairn_slow_disk_end(&d, first);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slow_disk");
	TCase *tc = tcase_create("slow_disk");
	tcase_add_test(tc, a_quick_write_says_nothing);
	tcase_add_test(tc, a_slow_one_is_remembered_for_a_while);
	tcase_add_test(tc, a_write_that_did_not_wait_is_not_slow);
	tcase_add_test(tc, while_nothing_moves_it_is_slow);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
