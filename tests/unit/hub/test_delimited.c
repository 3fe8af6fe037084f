#include "hub/delimited.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns fields and rows as they are read, like "a|b/c|d/"; "~" where the bytes end within a field. */
static const char *read_all(const char *bytes, size_t len, char separator, bool is_cut)
{
	static char out[1024];
	struct cairn_delimited d;
	size_t n = 0;
	cairn_delimited_begin(&d, bytes, len, separator, is_cut);
	for (;;) {
		char field[64];
		size_t field_len;
		enum cairn_delimited_end end = cairn_delimited_next(&d, field, sizeof(field), &field_len);
		if (end == CAIRN_DELIMITED_NONE)
			break;
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s%s", (int)field_len, field,
				      end == CAIRN_DELIMITED_FIELD ? "|"
				      : end == CAIRN_DELIMITED_ROW ? "/"
								   : "~");
	}
	out[n] = '\0';
	return out;
}

static const struct {
	const char *bytes, *expected;
	char separator;
	bool is_cut;
} CASES[] = {
	{"", "", 0, false},
	{"a,b\n1,2\n", "a|b/1|2/", 0, false},
	{"a,b\r\n1,2", "a|b/1|2/", 0, false},
	{"a,b\r1,2\r", "a|b/1|2/", 0, false},
	{"a,\n,b\n,", "a|/|b/|/", 0, false},
	{"\n\na\n", "//a/", 0, false},
	{"\xef\xbb\xbf\"a\",b", "a|b/", 0, false},
	{"a;b,c;d\n1;2;3\n", "a|b,c|d/1|2|3/", 0, false},
	{"\"a,b,c\"\td\n", "a,b,c|d/", 0, false},
	{"a,b\tc\n", "a,b|c/", '\t', false},
	{"\"a,b\",\"c\nd\"\n", "a,b|c\nd/", 0, false},
	{"\"a\"\"b\",\"\"\"\",\"\"\n", "a\"b|\"|/", 0, false},
	{"a\"b,c\"\"d\n", "a\"b|c\"\"d/", 0, false},
	{"\"a\"b\"c\",d\n", "ab\"c\"|d/", 0, false},
	{"\"never closed,\n1,2\n", "never closed,\n1,2\n/", 0, false},
	{"a,b\n1,2", "a|b/1|2~", 0, true},
	{"a,b\n1,", "a|b/1|~", 0, true},
	{"a,b\n", "a|b/", 0, true},
	{"a,\"b", "a|b~", 0, true},
};

START_TEST(reads)
{
	ck_assert_str_eq(read_all(CASES[_i].bytes, strlen(CASES[_i].bytes), CASES[_i].separator, CASES[_i].is_cut),
			 CASES[_i].expected);
}
END_TEST

/* If a file is cut anywhere, its whole rows are rows of the whole file. Reading ends, and stays within the bytes. */
START_TEST(cut_anywhere)
{
	static const char TEXT[] = "a,\"b \"\"x\"\"\n\",c\r\n1,2,3\r\n\"4\",,\"\"\r\n";
	char whole[1024];
	(void)snprintf(whole, sizeof(whole), "%s", read_all(TEXT, strlen(TEXT), ',', false));
	for (size_t len = 0; len <= strlen(TEXT); len++) {
		char *bytes = malloc(len + 1); /* lets a sanitizer notice a read past the end */
		ck_assert_ptr_nonnull(bytes);
		bytes = realloc(bytes, len ? len : 1);
		ck_assert_ptr_nonnull(bytes);
		memcpy(bytes, TEXT, len);
		const char *cut = read_all(bytes, len, ',', true), *last = strrchr(cut, '/');
		ck_assert_msg(!last || strncmp(whole, cut, (size_t)(last - cut) + 1) == 0, "%zu: %s", len, cut);
		free(bytes);
	}
}
END_TEST

START_TEST(long_fields)
{
	struct cairn_delimited d;
	char field[4];
	size_t len;
	cairn_delimited_begin(&d, "abcdefgh,\"ijklm\"\n", 17, 0, false);
	ck_assert_int_eq(cairn_delimited_next(&d, field, sizeof(field), &len), CAIRN_DELIMITED_FIELD);
	ck_assert(len == 8 && memcmp(field, "abcd", 4) == 0);
	ck_assert_int_eq(cairn_delimited_next(&d, field, sizeof(field), &len), CAIRN_DELIMITED_ROW);
	ck_assert(len == 5 && memcmp(field, "ijkl", 4) == 0);
	ck_assert_int_eq(cairn_delimited_next(&d, field, sizeof(field), &len), CAIRN_DELIMITED_NONE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("delimited");
	TCase *c = tcase_create("delimited");
	tcase_add_loop_test(c, reads, 0, sizeof(CASES) / sizeof(CASES[0]));
	tcase_add_test(c, cut_anywhere);
	tcase_add_test(c, long_fields);
	suite_add_tcase(s, c);
	return run_suite(s);
}
