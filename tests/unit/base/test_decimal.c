/* Decimal text, compared with printf. */
#include "base/decimal.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>

static void check_number(uint64_t n)
{
	char wanted[32], got[CAIRN_DECIMAL_TEXT_MAX + 2];
	int len = snprintf(wanted, sizeof(wanted), "%" PRIu64, n);
	got[len] = '#';
	ck_assert_ptr_eq(cairn_decimal_text(got, n), got + len);
	ck_assert_mem_eq(got, wanted, (size_t)len);
	ck_assert_int_eq(got[len], '#');
}

START_TEST(numbers_of_every_length)
{
	check_number(0);
	check_number(UINT64_MAX);
	for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power + 1);
		check_number(power * 9 + 7);
	}
	for (uint64_t n = 0; n < 20000; n++)
		check_number(n);
}
END_TEST

START_TEST(numbers_are_read_or_refused)
{
	uint64_t n = 1;
	ck_assert(cairn_decimal_parse("0", 0, UINT64_MAX, &n));
	ck_assert_uint_eq(n, 0);
	ck_assert(cairn_decimal_parse("18446744073709551615", 0, UINT64_MAX, &n));
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert(cairn_decimal_parse("007", 7, 7, &n));
	ck_assert_uint_eq(n, 7);
	static const char *const BAD[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "1x",
					  "x",
					  "0x1",
					  "1.0",
					  "1e1",
					  "18446744073709551616",
					  "99999999999999999999"};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(!cairn_decimal_parse(BAD[i], 0, UINT64_MAX, &n) && n == 7, "%s", BAD[i]);
}
END_TEST

START_TEST(numbers_have_limits)
{
	uint64_t n = 1;
	ck_assert(!cairn_decimal_parse("4", 5, 12, &n));
	ck_assert(!cairn_decimal_parse("13", 5, 12, &n));
	ck_assert_uint_eq(n, 1);
	ck_assert(cairn_decimal_parse("5", 5, 12, &n));
	ck_assert_uint_eq(n, 5);
	ck_assert(cairn_decimal_parse("12", 5, 12, &n));
	ck_assert_uint_eq(n, 12);
}
END_TEST

START_TEST(a_number_is_read_up_to_the_text_after_it)
{
	static const char *const BAD[] = {"", "-1", " 1", "x", "18446744073709551616-"};
	const char *text = "12-18446744073709551615x";
	uint64_t n = 7;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		const char *bad = BAD[i];
		ck_assert_msg(!cairn_decimal_read(&bad, &n) && n == 7 && bad == BAD[i], "%s", BAD[i]);
	}
	ck_assert(cairn_decimal_read(&text, &n));
	ck_assert_uint_eq(n, 12);
	ck_assert_str_eq(text++, "-18446744073709551615x");
	ck_assert(cairn_decimal_read(&text, &n));
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert_str_eq(text, "x");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("decimal");
	TCase *t = tcase_create("text");
	tcase_add_test(t, numbers_of_every_length);
	tcase_add_test(t, numbers_are_read_or_refused);
	tcase_add_test(t, numbers_have_limits);
	tcase_add_test(t, a_number_is_read_up_to_the_text_after_it);
	suite_add_tcase(s, t);
	return run_suite(s);
}
