/* How many threads can run at once: as many as the affinity mask allows, not as many as the machine has. */
#include "base/processors.h"
#include "support/run.h"

#include <check.h>
#include <sched.h>

START_TEST(a_mask_counts)
{
	cpu_set_t all, one;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	ck_assert_uint_eq(cairn_n_processors(), (unsigned)CPU_COUNT(&all));
	CPU_ZERO(&one);
	for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_uint_eq(cairn_n_processors(), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("processors");
	TCase *tc = tcase_create("mask");
	tcase_add_test(tc, a_mask_counts);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
