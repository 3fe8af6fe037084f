#include "base/base64.h"
#include "base/json.h"
#include "base/json_text.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static struct cairn_json *parse(const char *text)
{
	struct cairn_json *value = NULL;
	ck_assert_int_eq(cairn_json_parse(&value, text, strlen(text)), CAIRN_OK);
	return value;
}

/* Writes the text as a JSON string and reads it back. */
static void text_comes_back(const char *text, size_t bytes_max, const char *wanted)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(4096);
	cairn_json_text(&out, text, bytes_max);
	cairn_buf_add(&out, "", 1);
	ck_assert_int_eq(out.status, CAIRN_OK);
	char object[4096 + 8];
	(void)snprintf(object, sizeof(object), "{\"t\":%s}", (const char *)out.bytes);
	CLEANUP(cairn_json_freep) struct cairn_json *v = parse(object);
	ck_assert_str_eq(cairn_json_text_of(v, "t"), wanted);
}

static size_t n_allocations, failing_allocation;

static void *allocate(size_t size)
{
	if (++n_allocations != failing_allocation)
		return malloc(size);
	errno = ENOMEM;
	return NULL;
}

/* Without memory, a correct text must not be reported as malformed. */
START_TEST(no_memory_is_no_malformed_text)
{
	static const char TEXT[] = "{\"a\":[1,2.5,\"text\",{\"b\":null}]}";
	struct cairn_json *v = NULL;
	enum cairn_status status = CAIRN_E_NOMEM;
	json_set_alloc_funcs(allocate, free);
	for (failing_allocation = 1; status == CAIRN_E_NOMEM; failing_allocation++) {
		n_allocations = 0;
		status = cairn_json_parse(&v, TEXT, strlen(TEXT));
	}
	ck_assert_int_eq(status, CAIRN_OK);
	ck_assert_uint_gt(failing_allocation, 10);
	cairn_json_freep(&v);
	json_set_alloc_funcs(malloc, free);
}
END_TEST

START_TEST(text_with_something_special_at_every_place)
{
	static const char *const SPECIAL[][2] = {
		{"\"", "\""},
		{"\\", "\\"},
		{"\n", "\n"},
		{"\x7f", "\x7f"},
		{"\xc3\xa9", "\xc3\xa9"},
		{"\xff", "\xef\xbf\xbd"},
	};
	for (size_t len = 0; len <= 40; len++) {
		for (size_t at = 0; at <= len; at++) {
			for (size_t i = 0; i < sizeof(SPECIAL) / sizeof(SPECIAL[0]); i++) {
				char text[64], wanted[64];
				(void)snprintf(text, sizeof(text), "%.*s%s%.*s", (int)at, LETTERS, SPECIAL[i][0],
					       (int)(len - at), LETTERS + at);
				(void)snprintf(wanted, sizeof(wanted), "%.*s%s%.*s", (int)at, LETTERS, SPECIAL[i][1],
					       (int)(len - at), LETTERS + at);
				text_comes_back(text, SIZE_MAX, wanted);
			}
		}
		char cut[64];
		(void)snprintf(cut, sizeof(cut), "%.*s", (int)len, LETTERS);
		text_comes_back(LETTERS, len, cut);
	}
	text_comes_back("ab\xc3\xa9", 3, "ab"); /* a character is not split */
}
END_TEST

START_TEST(values_of_each_type)
{
	CLEANUP(cairn_json_freep)
	struct cairn_json *v = parse("{\"t\":\"x\",\"i\":-7,\"f\":1.9,\"big\":1e300,\"b\":true,\"n\":null,\"a\":[1,"
				     "\"2\"],\"o\":{\"k\":\"v\"}}");
	int64_t i = 0;
	bool b = false;
	ck_assert(cairn_json_is_object(v));
	ck_assert_str_eq(cairn_json_text_of(v, "t"), "x");
	ck_assert(cairn_json_i64_of(v, "i", &i) && i == -7);
	ck_assert(cairn_json_i64_of(v, "f", &i) && i == 1);
	ck_assert(!cairn_json_i64_of(v, "big", &i));
	ck_assert(!cairn_json_i64_of(v, "t", &i));
	ck_assert(cairn_json_bool_of(v, "b", &b) && b);
	ck_assert(!cairn_json_bool_of(v, "i", &b));
	ck_assert(cairn_json_is_array(cairn_json_get(v, "a")));
	ck_assert_uint_eq(cairn_json_count(cairn_json_get(v, "a")), 2);
	ck_assert_str_eq(cairn_json_string(cairn_json_at(cairn_json_get(v, "a"), 1)), "2");
	ck_assert_ptr_null(cairn_json_at(cairn_json_get(v, "a"), 2));
	ck_assert_str_eq(cairn_json_text_of(cairn_json_get(v, "o"), "k"), "v");
	char text[4] = "old";
	ck_assert(!cairn_json_copy_of(v, "no", NULL, text, sizeof(text)));
	ck_assert(!cairn_json_copy_of(v, "i", "x", text, sizeof(text)));
	ck_assert(!cairn_json_copy_of(v, "n", NULL, text, sizeof(text)));
	ck_assert(!cairn_json_copy_of(v, "t", NULL, text, 1));
	ck_assert_str_eq(text, "old");
	ck_assert(cairn_json_copy_of(v, "t", NULL, text, 2));
	ck_assert_str_eq(text, "x");
	ck_assert(cairn_json_copy_of(v, "no", "", text, 1));
	ck_assert_str_eq(text, "");
	ck_assert(!cairn_json_copy_of(v, "n", "y", text, sizeof(text)));
	ck_assert_str_eq(text, "");
	ck_assert(cairn_json_is_null(cairn_json_get(v, "n")) && !cairn_json_is_null(cairn_json_get(v, "no")));
	/* A chain of members that are missing. */
	ck_assert_ptr_null(cairn_json_text_of(cairn_json_get(cairn_json_get(v, "no"), "no"), "no"));
	ck_assert_ptr_null(cairn_json_get(cairn_json_get(v, "t"), "no"));
	ck_assert_uint_eq(cairn_json_count(NULL), 0);
}
END_TEST

/* Takes two texts. */
static bool take_text(void *ctx, const struct cairn_json *value)
{
	char *out = ctx;
	size_t len = strlen(out);
	(void)snprintf(out + len, 8 - len, "%s", cairn_json_string(value));
	return len == 0;
}

START_TEST(values_of_an_object_in_their_order)
{
	CLEANUP(cairn_json_freep)
	struct cairn_json *v = parse("{\"o\":{\"z\":\"1\",\"a\":\"2\",\"b\":\"3\"},\"l\":[\"4\"]}");
	char out[8] = "";
	cairn_json_each(cairn_json_get(v, "l"), take_text, out);
	cairn_json_each(NULL, take_text, out);
	ck_assert_str_eq(out, "");
	cairn_json_each(cairn_json_get(v, "o"), take_text, out);
	ck_assert_str_eq(out, "12");
}
END_TEST

START_TEST(a_text_of_many_values)
{
	/* 2 brackets and 3 commas that count, and as many in strings; one string has a quote */
	static const char TEXT[] = "{\"a,\":[1,2,\",[\\\",{\",3]}";
	CLEANUP(cairn_json_freep) struct cairn_json *v = NULL;
	ck_assert_int_eq(cairn_json_parse_some(&v, TEXT, strlen(TEXT), 4), CAIRN_E_FORMAT);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(cairn_json_parse_some(&v, TEXT, strlen(TEXT), 5), CAIRN_OK);
	ck_assert_uint_eq(cairn_json_count(cairn_json_get(v, "a,")), 4);
	/* An even number of backslashes escapes no quote, and a backslash before a string is not part of it. */
	static const char *const ENDED[] = {"[\"\\\\\",1]", "[\"[\\\"[\\\\\",1]", "[\"\",\"\\\"\"]"};
	for (size_t i = 0; i < sizeof(ENDED) / sizeof(ENDED[0]); i++) {
		CLEANUP(cairn_json_freep) struct cairn_json *ended = NULL;
		ck_assert_int_eq(cairn_json_parse_some(&ended, ENDED[i], strlen(ENDED[i]), 1), CAIRN_E_FORMAT);
		ck_assert_int_eq(cairn_json_parse_some(&ended, ENDED[i], strlen(ENDED[i]), 2), CAIRN_OK);
	}
	/* A string without an end hides no values from the count: the text is malformed. */
	static const char *const CUT[] = {"\"", "\"\\", "\"\\\"", "[\",", "\\\"[["};
	for (size_t i = 0; i < sizeof(CUT) / sizeof(CUT[0]); i++) {
		struct cairn_json *none = NULL;
		ck_assert_int_eq(cairn_json_parse_some(&none, CUT[i], strlen(CUT[i]), 5), CAIRN_E_FORMAT);
	}
}
END_TEST

START_TEST(malformed_texts)
{
	static const char *const bad[] = {"", "{", "{\"a\":1,\"a\":2}", "\"\\u0000\"", "\"\xff\"", "[1] x", "nul"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cairn_json *v = NULL;
		ck_assert_msg(cairn_json_parse(&v, bad[i], strlen(bad[i])) == CAIRN_E_FORMAT, "%s", bad[i]);
		ck_assert_ptr_null(v);
	}
	/* A zero byte ends a text for some readers, so it is not allowed in JSON. */
	static const char zero[] = "{\"exp\":1\0,\"sub\":\"x\"}";
	struct cairn_json *v = NULL;
	ck_assert_int_eq(cairn_json_parse(&v, zero, sizeof(zero) - 1), CAIRN_E_FORMAT);
	ck_assert_ptr_null(v);
}
END_TEST

START_TEST(written_text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf buf = cairn_buf_init(1000);
	struct cairn_json_out w = cairn_json_out_init(&buf);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "t", "a\"\\\n\xff\xc3\xa4");
	cairn_json_put_text(&w, "none", NULL);
	cairn_json_open_array(&w, "a");
	cairn_json_put_u64(&w, NULL, UINT64_MAX);
	cairn_json_open_object(&w, NULL);
	cairn_json_close(&w);
	cairn_json_put_bool(&w, NULL, false);
	cairn_json_close(&w);
	cairn_json_put_bool(&w, "b", true);
	cairn_json_close(&w);
	static const char want[] = "{\"t\":\"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\",\"none\":null,"
				   "\"a\":[18446744073709551615,{},false],\"b\":true}";
	ck_assert_uint_eq(buf.len, sizeof(want) - 1);
	ck_assert_mem_eq(buf.bytes, want, sizeof(want) - 1);
}
END_TEST

/* Examples of RFC 4648, section 10, without padding. */
static const struct {
	const char *raw, *text;
} BASE64[] = {{"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
	      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xff\xef\xbe", "_---"}};

START_TEST(base64_both_ways)
{
	for (size_t i = 0; i < sizeof(BASE64) / sizeof(BASE64[0]); i++) {
		char text[16];
		uint8_t raw[8];
		size_t n = 99, len = strlen(BASE64[i].raw);
		cairn_base64url_encode(text, (const uint8_t *)BASE64[i].raw, len);
		ck_assert_str_eq(text, BASE64[i].text);
		ck_assert_uint_eq(strlen(text), CAIRN_BASE64URL_CHARS(len));
		ck_assert_int_eq(cairn_base64url_decode(raw, len, &n, text, strlen(text)), CAIRN_OK);
		ck_assert_uint_eq(n, len);
		ck_assert_mem_eq(raw, BASE64[i].raw, len);
		if (len > 0)
			ck_assert_int_eq(cairn_base64url_decode(raw, len - 1, &n, text, strlen(text)), CAIRN_E_LIMIT);
	}
}
END_TEST

START_TEST(base64_has_one_text_for_each_value)
{
	static const char *const bad[] = {"Z", "Zg==", "Zh", "Zm9", "Zm 9", "Zm+v", "Zm/v", "Zm9vY"};
	uint8_t raw[8];
	size_t n;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(cairn_base64url_decode(raw, sizeof(raw), &n, bad[i], strlen(bad[i])) == CAIRN_E_FORMAT,
			      "%s", bad[i]);
	ck_assert_int_eq(cairn_base64url_decode(raw, sizeof(raw), &n, "Zg\0A", 4), CAIRN_E_FORMAT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json");
	TCase *tc = tcase_create("json");
	tcase_add_test(tc, values_of_each_type);
	tcase_add_test(tc, values_of_an_object_in_their_order);
	tcase_add_test(tc, a_text_of_many_values);
	tcase_add_test(tc, malformed_texts);
	tcase_add_test(tc, no_memory_is_no_malformed_text);
	tcase_add_test(tc, written_text);
	tcase_add_test(tc, text_with_something_special_at_every_place);
	tcase_add_test(tc, base64_both_ways);
	tcase_add_test(tc, base64_has_one_text_for_each_value);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
