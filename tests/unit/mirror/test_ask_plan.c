/* How a mirror reads the answers of an upstream about the plan of a file. */
#include "mirror/hub/ask_plan.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define XORB "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
#define TERM_OF(hash, length, start, end)                                                                              \
	"{\"hash\":\"" hash "\",\"unpacked_length\":" length ",\"range\":{\"start\":" start ",\"end\":" end "}}"
#define TERM(length, start, end) TERM_OF(XORB, length, start, end)
#define PLAN(terms)              "{\"offset_into_first_range\":0,\"terms\":[" terms "],\"xorbs\":{\"" XORB "\":[{}]}}"

static struct cairn_diag diag;
static struct mirror_cas cas;

static struct mirror_call call_of(unsigned code, const char *body)
{
	struct mirror_call call = {.code = code, .body = cairn_buf_init(MIRROR_PLAN_BYTES_MAX)};
	cairn_buf_add(&call.body, body, strlen(body));
	cairn_diag_clear(&diag);
	return call;
}

/* Reads an answer. @return the rule of the refusal; "": none */
static const char *read_cas(unsigned code, const char *body)
{
	struct mirror_call call = call_of(code, body);
	enum cairn_status status = mirror_read_cas(&cas, &call, &diag);
	mirror_call_fini(&call);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

static const char *read_plan(struct mirror_plan *plan, unsigned code, const char *body)
{
	struct mirror_call call = call_of(code, body);
	mirror_ask_plan(&call, plan);
	enum cairn_status status = mirror_read_plan(plan, &call, &diag);
	mirror_call_fini(&call);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

START_TEST(where_plans_are)
{
	ck_assert_str_eq(read_cas(200, "{\"accessToken\":\"abc\",\"exp\":1,\"casUrl\":\"https://cas.example/\"}"), "");
	ck_assert_str_eq(cas.token, "abc");
	ck_assert_str_eq(cas.url, "https://cas.example");
	ck_assert_str_eq(read_cas(401, "{}"), "mirror.denied");
	ck_assert_str_eq(read_cas(404, "{}"), "mirror.answer");
	ck_assert_str_eq(read_cas(503, "{}"), "mirror.busy");
	ck_assert_str_eq(read_cas(206, "{\"accessToken\":\"abc\",\"casUrl\":\"https://c\"}"), "mirror.answer");
}
END_TEST

/* A token is sent in a header, so it must not contain a line end. */
START_TEST(no_place_for_plans)
{
	static const char *const BODIES[] = {
		"",
		"[]",
		"{\"accessToken\":\"abc\"}",
		"{\"casUrl\":\"https://c\"}",
		"{\"accessToken\":\"abc\",\"casUrl\":\"\"}",
		"{\"accessToken\":\"abc\",\"casUrl\":\"/\"}",
		"{\"accessToken\":\"abc\",\"casUrl\":7}",
		"{\"accessToken\":\"\",\"casUrl\":\"https://c\"}",
		"{\"accessToken\":\"a b\",\"casUrl\":\"https://c\"}",
		"{\"accessToken\":\"a\\r\\nHost: b\",\"casUrl\":\"https://c\"}",
		"{\"accessToken\":\"a\\u007f\",\"casUrl\":\"https://c\"}",
		"{\"accessToken\":\"\\u00e4\",\"casUrl\":\"https://c\"}",
	};
	for (size_t i = 0; i < sizeof(BODIES) / sizeof(BODIES[0]); i++)
		ck_assert_msg(strcmp(read_cas(200, BODIES[i]), "mirror.answer") == 0, "%s", BODIES[i]);
}
END_TEST

START_TEST(the_longest_token)
{
	static char token[MIRROR_CAS_TOKEN_BYTES + 1], body[sizeof(token) + 100];
	memset(token, 'x', sizeof(token) - 2);
	(void)snprintf(body, sizeof(body), "{\"accessToken\":\"%s\",\"casUrl\":\"https://c\"}", token);
	ck_assert_str_eq(read_cas(200, body), "");
	token[sizeof(token) - 2] = 'x';
	(void)snprintf(body, sizeof(body), "{\"accessToken\":\"%s\",\"casUrl\":\"https://c\"}", token);
	ck_assert_str_eq(read_cas(200, body), "mirror.answer");
}
END_TEST

START_TEST(a_plan)
{
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = 30};
	ck_assert_str_eq(read_plan(&plan, 200, PLAN(TERM("10", "0", "2") "," TERM("20", "7", "8"))), "");
	ck_assert_uint_eq(plan.n, 2);
	ck_assert_uint_eq(plan.bytes, 30);
	ck_assert_uint_eq(plan.terms[1].first, 7);
	ck_assert_uint_eq(plan.terms[1].past, 8);
	ck_assert_uint_eq(plan.terms[1].bytes, 20);
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &plan.terms[0].xorb);
	ck_assert_str_eq(text, XORB);
}
END_TEST

START_TEST(a_plan_of_several_answers)
{
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = (uint64_t)MIRROR_PLAN_WINDOW + 5};
	struct mirror_call call = {0};
	ck_assert_str_eq(read_plan(&plan, 206, PLAN(TERM("1073741824", "0", "8192"))), "");
	mirror_ask_plan(&call, &plan);
	ck_assert_uint_eq(call.range_first, MIRROR_PLAN_WINDOW);
	ck_assert_uint_eq(call.range_end, plan.file_bytes);
	ck_assert_str_eq(read_plan(&plan, 206, PLAN(TERM("5", "0", "1"))), "");
	ck_assert_uint_eq(plan.bytes, plan.file_bytes);
}
END_TEST

START_TEST(no_plan)
{
	static const struct {
		const char *body, *rule;
	} ANSWERS[] = {
		{"", "mirror.answer"},
		{"{\"offset_into_first_range\":0}", "mirror.answer"},
		{"{\"terms\":[]}", "mirror.answer"},
		{"{\"offset_into_first_range\":0,\"terms\":{}}", "mirror.answer"},
		{"{\"offset_into_first_range\":1,\"terms\":[" TERM("30", "0", "1") "]}", "mirror.answer"},
		{PLAN(""), "mirror.plan"},
		{PLAN(TERM("29", "0", "1")), "mirror.plan"},
		{PLAN(TERM("31", "0", "1")), "mirror.plan"},
		{PLAN(TERM("30", "0", "1") "," TERM("1", "0", "1")), "mirror.plan"},
		{PLAN(TERM("30", "1", "1")), "mirror.plan"},
		{PLAN(TERM("30", "0", "8193")), "mirror.plan"},
		{PLAN(TERM("-30", "0", "1")), "mirror.answer"},
		{PLAN(TERM("30", "0", "4294967297")), "mirror.answer"},
		{PLAN(TERM("\"30\"", "0", "1")), "mirror.answer"},
		{PLAN(TERM_OF("x", "30", "0", "1")), "mirror.answer"},
		{PLAN("7"), "mirror.answer"},
		{PLAN("{\"hash\":\"" XORB "\",\"unpacked_length\":30}"), "mirror.answer"},
	};
	for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
		CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = 30};
		const char *rule = read_plan(&plan, 200, ANSWERS[i].body);
		ck_assert_msg(strcmp(rule, ANSWERS[i].rule) == 0, "%s: %s", ANSWERS[i].body, rule);
	}
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = 30};
	ck_assert_str_eq(read_plan(&plan, 404, "{}"), "mirror.answer");
	ck_assert_str_eq(read_plan(&plan, 416, "{}"), "mirror.answer");
	ck_assert_str_eq(read_plan(&plan, 403, "{}"), "mirror.denied");
}
END_TEST

/* --- ranges of xorbs ---------------------------------------------------------------------------------------------- */

#define RANGE(start, end, bytes) "{\"chunks\":{\"start\":" start ",\"end\":" end "},\"bytes\":" bytes "}"
#define PACKED_PLAN(terms, ranges)                                                                                     \
	"{\"offset_into_first_range\":0,\"terms\":[" terms "],\"xorbs\":{\"" XORB                                      \
	"\":[{\"url\":\"\"},{\"ranges\":[" ranges "]}]}}"

START_TEST(shares_of_ranges)
{
	static const struct {
		const char *ranges;
		uint32_t packed;
	} PLANS[] = {
		{RANGE("0", "10", "{\"start\":0,\"end\":999}"), 200},
		{RANGE("2", "4", "{\"start\":500,\"end\":999}"), 500},
		{RANGE("0", "1", "{\"start\":0,\"end\":9}") "," RANGE("2", "6", "{\"start\":10,\"end\":89}"), 40},
		{RANGE("3", "4", "{\"start\":0,\"end\":99}"), 0},
		{RANGE("2", "3", "{\"start\":0,\"end\":99}"), 0},
		{RANGE("0", "10", "{\"start\":9,\"end\":8}"), 0},
		{RANGE("0", "10", "7"), 0},
		{"7", 0},
		{RANGE("0", "4", "{\"start\":0,\"end\":4294967295}"), 2147483648},
	};
	for (size_t i = 0; i < sizeof(PLANS) / sizeof(PLANS[0]); i++) {
		CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = 300};
		char body[1000];
		(void)snprintf(body, sizeof(body), PACKED_PLAN(TERM("300", "2", "4"), "%s"), PLANS[i].ranges);
		ck_assert_str_eq(read_plan(&plan, 200, body), "");
		ck_assert_uint_eq(plan.terms[0].packed, PLANS[i].packed);
	}
}
END_TEST

static struct mirror_packed packed;

/* Reads an answer about the bytes [100, 130) of a file. */
static const char *read_packed(unsigned code, const char *body)
{
	struct mirror_call call = call_of(code, body);
	mirror_packed_fini(&packed);
	mirror_ask_packed(&call, 100, 130);
	enum cairn_status status = mirror_read_packed(&packed, &call, &diag);
	mirror_call_fini(&call);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

#define PLACE(start, end, at, last)                                                                                    \
	"{\"range\":{\"start\":" start ",\"end\":" end "},\"url\":\"https://s/x\",\"url_range\":{\"start\":" at        \
	",\"end\":" last "}}"
#define STRETCH(skip, terms, places)                                                                                   \
	"{\"offset_into_first_range\":" skip ",\"terms\":[" terms "],\"fetch_info\":{\"" XORB "\":[" places "]}}"

START_TEST(a_stretch)
{
	const char *body = STRETCH("5", TERM("20", "3", "4") "," TERM("10", "0", "1") "," TERM("8", "4", "6"),
				   PLACE("0", "1", "0", "11") "," PLACE("3", "6", "40", "59"));
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(read_packed(i ? 200 : 206, body), "");
		ck_assert_uint_eq(packed.skip, 5);
		ck_assert_uint_eq(packed.bytes, 30);
		ck_assert_uint_eq(packed.packed_bytes, 32);
		ck_assert_uint_eq(packed.n_terms, 3);
		ck_assert_uint_eq(packed.n_ranges, 2);
		ck_assert_uint_eq(packed.ranges[0].at, 40);
		ck_assert_uint_eq(packed.ranges[0].end, 60);
		ck_assert_str_eq(packed.ranges[1].url, "https://s/x");
		ck_assert_uint_eq(packed.terms[1].range, 1);
		ck_assert_uint_eq(packed.terms[2].range, 0);
		ck_assert_uint_eq(packed.terms[2].at, 30);
	}
	mirror_packed_fini(&packed);
	ck_assert_uint_eq(packed.n_ranges, 0);
}
END_TEST

START_TEST(no_stretch)
{
	static const struct {
		const char *body, *rule;
	} ANSWERS[] = {
		{"", "mirror.answer"},
		{STRETCH("-1", TERM("30", "0", "1"), PLACE("0", "1", "0", "9")), "mirror.answer"},
		{STRETCH("131072", TERM("131200", "0", "1"), PLACE("0", "1", "0", "9")), "mirror.answer"},
		{STRETCH("0", "7", PLACE("0", "1", "0", "9")), "mirror.answer"},
		{STRETCH("0", "", PLACE("0", "1", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("29", "0", "1"), PLACE("0", "1", "0", "9")), "mirror.plan"},
		{STRETCH("1", TERM("30", "0", "1"), PLACE("0", "1", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("262175", "0", "1"), PLACE("0", "1", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "1"), ""), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "2"), PLACE("0", "1", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "2"), PLACE("1", "2", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "1"), PLACE("0", "8193", "0", "9")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "1"), PLACE("0", "1", "9", "8")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "1"), PLACE("0", "1", "0", "\"9\"")), "mirror.plan"},
		{STRETCH("0", TERM("30", "0", "1"), "{\"range\":{\"start\":0,\"end\":1}}"), "mirror.plan"},
	};
	for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
		const char *rule = read_packed(200, ANSWERS[i].body);
		ck_assert_msg(strcmp(rule, ANSWERS[i].rule) == 0, "%s: %s", ANSWERS[i].body, rule);
	}
	ck_assert_str_eq(read_packed(403, "{}"), "mirror.denied");
	ck_assert_str_eq(read_packed(416, "{}"), "mirror.answer");
	mirror_packed_fini(&packed);
}
END_TEST

/* Reads a stretch of so many terms of one byte, each with its own range. */
static const char *read_many(unsigned n, bool same)
{
	struct cairn_buf body = cairn_buf_init(MIRROR_PACKED_ANSWER_MAX);
	for (unsigned i = 0; i < n; i++)
		cairn_buf_printf(&body,
				 "%s{\"hash\":\"" XORB "\",\"unpacked_length\":%d,\"range\":{\"start\":%u,\"end\":%u}}",
				 i ? "," : "{\"offset_into_first_range\":0,\"terms\":[", i ? 1 : 30, i, i + 1);
	for (unsigned i = 0; i < (same ? 1 : n); i++)
		cairn_buf_printf(
			&body,
			"%s{\"range\":{\"start\":%u,\"end\":%u},\"url\":\"u\",\"url_range\":{\"start\":%u,\"end\":%u}}",
			i ? "," : "],\"fetch_info\":{\"" XORB "\":[", i, same ? n : i + 1, i, i);
	cairn_buf_add(&body, "]}}", sizeof("]}}"));
	ck_assert_int_eq(body.status, CAIRN_OK);
	const char *rule = read_packed(200, (const char *)body.bytes);
	cairn_buf_fini(&body);
	return rule;
}

START_TEST(many_terms_and_ranges)
{
	ck_assert_str_eq(read_many(MIRROR_PACKED_RANGES_MAX, false), "");
	ck_assert_uint_eq(packed.n_ranges, MIRROR_PACKED_RANGES_MAX);
	ck_assert_str_eq(read_many(MIRROR_PACKED_RANGES_MAX + 1, false), "mirror.plan");
	ck_assert_str_eq(read_many(MIRROR_PACKED_TERMS_MAX, true), "");
	ck_assert_uint_eq(packed.n_ranges, 1);
	ck_assert_str_eq(read_many(MIRROR_PACKED_TERMS_MAX + 1, true), "mirror.plan");
	mirror_packed_fini(&packed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask_plan");
	TCase *tcase = tcase_create("answers");
	tcase_add_test(tcase, where_plans_are);
	tcase_add_test(tcase, no_place_for_plans);
	tcase_add_test(tcase, the_longest_token);
	tcase_add_test(tcase, a_plan);
	tcase_add_test(tcase, a_plan_of_several_answers);
	tcase_add_test(tcase, no_plan);
	tcase_add_test(tcase, shares_of_ranges);
	tcase_add_test(tcase, a_stretch);
	tcase_add_test(tcase, no_stretch);
	tcase_add_test(tcase, many_terms_and_ranges);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
