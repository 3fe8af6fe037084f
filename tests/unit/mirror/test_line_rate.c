/* How many bytes a second may come from the upstream. */
#include "mirror/net/rate.h"
#include "support/run.h"

#include <check.h>

enum { START_MS = 1000000 };

/* Takes pieces as soon as they may come. @return how many bytes came within a time */
static uint64_t taken(struct mirror_rate *rate, uint64_t piece_bytes, int64_t from_ms, int64_t until_ms)
{
	uint64_t n = 0;
	for (int64_t now_ms = from_ms; now_ms < until_ms;) {
		int64_t wait_ms = mirror_rate_wait_ms(rate, now_ms);
		if (wait_ms == 0) {
			mirror_rate_take(rate, piece_bytes);
			n += piece_bytes;
		}
		now_ms += wait_ms;
	}
	return n;
}

START_TEST(bytes_come_at_the_rate)
{
	static const uint64_t RATES[] = {1, 999, 1000, 10 << 20, UINT64_C(1) << 40};
	for (size_t i = 0; i < sizeof(RATES) / sizeof(RATES[0]); i++) {
		struct mirror_rate rate = {.bytes_s = RATES[i]};
		uint64_t piece = RATES[i] / 100 + 1, n = taken(&rate, piece, START_MS, START_MS + 100000);
		ck_assert_uint_le(n, RATES[i] * 100 + RATES[i] / 4 + 1 + piece);
		ck_assert_uint_ge(n, RATES[i] * 95);
	}
}
END_TEST

START_TEST(too_much_at_once_is_waited_for)
{
	struct mirror_rate rate = {.bytes_s = 1000};
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS), 0);
	mirror_rate_take(&rate, 5251);
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS), 5001);
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS + 5000), 1);
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS + 5001), 0);
}
END_TEST

START_TEST(a_quiet_time_saves_little)
{
	struct mirror_rate rate = {.bytes_s = UINT64_C(1) << 40};
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS), 0);
	mirror_rate_take(&rate, 1);
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, INT64_MAX / 2), 0);
	mirror_rate_take(&rate, (UINT64_C(1) << 38) + 1);
	ck_assert_int_gt(mirror_rate_wait_ms(&rate, INT64_MAX / 2), 0);
}
END_TEST

START_TEST(looks_in_quick_succession_lose_no_time)
{
	struct mirror_rate rate = {.bytes_s = 100};
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS), 0);
	mirror_rate_take(&rate, 126); /* all saved bytes, and 100 more */
	int64_t now_ms = START_MS;
	while (mirror_rate_wait_ms(&rate, now_ms) > 0)
		now_ms++;
	ck_assert_int_le(now_ms, START_MS + 1011);
}
END_TEST

START_TEST(without_a_rate_nothing_waits)
{
	struct mirror_rate rate = {.bytes_s = 0};
	mirror_rate_take(&rate, UINT64_MAX);
	ck_assert_int_eq(mirror_rate_wait_ms(&rate, START_MS), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rate");
	TCase *tcase = tcase_create("rate");
	tcase_add_test(tcase, bytes_come_at_the_rate);
	tcase_add_test(tcase, too_much_at_once_is_waited_for);
	tcase_add_test(tcase, a_quiet_time_saves_little);
	tcase_add_test(tcase, looks_in_quick_succession_lose_no_time);
	tcase_add_test(tcase, without_a_rate_nothing_waits);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
