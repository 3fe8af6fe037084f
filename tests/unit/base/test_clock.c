/* Times as text. */
#include "base/clock.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <unistd.h>

static const struct {
	int64_t unix_s;
	const char *text, *basic;
} TIMES[] = {
	{0, "1970-01-01T00:00:00Z", "19700101T000000Z"},
	{-1, "1969-12-31T23:59:59Z", "19691231T235959Z"},
	{1369353600, "2013-05-24T00:00:00Z", "20130524T000000Z"},
	{INT64_C(253402300799), "9999-12-31T23:59:59Z", "99991231T235959Z"},
	{INT64_C(253402300800), "10000-01-01T00:00:00Z", ""},
	{INT64_MAX, "", ""},
	{INT64_MIN, "", ""},
};

START_TEST(times_as_text)
{
	char text[CAIRN_TIME_TEXT_BYTES], basic[CAIRN_TIME_BASIC_BYTES];
	ck_assert_ptr_eq(cairn_time_text(text, TIMES[_i].unix_s), text);
	ck_assert_str_eq(text, TIMES[_i].text);
	ck_assert_ptr_eq(cairn_time_basic(basic, TIMES[_i].unix_s), basic);
	ck_assert_str_eq(basic, TIMES[_i].basic);
}
END_TEST

/* A test clock whose file was truncated, as on a failing disk, keeps its last shift. */
START_TEST(a_truncated_clock_file_keeps_the_last_shift)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "clock");
	uint8_t shift[8] = {0, 0, 0, 0, 1}; /* 2^32 seconds */
	int64_t now_unix_s = cairn_clock_unix_s();
	tempdir_write(&dir, "clock", shift, 7);
	ck_assert_int_eq(cairn_clock_use_file(path), CAIRN_E_IO);
	tempdir_write(&dir, "clock", shift, 8);
	ck_assert_int_eq(cairn_clock_use_file(path), CAIRN_OK);
	for (int i = 0; i < 2; i++) {
		int64_t shifted_s = cairn_clock_unix_s() - now_unix_s - (INT64_C(1) << 32);
		ck_assert(shifted_s >= 0 && shifted_s < 1000);
		ck_assert_int_eq(truncate(path, 0), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clock");
	TCase *t = tcase_create("text");
	tcase_add_loop_test(t, times_as_text, 0, sizeof(TIMES) / sizeof(TIMES[0]));
	tcase_add_test(t, a_truncated_clock_file_keeps_the_last_shift);
	suite_add_tcase(s, t);
	return run_suite(s);
}
