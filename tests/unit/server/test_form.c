#include "server/ask/form.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(reads_fields)
{
	static const char TEXT[] = "name=a+b&empty=&alone&pct=%3Cb%3e%C3%A9&name=second&&x=1=2";
	struct form form;
	ck_assert(form_read(&form, TEXT, sizeof(TEXT) - 1));
	ck_assert_uint_eq(form.n, 6);
	ck_assert_str_eq(form_value(&form, "name"), "a b");
	ck_assert_str_eq(form_value(&form, "empty"), "");
	ck_assert_str_eq(form_value(&form, "alone"), "");
	ck_assert_str_eq(form_value(&form, "pct"), "<b>\xc3\xa9");
	ck_assert_str_eq(form_value(&form, "x"), "1=2");
	ck_assert_str_eq(form_value(&form, "absent"), "");
	form_fini(&form);
	ck_assert(form_read(&form, NULL, 0));
	ck_assert_str_eq(form_value(&form, "name"), "");
	form_fini(&form);
}
END_TEST

START_TEST(reads_numbers)
{
	static const char TEXT[] = "id=12&twice=1&twice=2&x=12x&blank=+5&sign=%2B5&minus=-5&empty=";
	static const char *const WRONG_NAMES[] = {"x", "blank", "sign", "minus", "empty", "absent"};
	struct form form;
	uint64_t n = 7;
	ck_assert(form_read(&form, TEXT, sizeof(TEXT) - 1));
	for (size_t i = 0; i < sizeof(WRONG_NAMES) / sizeof(WRONG_NAMES[0]); i++)
		ck_assert_msg(!form_number(&form, WRONG_NAMES[i], 0, UINT64_MAX, &n) && n == 7, "%s", WRONG_NAMES[i]);
	ck_assert(!form_number(&form, "id", 0, 11, &n) && !form_number(&form, "id", 13, 99, &n) && n == 7);
	ck_assert(form_number(&form, "id", 12, 12, &n) && n == 12);
	ck_assert(form_number(&form, "twice", 0, UINT64_MAX, &n) && n == 1);
	form_fini(&form);
}
END_TEST

static const struct {
	const char *text;
	size_t len;
} WRONG[] = {
	{"a=%", 3}, {"a=%4", 4}, {"a=%zz", 5}, {"a=%00", 5}, {"%0=a", 4}, {"a=\0b", 4}, {"%00=1", 5},
};

START_TEST(refuses_malformed_forms)
{
	struct form form;
	ck_assert(!form_read(&form, WRONG[_i].text, WRONG[_i].len));
	ck_assert_ptr_null(form.text);
}
END_TEST

START_TEST(has_a_limit)
{
	char text[4 * FORM_FIELDS_MAX + 8] = "";
	struct form form;
	for (int i = 0; i < FORM_FIELDS_MAX; i++)
		memcpy(text + strlen(text), "a=1&", 5);
	ck_assert(form_read(&form, text, strlen(text)));
	form_fini(&form);
	memcpy(text + strlen(text), "b", 2);
	ck_assert(!form_read(&form, text, strlen(text)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("form");
	TCase *c = tcase_create("form");
	tcase_add_test(c, reads_fields);
	tcase_add_test(c, reads_numbers);
	tcase_add_loop_test(c, refuses_malformed_forms, 0, sizeof(WRONG) / sizeof(WRONG[0]));
	tcase_add_test(c, has_a_limit);
	suite_add_tcase(s, c);
	return run_suite(s);
}
