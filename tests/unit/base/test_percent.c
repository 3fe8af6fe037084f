/* Percent-encoding, byte by byte and back. */
#include "base/percent.h"
#include "support/run.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Compares with printf and the letters of RFC 3986. */
START_TEST(every_byte_is_encoded_or_stands_for_itself)
{
	for (int byte = 1; byte < 256; byte++) {
		char text[2] = {(char)byte, '\0'}, out[4], wanted[4], back[2];
		bool plain = byte < 128 && (strchr("-._~", byte) || (byte >= '0' && byte <= '9') ||
					    ((byte | 32) >= 'a' && (byte | 32) <= 'z'));
		(void)snprintf(wanted, sizeof(wanted), plain ? "%c" : "%%%02X", (unsigned)byte);
		cairn_percent_encode(out, text, CAIRN_PERCENT_UNRESERVED);
		ck_assert_str_eq(out, wanted);
		ck_assert(cairn_percent_decode(back, sizeof(back), out));
		ck_assert_str_eq(back, text);
	}
}
END_TEST

START_TEST(the_caller_says_which_bytes_stay)
{
	char text[64];
	(void)cairn_percent_encode(text, "a/\xc3\xbc ~", CAIRN_PERCENT_UNRESERVED);
	ck_assert_str_eq(text, "a%2F%C3%BC%20~");
	(void)cairn_percent_encode(text, "a/b?#%", CAIRN_PERCENT_PATH);
	ck_assert_str_eq(text, "a/b%3F%23%25");
	(void)cairn_percent_encode(text, "", CAIRN_PERCENT_PATH);
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(the_same_is_appended)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(12);
	cairn_percent_add(&text, "x=", "=x");
	cairn_percent_add(&text, "a/\xc3\xa9", CAIRN_PERCENT_UNRESERVED);
	ck_assert_int_eq(text.status, CAIRN_OK);
	ck_assert_uint_eq(text.len, strlen("x=a%2F%C3%A9"));
	ck_assert_mem_eq(text.bytes, "x=a%2F%C3%A9", text.len);
	cairn_percent_add(&text, "b", CAIRN_PERCENT_PATH);
	ck_assert_int_eq(text.status, CAIRN_E_LIMIT);
}
END_TEST

START_TEST(decodes_whole_texts_that_fit)
{
	char out[8];
	ck_assert(cairn_percent_decode(out, sizeof(out), "a%2Fb+%c3%BC"));
	ck_assert_str_eq(out, "a/b+\xc3\xbc");
	ck_assert(cairn_percent_decode(out, sizeof(out), ""));
	ck_assert_str_eq(out, "");
	ck_assert(cairn_percent_decode(out, sizeof(out), "1234567"));
	static const char *const BAD[] = {"12345678", "%", "%2", "%zz", "%2z", "%00", "a%", "1234567%41"};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		ck_assert_msg(!cairn_percent_decode(out, sizeof(out), BAD[i]), "%s", BAD[i]);
		ck_assert_str_eq(out, "");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("percent");
	TCase *t = tcase_create("percent");
	tcase_add_test(t, every_byte_is_encoded_or_stands_for_itself);
	tcase_add_test(t, the_caller_says_which_bytes_stay);
	tcase_add_test(t, the_same_is_appended);
	tcase_add_test(t, decodes_whole_texts_that_fit);
	suite_add_tcase(s, t);
	return run_suite(s);
}
