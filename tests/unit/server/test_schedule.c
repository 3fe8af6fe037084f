/* Schedules: which texts are valid, and which moments they give. */
#include "server/schedule.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

#define DAY INT64_C(86400)
#define NOW (INT64_C(20000) * DAY + 12 * 3600) /* noon */

static struct schedule parse(const char *text)
{
	struct schedule s;
	ck_assert_msg(schedule_parse(&s, text), "%s", text);
	return s;
}

START_TEST(texts)
{
	static const char *const SAME[] = {"off", "1m", "61s", "6h", "1d", "1000d", "01:00-05:00", "23:30-00:15", NULL};
	static const char *const BAD[] = {"",
					  "on",
					  "0",
					  "59s",
					  "1001d",
					  "-1h",
					  "1.5h",
					  "1h ",
					  "1w",
					  "01:00",
					  "1:00-2:00",
					  "01:00-01:00",
					  "24:00-01:00",
					  "01:60-02:00",
					  "01:00-02:00 ",
					  "01:00-",
					  "99999999999999999999d",
					  NULL};
	char text[SCHEDULE_TEXT_BYTES];
	struct schedule s;
	for (size_t i = 0; SAME[i]; i++) {
		s = parse(SAME[i]);
		ck_assert_str_eq(schedule_text(text, &s), SAME[i]);
	}
	s = parse("86400");
	ck_assert_str_eq(schedule_text(text, &s), "1d");
	for (size_t i = 0; BAD[i]; i++)
		ck_assert_msg(!schedule_parse(&s, BAD[i]), "%s", BAD[i]);
}
END_TEST

START_TEST(never)
{
	struct schedule s = parse("off");
	ck_assert_int_eq(schedule_next(&s, 0, NOW, 1), 0);
}
END_TEST

START_TEST(each_so_often)
{
	struct schedule s = parse("10h");
	int64_t first = 0, last = 0;
	for (uint64_t salt = 0; salt < 1000; salt++) {
		int64_t next = schedule_next(&s, NOW - 7, NOW, salt) - (NOW - 7);
		ck_assert_int_eq(next + NOW - 7, schedule_next(&s, NOW - 7, NOW + 99, salt)); /* it stays the same */
		ck_assert_int_ge(next, 36000);
		ck_assert_int_le(next, 39600);
		first = first == 0 || next < first ? next : first;
		last = next > last ? next : last;
	}
	ck_assert_int_gt(last - first, 3000); /* the moments are spread */
	ck_assert_int_le(schedule_next(&s, NOW + 9999999, NOW, 3), NOW + 39600);
}
END_TEST

/* Returns the next moment. Checks that it is in the window of that day. */
static int64_t in_window(const char *text, int64_t last, int64_t now, int64_t begin, int64_t len)
{
	struct schedule s = parse(text);
	int64_t next = 0;
	for (uint64_t salt = 0; salt < 100; salt++) {
		next = schedule_next(&s, last, now, salt);
		ck_assert_int_ge(next, begin);
		ck_assert_int_lt(next, begin + len);
	}
	return next;
}

START_TEST(once_a_day)
{
	int64_t midnight = NOW - 12 * 3600;
	/* before the window, within it, done within it, after it, and after a long downtime */
	(void)in_window("14:00-15:30", NOW - DAY, NOW, midnight + 14 * 3600, 5400);
	(void)in_window("11:00-15:00", NOW - DAY, NOW, midnight + 11 * 3600, 14400);
	(void)in_window("11:00-15:00", NOW - 60, NOW, midnight + DAY + 11 * 3600, 14400);
	(void)in_window("10:00-11:00", NOW - DAY, NOW, midnight + DAY + 10 * 3600, 3600);
	(void)in_window("10:00-11:00", 0, NOW, midnight + DAY + 10 * 3600, 3600);
	/* a window that spans midnight */
	(void)in_window("22:00-02:00", NOW - DAY, midnight + 3600, midnight - 2 * 3600, 14400);
	(void)in_window("22:00-02:00", midnight - 60, midnight + 3600, midnight + 22 * 3600, 14400);
	(void)in_window("22:00-02:00", NOW - 2 * DAY, NOW, midnight + 22 * 3600, 14400);
	/* the clock was ahead at the last run */
	(void)in_window("11:00-15:00", NOW + 5 * DAY, NOW, midnight + DAY + 11 * 3600, 14400);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule");
	TCase *tc = tcase_create("schedule");
	tcase_add_test(tc, texts);
	tcase_add_test(tc, never);
	tcase_add_test(tc, each_so_often);
	tcase_add_test(tc, once_a_day);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
