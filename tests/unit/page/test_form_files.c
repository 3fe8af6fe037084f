#include "server/page/form_files.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE  "multipart/form-data; boundary=XX"
#define FIELD "--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nwhat\r\n"
#define FILE_PART                                                                                                      \
	"--XX\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a;%22b.txt\"\r\nContent-Type: "            \
	"text/plain\r\n\r\none\r\n--X\r\n\r\n"
#define EMPTY "--XX\r\ncontent-disposition: form-data; filename=\"\"; name=\"files\"\r\n\r\n\r\n"

static struct form_files got;

/* Reads a form. The text is copied to its exact length, so that a sanitizer notices a read past the end. */
static bool reads(const char *type, const char *text, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	bool good = form_files_read(&got, type, copy, len);
	for (unsigned i = 0; good && i < got.n; i++)
		ck_assert(got.parts[i].bytes >= copy && got.parts[i].bytes + got.parts[i].len <= copy + len);
	free(copy);
	return good;
}

START_TEST(parts)
{
	static const char TEXT[] = FIELD FILE_PART EMPTY "--XX--\r\n";
	char value[8];
	ck_assert(form_files_read(&got, TYPE, (const uint8_t *)TEXT, sizeof(TEXT) - 1));
	ck_assert_uint_eq(got.n, 3);
	ck_assert(!got.parts[0].is_file && got.parts[1].is_file && got.parts[2].is_file);
	ck_assert_str_eq(got.parts[1].file, "a;\"b.txt");
	ck_assert_uint_eq(got.parts[1].len, 10);
	ck_assert_mem_eq(got.parts[1].bytes, "one\r\n--X\r\n", 10);
	ck_assert_uint_eq(got.parts[2].len, 0);
	ck_assert(form_files_value(&got, "title", value, sizeof(value)));
	ck_assert_str_eq(value, "what");
	ck_assert(form_files_value(&got, "files", value, sizeof(value)) && !value[0]);
	ck_assert(!form_files_value(&got, "title", value, 4));
	ck_assert(
		form_files_read(&got, "Multipart/Form-Data; boundary=\"XX\"", (const uint8_t *)TEXT, sizeof(TEXT) - 1));
}
END_TEST

START_TEST(cut_anywhere)
{
	static const char TEXT[] = FIELD FILE_PART EMPTY "--XX--\r\n";
	for (size_t len = 0; len < sizeof(TEXT) - 1; len++) /* always without the end of the last line */
		ck_assert_msg(reads(TYPE, TEXT, len) == (len >= sizeof(TEXT) - 3), "%zu", len);
}
END_TEST

START_TEST(malformed_forms_are_refused)
{
	static const char *const TYPES[] = {NULL,
					    "",
					    "text/plain; boundary=XX",
					    "multipart/form-data",
					    "multipart/form-data; boundary=",
					    "multipart/form-data; boundary=X"};
	static const char *const BAD[] = {
		"",
		"--XX",
		"--XX--",
		"XX",
		"--XX\r\n\r\nno name\r\n--XX--",
		"--XX\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--XX--",
		"--XX\r\nContent-Disposition: form-data; name=\"a\r\n\r\n\r\n--XX--",
		"--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--XX--",
	};
	char text[4096];
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
		ck_assert(!reads(TYPES[i], FIELD "--XX--", strlen(FIELD "--XX--")));
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(!reads(TYPE, BAD[i], strlen(BAD[i])) || got.n == 0, "%s", BAD[i]);
	for (int len = FORM_NAME_MAX; len <= FORM_NAME_MAX + 1; len++) {
		(void)snprintf(text, sizeof(text),
			       "--XX\r\nContent-Disposition: form-data; name=\"%0*d\"\r\n\r\n\r\n--XX--", len, 0);
		ck_assert_int_eq(reads(TYPE, text, strlen(text)), len == FORM_NAME_MAX);
	}
	for (int len = FORM_FILE_MAX; len <= FORM_FILE_MAX + 1; len++) {
		(void)snprintf(
			text, sizeof(text),
			"--XX\r\nContent-Disposition: form-data; name=\"a\"; filename=\"%0*d\"\r\n\r\n\r\n--XX--", len,
			0);
		ck_assert_int_eq(reads(TYPE, text, strlen(text)), len == FORM_FILE_MAX);
	}
}
END_TEST

START_TEST(many)
{
	for (unsigned n = FORM_PARTS_MAX; n <= FORM_PARTS_MAX + 1; n++) {
		char text[8192] = "";
		for (unsigned i = 0; i < n; i++)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", FIELD);
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "--XX--");
		ck_assert_int_eq(reads(TYPE, text, strlen(text)), n == FORM_PARTS_MAX);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("form_files");
	TCase *c = tcase_create("form_files");
	tcase_add_test(c, parts);
	tcase_add_test(c, cut_anywhere);
	tcase_add_test(c, malformed_forms_are_refused);
	tcase_add_test(c, many);
	suite_add_tcase(s, c);
	return run_suite(s);
}
