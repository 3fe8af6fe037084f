/* Converting YAML to JSON. */
#include "base/yaml.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

static enum cairn_status to_json(const char *yaml, size_t max, char out[static 4096])
{
	CLEANUP(cairn_buf_fini) struct cairn_buf buf = cairn_buf_init(max);
	enum cairn_status status = cairn_yaml_to_json(&buf, yaml, strlen(yaml));
	ck_assert_uint_lt(buf.len, 4096);
	if (buf.len > 0)
		memcpy(out, buf.bytes, buf.len);
	out[buf.len] = '\0';
	return status;
}

static const struct {
	const char *yaml, *json;
} GOOD[] = {
	{"", "null"},
	{"# nothing\n", "null"},
	{"a: b", "{\"a\":\"b\"}"},
	{"a: [1, -2, 0.5, 1e9, -1.5E-3]", "{\"a\":[1,-2,0.5,1e9,-1.5E-3]}"},
	{"a: [01, +1, .5, 1., 0x1f, 1_000, 1e, .inf, -]",
	 "{\"a\":[\"01\",\"+1\",\".5\",\"1.\",\"0x1f\",\"1_000\",\"1e\",\".inf\",\"-\"]}"},
	{"a: [true, False, null, ~, yes, no, on, Nil]", "{\"a\":[true,false,null,null,\"yes\",\"no\",\"on\",\"Nil\"]}"},
	{"a: ['true', \"1\", \"q\\\"\\n\"]", "{\"a\":[\"true\",\"1\",\"q\\\"\\u000a\"]}"},
	{"a:\n- b: c\n  d:\n  - e\n- {}\n- []\n", "{\"a\":[{\"b\":\"c\",\"d\":[\"e\"]},{},[]]}"},
	{"1: x\ntrue: y\n~: z", "{\"1\":\"x\",\"true\":\"y\",\"~\":\"z\"}"},
	{"day: 2024-05-01\nlong: |\n  one\n  two\n", "{\"day\":\"2024-05-01\",\"long\":\"one\\u000atwo\\u000a\"}"},
	{"a: !!python/object:x.Y b", "{\"a\":\"b\"}"},
	{"a: 1\n---\nb: 2", "{\"a\":1}"},
	{"\xc3\xbc: \xe2\x82\xac", "{\"\xc3\xbc\":\"\xe2\x82\xac\"}"},
};

START_TEST(good_texts)
{
	char json[4096];
	ck_assert_int_eq(to_json(GOOD[_i].yaml, 4095, json), CAIRN_OK);
	ck_assert_str_eq(json, GOOD[_i].json);
}
END_TEST

static const char *const BAD[] = {
	"a: [1",      "a: b: c", "a: &x [1]\nb: *x", "? [a]\n: b", "? {a: b}\n: c",
	"a: \"\\0\"", "a: \x07", "a: \"\xff\"",      "\t- a",      "a: 'b",
	"}",
};

START_TEST(bad_texts)
{
	char json[4096];
	ck_assert_msg(to_json(BAD[_i], 4095, json) == CAIRN_E_FORMAT, "%s", BAD[_i]);
}
END_TEST

START_TEST(depth_and_room_are_bounded)
{
	char json[4096], deep[2 * CAIRN_YAML_DEPTH_MAX + 3] = "";
	memset(deep, '[', CAIRN_YAML_DEPTH_MAX);
	memset(deep + CAIRN_YAML_DEPTH_MAX, ']', CAIRN_YAML_DEPTH_MAX);
	ck_assert_int_eq(to_json(deep, 4095, json), CAIRN_OK);
	ck_assert_str_eq(json, deep);
	memset(deep, '[', CAIRN_YAML_DEPTH_MAX + 1);
	memset(deep + CAIRN_YAML_DEPTH_MAX + 1, ']', CAIRN_YAML_DEPTH_MAX + 1);
	ck_assert_int_eq(to_json(deep, 4095, json), CAIRN_E_FORMAT);
	ck_assert_int_eq(to_json("a: b", 9, json), CAIRN_OK);
	ck_assert_int_eq(to_json("a: b", 8, json), CAIRN_E_LIMIT);
}
END_TEST

/* A truncated text is either read or refused. */
START_TEST(cut_at_each_length)
{
	static const char TEXT[] = "---\na: [1, {b: \"c\\n\"}]\nd:\n- e: |\n    f\n- 'g'\n";
	for (size_t len = 0; len < sizeof(TEXT); len++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf buf = cairn_buf_init(4096);
		enum cairn_status status = cairn_yaml_to_json(&buf, TEXT, len);
		ck_assert(status == CAIRN_OK || status == CAIRN_E_FORMAT);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("yaml");
	TCase *t = tcase_create("yaml");
	tcase_add_loop_test(t, good_texts, 0, sizeof(GOOD) / sizeof(GOOD[0]));
	tcase_add_loop_test(t, bad_texts, 0, sizeof(BAD) / sizeof(BAD[0]));
	tcase_add_test(t, depth_and_room_are_bounded);
	tcase_add_test(t, cut_at_each_length);
	suite_add_tcase(s, t);
	return run_suite(s);
}
