#include "server/page/show.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

static const struct {
	uint64_t bytes;
	const char *text;
} SIZES[] = {
	{0, "0 B"},        {651, "651 B"},     {999, "999 B"},     {1000, "1.0 kB"},       {99949, "99.9 kB"},
	{99950, "100 kB"}, {999499, "999 kB"}, {999500, "1.0 MB"}, {4900000000, "4.9 GB"}, {UINT64_MAX, "18.4 EB"},
};

START_TEST(sizes)
{
	char text[SHOW_BYTES];
	ck_assert_str_eq(show_size(text, SIZES[_i].bytes), SIZES[_i].text);
}
END_TEST

START_TEST(counts_and_times)
{
	char text[SHOW_BYTES];
	ck_assert_str_eq(show_count(text, 0), "0");
	ck_assert_str_eq(show_count(text, 999), "999");
	ck_assert_str_eq(show_count(text, 1000), "1,000");
	ck_assert_str_eq(show_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	ck_assert_str_eq(show_time(text, 1793714700), "2026-11-03 14:05 UTC");
}
END_TEST

static const struct {
	int64_t age_s;
	const char *text;
} AGES[] = {
	{-5, ">just now<"},
	{0, ">just now<"},
	{59, ">just now<"},
	{60, ">1 min ago<"},
	{3599, ">59 min ago<"},
	{3600, ">1 h ago<"},
	{2 * 86400 - 1, ">47 h ago<"},
	{2 * 86400, ">2 d ago<"},
	{31 * 86400 - 1, ">30 d ago<"},
	{31 * 86400, ">2026-11-03<"},
};

START_TEST(ages)
{
	struct cairn_buf b = cairn_buf_init(256);
	show_age(&b, 1793714700, 1793714700 + AGES[_i].age_s);
	cairn_buf_add(&b, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)b.bytes, AGES[_i].text));
	ck_assert_ptr_nonnull(strstr((char *)b.bytes, "datetime=\"2026-11-03T14:05:00Z\""));
	cairn_buf_fini(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("show");
	TCase *c = tcase_create("show");
	tcase_add_loop_test(c, sizes, 0, sizeof(SIZES) / sizeof(SIZES[0]));
	tcase_add_test(c, counts_and_times);
	tcase_add_loop_test(c, ages, 0, sizeof(AGES) / sizeof(AGES[0]));
	suite_add_tcase(s, c);
	return run_suite(s);
}
