#include "base/json.h"
#include "server/log/log.h"
#include "support/output.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void log_must_have_number(const struct cairn_json *line, const char *name, int64_t number)
{
	int64_t got = 0;
	ck_assert(cairn_json_i64_of(line, name, &got));
	ck_assert_int_eq(got, number);
}

/* Logs one text. Checks that the line is valid JSON. @return the value that a JSON parser reads */
static struct cairn_json *log_written(const char *text)
{
	struct output said;
	output_begin(&said);
	LOG(LOG_INFO, "try", LOG_T("text", text), LOG_N("number", -42));
	output_end(&said);
	ck_assert_str_eq(said.out, "");
	ck_assert_ptr_eq(strchr(said.err, '\n'), said.err + strlen(said.err) - 1);
	struct cairn_json *line;
	ck_assert_msg(cairn_json_parse(&line, said.err, strlen(said.err)) == CAIRN_OK, "not JSON: %s", said.err);
	ck_assert_str_eq(cairn_json_text_of(line, "event"), "try");
	log_must_have_number(line, "number", -42);
	return line;
}

static void log_must_read_back(const char *text, const char *as)
{
	struct cairn_json *line = log_written(text);
	ck_assert_str_eq(cairn_json_text_of(line, "text"), as);
	cairn_json_free(line);
}

START_TEST(head_of_a_line)
{
	struct cairn_json *line = log_written("x");
	const char *time = cairn_json_text_of(line, "time");
	ck_assert_str_eq(cairn_json_text_of(line, "level"), "info");
	ck_assert_uint_eq(strlen(time), strlen("2026-01-31T12:34:56.789Z"));
	for (size_t i = 0; time[i]; i++) {
		char want = "dddd-dd-ddTdd:dd:dd.dddZ"[i];
		ck_assert_msg(want == 'd' ? time[i] >= '0' && time[i] <= '9' : time[i] == want, "%s", time);
	}
	cairn_json_free(line);
}
END_TEST

START_TEST(escaping)
{
	log_must_read_back("", "");
	log_must_read_back("a\"b\\c/d", "a\"b\\c/d");
	log_must_read_back("line\nbreak\r\t\x01\x1f\x7f", "line\nbreak\r\t\x01\x1f\x7f");
	log_must_read_back("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
			   "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
}
END_TEST

#define BAD "\xef\xbf\xbd" /* U+FFFD, the replacement character */

START_TEST(bytes_that_are_not_utf8)
{
	log_must_read_back("a\x80z", "a" BAD "z");
	log_must_read_back("\xff\xfe", BAD BAD);
	log_must_read_back("\xc3", BAD);                         /* truncated */
	log_must_read_back("\xe2\x82", BAD BAD);                 /* truncated */
	log_must_read_back("\xc0\xaf", BAD BAD);                 /* overlong */
	log_must_read_back("\xe0\x80\xaf", BAD BAD BAD);         /* overlong */
	log_must_read_back("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
	log_must_read_back("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* past U+10FFFF */
	log_must_read_back("\xf5\x80\x80\x80", BAD BAD BAD BAD);
	log_must_read_back("\xc3(", BAD "(");
	log_must_read_back("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"); /* the last valid character */
	log_must_read_back("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80");
}
END_TEST

START_TEST(values_are_cut)
{
	char text[4000];
	memset(text, 'x', sizeof(text));
	text[1024] = 0;
	log_must_read_back(text, text);
	text[1024] = 'y';
	text[sizeof(text) - 1] = 0;
	struct cairn_json *line = log_written(text);
	ck_assert_uint_eq(strlen(cairn_json_text_of(line, "text")), 1024);
	cairn_json_free(line);
	memcpy(text + 1023, "\xc3\xbc", 3); /* a character across the limit is left out whole */
	line = log_written(text);
	ck_assert_uint_eq(strlen(cairn_json_text_of(line, "text")), 1023);
	cairn_json_free(line);
}
END_TEST

START_TEST(absent_texts_are_left_out)
{
	struct cairn_json *line = log_written(NULL);
	ck_assert_ptr_null(cairn_json_get(line, "text"));
	cairn_json_free(line);
}
END_TEST

/* Fields that exceed the line's size are dropped whole. The line remains valid JSON. */
START_TEST(lines_are_bounded)
{
	char text[1025];
	struct output said;
	memset(text, 1, 1024); /* six bytes for each when escaped */
	text[1024] = 0;
	const struct log_field fields[8] = {LOG_T("a", text), LOG_T("b", text), LOG_T("c", text), LOG_T("d", text),
					    LOG_T("e", text), LOG_T("f", text), LOG_T("g", text), LOG_N("last", 7)};
	output_begin(&said);
	log_event(LOG_ERROR, "big", fields, 8);
	output_end(&said);
	ck_assert_uint_le(strlen(said.err), 16384);
	struct cairn_json *line;
	ck_assert_int_eq(cairn_json_parse(&line, said.err, strlen(said.err)), CAIRN_OK);
	ck_assert_ptr_nonnull(cairn_json_get(line, "b"));
	ck_assert_ptr_null(cairn_json_get(line, "c"));
	log_must_have_number(line, "last", 7);
	cairn_json_free(line);
}
END_TEST

START_TEST(levels)
{
	struct output said;
	const struct {
		enum log_level level;
		unsigned lines;
	} cases[] = {{LOG_ERROR, 1}, {LOG_WARNING, 2}, {LOG_INFO, 3}, {LOG_DEBUG, 4}};
	log_set_level(cases[_i].level);
	output_begin(&said);
	log_event(LOG_ERROR, "e", NULL, 0);
	log_event(LOG_WARNING, "w", NULL, 0);
	log_event(LOG_INFO, "i", NULL, 0);
	log_event(LOG_DEBUG, "d", NULL, 0);
	output_end(&said);
	unsigned lines = 0;
	for (const char *p = said.err; (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, cases[_i].lines);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *t = tcase_create("log");
	tcase_add_test(t, head_of_a_line);
	tcase_add_test(t, escaping);
	tcase_add_test(t, bytes_that_are_not_utf8);
	tcase_add_test(t, values_are_cut);
	tcase_add_test(t, absent_texts_are_left_out);
	tcase_add_test(t, lines_are_bounded);
	tcase_add_loop_test(t, levels, 0, 4);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
