#include "archive/fold/json_canonical.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Returns the canonical form of a text. @return NULL: the text is refused, at *at */
static char *pull_canonical(const char *text, size_t len, const char *leave_out, size_t *at)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes copy = vec_copy((const uint8_t *)text, len);
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(6 * len + 64);
	struct cairn_json_pull p = cairn_json_pull_init(copy.bytes, copy.len);
	enum cairn_status status = cairn_json_canonical(&out, &p, leave_out);
	bool ok = status == CAIRN_OK && cairn_json_pull_end(&p);
	*at = p.at;
	ck_assert(ok || p.bad);
	return ok ? strndup((const char *)out.bytes, out.len) : NULL;
}

static const struct {
	/* canonical: from json.dumps(json.loads(text), sort_keys=True, separators=(",",":")); NULL: refused */
	const char *text, *canonical;
} CASES[] = {
	{"{}", "{}"},
	{" [ ] ", "[]"},
	{"{\"b\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"b\":1}"},
	{"{\"a\":{\"z\":[1,{\"y\":1,\"x\":2}],\"b\":null}}", "{\"a\":{\"b\":null,\"z\":[1,{\"x\":2,\"y\":1}]}}"},
	{"[1180591620717411303424,-0.0,1e-07,1.5e+300,NaN,-Infinity,Infinity]",
	 "[1180591620717411303424,-0.0,1e-07,1.5e+300,NaN,-Infinity,Infinity]"},
	{"[true,false,null]", "[true,false,null]"},
	{"\"\\u00e7\\/\\b\\f\\n\\r\\t\\u0001\\u007f\\\"\\\\\"", "\"\\u00e7/\\b\\f\\n\\r\\t\\u0001\\u007f\\\"\\\\\""},
	{"\"\xc3\xa7\xf0\x9f\x98\x80\xe2\x82\xac\"", "\"\\u00e7\\ud83d\\ude00\\u20ac\""},
	{"{\"\xef\xbf\xbd\":1,\"\xf0\x9f\x98\x80\":2,\"\xc3\xa7\":3}",
	 "{\"\\u00e7\":3,\"\\ufffd\":1,\"\\ud83d\\ude00\":2}"},
	{"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
	{"", NULL},
	{"[1,]", NULL},
	{"[,1]", NULL},
	{"[1 2]", NULL},
	{"{\"a\" 1}", NULL},
	{"{\"a\":1,}", NULL},
	{"{a:1}", NULL},
	{"{\"a\":1,\"a\":2}", NULL},
	{"{\"x\":{\"a\":1,\"\\u0061\":2}}", NULL},
	{"01", NULL},
	{"1.", NULL},
	{".5", NULL},
	{"+1", NULL},
	{"1e", NULL},
	{"-", NULL},
	{"-NaN", NULL},
	{"tru", NULL},
	{"nul", NULL},
	{"\"\\x\"", NULL},
	{"\"\\u12g4\"", NULL},
	{"\"\\ud800\"", NULL},
	{"\"\\udc00\"", NULL},
	{"\"\\ud800\\ud800\"", NULL},
	{"\"\n\"", NULL},
	{"\"\x80\"", NULL},
	{"\"\xed\xa0\x80\"", NULL},
	{"\"\xc0\xaf\"", NULL},
	{"\"a", NULL},
	{"[1] 2", NULL},
};

START_TEST(json_pull_canonical_forms)
{
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		size_t at;
		char *got = pull_canonical(CASES[i].text, strlen(CASES[i].text), NULL, &at);
		ck_assert_msg((got != NULL) == (CASES[i].canonical != NULL), "%s", CASES[i].text);
		if (got)
			ck_assert_str_eq(got, CASES[i].canonical);
		free(got);
	}
}
END_TEST

START_TEST(json_pull_leaves_out)
{
	size_t at;
	char *got = pull_canonical("{\"b\":{\"a\":1},\"a\":2}", 19, "a", &at);
	ck_assert_str_eq(got, "{\"b\":{\"a\":1}}"); /* the member is left out of the outermost object only */
	free(got);
}
END_TEST

START_TEST(json_pull_refuses_every_truncation)
{
	static const char text[] = "{\"a\":[1.5e+3,\"\\ud83d\\ude00\xc3\xa7\",true,{\"b\":null}],\"c\":-0}";
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		size_t at;
		ck_assert_ptr_null(pull_canonical(text, len, NULL, &at));
		ck_assert_uint_le(at, len);
	}
}
END_TEST

START_TEST(json_pull_bounds_nesting)
{
	for (unsigned depth = CAIRN_JSON_PULL_DEPTH_MAX; depth <= CAIRN_JSON_PULL_DEPTH_MAX + 1; depth++) {
		char text[4 * CAIRN_JSON_PULL_DEPTH_MAX + 16] = "";
		size_t at, n = 0;
		for (unsigned i = 0; i + 1 < depth; i++)
			text[n++] = '[';
		text[n++] = '{';
		text[n++] = '}';
		for (unsigned i = 0; i + 1 < depth; i++)
			text[n++] = ']';
		char *got = pull_canonical(text, n, NULL, &at);
		ck_assert_int_eq(got != NULL, depth == CAIRN_JSON_PULL_DEPTH_MAX);
		free(got);
	}
}
END_TEST

START_TEST(json_pull_numbers)
{
	static const struct {
		const char *text;
		uint64_t max, value;
		bool ok;
	} cases[] = {
		{"0", 0, 0, true},
		{"18446744073709551615", UINT64_MAX, UINT64_MAX, true},
		{"18446744073709551616", UINT64_MAX, 0, false},
		{"99999999999999999999999", UINT64_MAX, 0, false},
		{"8", 7, 0, false},
		{"-0", 7, 0, false},
		{"1.0", 7, 0, false},
		{"1e0", 7, 0, false},
		{"\"1\"", 7, 0, false},
		{"NaN", 7, 0, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cairn_json_pull p = cairn_json_pull_init(cases[i].text, strlen(cases[i].text));
		uint64_t got = 0;
		ck_assert_msg(cairn_json_pull_u64(&p, cases[i].max, &got) == cases[i].ok, "%s", cases[i].text);
		if (cases[i].ok)
			ck_assert_uint_eq(got, cases[i].value);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_pull");
	TCase *tcase = tcase_create("json_pull");
	tcase_add_test(tcase, json_pull_canonical_forms);
	tcase_add_test(tcase, json_pull_leaves_out);
	tcase_add_test(tcase, json_pull_refuses_every_truncation);
	tcase_add_test(tcase, json_pull_bounds_nesting);
	tcase_add_test(tcase, json_pull_numbers);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
