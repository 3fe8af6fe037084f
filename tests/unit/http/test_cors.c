#include "server/http/cors.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of a header among n; "": it is absent. */
static const char *value_of(const struct cors_header *headers, size_t n, const char *name)
{
	const char *value = "";
	for (size_t i = 0; i < n; i++) {
		if (strcmp(headers[i].name, name) != 0)
			continue;
		ck_assert_str_eq(value, ""); /* a header comes only once */
		value = headers[i].value;
	}
	return value;
}

static const char *allowed(const struct cors *cors, const char *origin)
{
	static struct cors_header headers[CORS_HEADERS_MAX];
	return value_of(headers, cors_reply(cors, origin, headers), "Access-Control-Allow-Origin");
}

START_TEST(no_list_allows_nobody)
{
	static const char *const LISTS[] = {NULL, "", " ", ", ,"};
	for (size_t i = 0; i < 4; i++) {
		struct cors cors;
		struct cors_header headers[CORS_HEADERS_MAX];
		ck_assert_int_eq(cors_init(&cors, LISTS[i], NULL), CAIRN_OK);
		ck_assert_uint_eq(cors_reply(&cors, NULL, headers), 0);
		ck_assert_uint_eq(cors_reply(&cors, "https://a.example", headers), 0);
		ck_assert_uint_eq(cors_preflight(&cors, "https://a.example", "GET", "GET", headers), 0);
		cors_fini(&cors);
	}
}
END_TEST

START_TEST(listed_origins_are_echoed)
{
	struct cors cors;
	ck_assert_int_eq(
		cors_init(&cors, "https://A.example,http://localhost:3000\t http://[::1]:80 ,x-app://abc", NULL),
		CAIRN_OK);
	ck_assert_str_eq(allowed(&cors, "https://a.example"), "https://a.example");
	ck_assert_str_eq(allowed(&cors, "http://localhost:3000"), "http://localhost:3000");
	ck_assert_str_eq(allowed(&cors, "http://[::1]:80"), "http://[::1]:80");
	ck_assert_str_eq(allowed(&cors, "x-app://abc"), "x-app://abc");
	static const char *const OTHERS[] = {
		"http://a.example",
		"https://a.example:8443",
		"https://a.example.evil.example",
		"https://b.example",
		"https://a.example, http://x",
		"null",
		"",
		"*",
		"https://a.exampl",
		"http://localhost:300",
		"http://localhost:30000",
	};
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		ck_assert_str_eq(allowed(&cors, OTHERS[i]), "");
	cors_fini(&cors);
}
END_TEST

START_TEST(replies_depend_on_the_origin)
{
	struct cors cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	ck_assert_int_eq(cors_init(&cors, "https://a.example", NULL), CAIRN_OK);
	size_t n = cors_reply(&cors, "https://a.example", headers);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(value_of(headers, n, "Vary"), "Origin");
	ck_assert_ptr_nonnull(strstr(value_of(headers, n, "Access-Control-Expose-Headers"), "Content-Range"));
	n = cors_reply(&cors, NULL, headers);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(value_of(headers, n, "Vary"), "Origin");
	n = cors_reply(&cors, "https://b.example", headers);
	ck_assert_uint_eq(n, 1);
	cors_fini(&cors);
}
END_TEST

START_TEST(a_star_allows_everybody)
{
	struct cors cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	ck_assert_int_eq(cors_init(&cors, "https://a.example *", NULL), CAIRN_OK);
	ck_assert_str_eq(allowed(&cors, "https://a.example"), "*");
	ck_assert_str_eq(allowed(&cors, "null"), "*");
	size_t n = cors_reply(&cors, "https://b.example", headers);
	ck_assert_str_eq(value_of(headers, n, "Vary"), ""); /* the answer is the same for all origins */
	ck_assert_uint_eq(cors_reply(&cors, NULL, headers), 0);
	ck_assert_uint_gt(cors_preflight(&cors, "https://b.example", "PUT", "GET", headers), 0);
	cors_fini(&cors);
}
END_TEST

START_TEST(preflights_are_told_methods_and_headers)
{
	struct cors cors;
	struct cors_header headers[CORS_HEADERS_MAX];
	ck_assert_int_eq(cors_init(&cors, "https://a.example", NULL), CAIRN_OK);
	size_t n = cors_preflight(&cors, "https://a.example", "POST", "GET, HEAD, POST", headers);
	ck_assert_str_eq(value_of(headers, n, "Access-Control-Allow-Methods"), "GET, HEAD, POST");
	ck_assert_str_eq(value_of(headers, n, "Access-Control-Max-Age"), "7200");
	static const char *const NAMES[] = {"Authorization",    "Content-Type", "Range",
					    "X-Xet-Session-Id", "X-Request-Id", "X-Range-Dirty"};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		ck_assert_ptr_nonnull(strstr(value_of(headers, n, "Access-Control-Allow-Headers"), NAMES[i]));
	ck_assert_uint_eq(cors_preflight(&cors, "https://b.example", "POST", "POST", headers), 0);
	ck_assert_uint_eq(cors_preflight(&cors, "https://a.example", NULL, "POST", headers), 0);
	ck_assert_uint_eq(cors_preflight(&cors, NULL, "POST", "POST", headers), 0);
	cors_fini(&cors);
}
END_TEST

START_TEST(an_invalid_origin_is_named)
{
	static const char *const BAD[] = {
		"a.example",
		"https://",
		"https://a.example/",
		"https://a.example/x",
		"https://a:0",
		"https://a:65536",
		"https://a:",
		"https://a:8x",
		"https://a:100000",
		"://a",
		"1http://a",
		"https://a@b",
		"https://a?b",
		"https:/a",
		"**",
		"https://*.a.example",
		"null",
		"http://[::1",
		"http://[]]",
		"http://[g]",
		"https://a b.example",
		"https://\xc3\xa4.example",
		"+a://b",
	};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		struct cors cors;
		struct cairn_diag diag = {0};
		ck_assert_msg(cors_init(&cors, BAD[i], &diag) == CAIRN_E_USAGE, "%s", BAD[i]);
		ck_assert_str_eq(diag.rule, "cors_origins");
		ck_assert_ptr_nonnull(strstr(diag.text, "use http"));
		ck_assert_ptr_null(cors.text);
	}
}
END_TEST

START_TEST(the_list_is_bounded)
{
	char list[(CORS_ORIGINS_MAX + 1) * 16] = "";
	size_t len = 0;
	struct cors cors;
	struct cairn_diag diag = {0};
	for (int i = 0; i < CORS_ORIGINS_MAX; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "http://a%d ", i);
	ck_assert_int_eq(cors_init(&cors, list, NULL), CAIRN_OK);
	ck_assert_str_eq(allowed(&cors, "http://a63"), "http://a63");
	cors_fini(&cors);
	(void)snprintf(list + len, sizeof(list) - len, "http://b");
	ck_assert_int_eq(cors_init(&cors, list, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "64"));
}
END_TEST

static Suite *cors_suite(void)
{
	Suite *s = suite_create("cors");
	TCase *t = tcase_create("cors");
	tcase_add_test(t, no_list_allows_nobody);
	tcase_add_test(t, listed_origins_are_echoed);
	tcase_add_test(t, replies_depend_on_the_origin);
	tcase_add_test(t, a_star_allows_everybody);
	tcase_add_test(t, preflights_are_told_methods_and_headers);
	tcase_add_test(t, an_invalid_origin_is_named);
	tcase_add_test(t, the_list_is_bounded);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(cors_suite());
}
