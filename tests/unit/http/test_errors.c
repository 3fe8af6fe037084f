/* The mapping of statuses to HTTP, and the body of an error. */
#include "server/http/errors.h"
#include "server/http/http_error.h"
#include "support/run.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

START_TEST(each_status_has_its_code)
{
	static const struct {
		enum cairn_status status;
		unsigned code, upload_code;
	} CASES[] = {
		{CAIRN_OK, 500, 500},         {CAIRN_E_NOMEM, 503, 503},
		{CAIRN_E_IO, 500, 500},       {CAIRN_E_DAMAGED, 500, 500},
		{CAIRN_E_FORMAT, 400, 400},   {CAIRN_E_LIMIT, 413, 413},
		{CAIRN_E_MISMATCH, 400, 400}, {CAIRN_E_NOT_FOUND, 404, 400},
		{CAIRN_E_CONFLICT, 409, 409}, {CAIRN_E_USAGE, 400, 400},
		{CAIRN_E_FULL, 507, 507},     {CAIRN_E_BUSY, 503, 503},
		{CAIRN_E_DENIED, 403, 403},   {(enum cairn_status) - 99, 500, 500},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct errors_reply get = errors_of_status(CASES[i].status, false);
		struct errors_reply post = errors_of_status(CASES[i].status, true);
		ck_assert_uint_eq(get.code, CASES[i].code);
		ck_assert_uint_eq(post.code, CASES[i].upload_code);
		ck_assert_ptr_nonnull(get.rule);
		ck_assert_uint_gt(strlen(post.message), 10);
	}
}
END_TEST

/* Returns the parsed body of an error with these parts. */
static json_t *body_of(const char *message, const struct cairn_diag *diag)
{
	json_error_t error;
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_body(&b, HTTP_ERRORS_CAS, "rule", message, diag, "id-1");
	ck_assert_int_eq(b.status, CAIRN_OK);
	ck_assert_int_eq(b.bytes[b.len - 1], '\n');
	json_t *body = json_loadb((const char *)b.bytes, b.len, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(body, "%s: %.*s", error.text, (int)b.len, b.bytes);
	ck_assert_str_eq(json_string_value(json_object_get(body, "request_id")), "id-1");
	ck_assert_uint_eq(json_object_size(body), 2);
	return body;
}

static const char *member(const json_t *body, const char *name)
{
	return json_string_value(json_object_get(json_object_get(body, "error"), name));
}

START_TEST(a_body_without_a_diagnosis)
{
	struct cairn_diag none = {0};
	for (int i = 0; i < 2; i++) {
		json_t *body = body_of("message", i ? &none : NULL);
		ck_assert_uint_eq(json_object_size(json_object_get(body, "error")), 2);
		ck_assert_str_eq(member(body, "code"), "rule");
		ck_assert_str_eq(member(body, "message"), "message");
		json_decref(body);
	}
}
END_TEST

START_TEST(a_diagnosis_goes_first)
{
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_FORMAT, "its.rule", 0, "its text");
	cairn_diag_values(&diag, "wanted", "");
	json_t *body = body_of("message", &diag);
	const json_t *error = json_object_get(body, "error");
	ck_assert_uint_eq(json_object_size(error), 4);
	ck_assert_str_eq(member(body, "code"), "its.rule");
	ck_assert_str_eq(member(body, "message"), "its text");
	ck_assert_str_eq(member(body, "expected"), "wanted");
	ck_assert_int_eq(json_integer_value(json_object_get(error, "offset")), 0);
	json_decref(body);
}
END_TEST

START_TEST(text_is_escaped)
{
	static const struct {
		const char *text, *as;
	} CASES[] = {
		{"", ""},
		{"\"\\/\b\n\x1f\x7f", "\"\\/\b\n\x1f\x7f"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
		{"a\xff"
		 "b",
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc3", "\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		json_t *body = body_of(CASES[i].text, NULL);
		ck_assert_str_eq(member(body, "message"), CASES[i].as);
		json_decref(body);
	}
}
END_TEST

START_TEST(the_worst_diagnosis_fits)
{
	struct cairn_diag diag = {.rule = "rule", .has_offset = true, .offset = UINT64_MAX};
	memset(diag.text, 1, sizeof(diag.text) - 1); /* each byte takes six when escaped */
	memset(diag.expected, 1, sizeof(diag.expected) - 1);
	memset(diag.actual, 1, sizeof(diag.actual) - 1);
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_body(&b, HTTP_ERRORS_CAS, "rule", "message", &diag, "id");
	ck_assert_int_eq(b.status, CAIRN_OK);
}
END_TEST

START_TEST(a_body_as_the_hub_has_it)
{
	struct cairn_diag diag = {0};
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	(void)cairn_fail(&diag, CAIRN_E_DENIED, "finer", 7, "a \"text\"");
	cairn_diag_values(&diag, "1", "2");
	http_error_body(&b, HTTP_ERRORS_HUB, "rule", "message", &diag, "id");
	cairn_buf_add(&b, "", 1);
	ck_assert_str_eq((const char *)b.bytes,
			 "{\"error\":\"a \\\"text\\\"\",\"code\":\"finer\",\"request_id\":\"id\"}\n");
}
END_TEST

START_TEST(a_raw_refusal_is_a_whole_response)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_raw(&b, 413, "rule", "message", "id");
	http_error_body(&body, HTTP_ERRORS_CAS, "rule", "message", NULL, "id");
	cairn_buf_add(&b, "", 1);
	char start[256];
	(void)snprintf(start, sizeof(start),
		       "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Type: application/json\r\n"
		       "Content-Length: %zu\r\nX-Request-Id: id\r\n\r\n",
		       body.len);
	ck_assert_int_eq(b.status, CAIRN_OK);
	ck_assert_mem_eq(b.bytes, start, strlen(start));
	ck_assert_uint_eq(b.len, strlen(start) + body.len + 1);
	ck_assert_mem_eq(b.bytes + strlen(start), body.bytes, body.len);
	ck_assert_str_eq(errors_reason(408), "Request Timeout");
	ck_assert_str_eq(errors_reason(299), "Error");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors");
	TCase *tc = tcase_create("errors");
	tcase_add_test(tc, each_status_has_its_code);
	tcase_add_test(tc, a_body_without_a_diagnosis);
	tcase_add_test(tc, a_diagnosis_goes_first);
	tcase_add_test(tc, text_is_escaped);
	tcase_add_test(tc, the_worst_diagnosis_fits);
	tcase_add_test(tc, a_body_as_the_hub_has_it);
	tcase_add_test(tc, a_raw_refusal_is_a_whole_response);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
