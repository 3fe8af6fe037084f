#include "server/http/router.h"
#include "support/run.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct http_route FIRST[] = {
	{.method = "GET", .pattern = "/health", .name = "health"},
	{.method = "GET", .pattern = "/v1/chunks/{prefix}/{hash}", .name = "chunks"},
	{.method = "POST", .pattern = "/v1/xorbs/{prefix}/{hash}", .name = "xorbs"},
	{.method = NULL},
};
static const struct http_route SECOND[] = {
	{.method = "HEAD", .pattern = "/v1/xorbs/{prefix}/{hash}", .name = "xorb-head"},
	{.method = "GET", .pattern = "/v1/xorbs/{prefix}/{hash}", .name = "xorb-get"},
	{.method = "PURGE", .pattern = "/four/{a}/{b}/{c}/{d}", .name = "four"},
	{.method = "GET", .pattern = "/", .name = "root"},
	{.method = "GET",
	 .pattern = "/v1/plans/{hash}",
	 .older = (const char *const[]){"/plans/{hash}", "/plan/of/{hash}", NULL},
	 .name = "plans"},
	{.method = "GET", .pattern = "/plans/today", .name = "today"},
	{.method = "GET", .pattern = "/files/{repo}/{rev%}/{path*}", .name = "file"},
	{.method = "PUT", .pattern = "/files/{repo}/{rev%}/{path*}", .name = "file-put"},
	{.method = "GET", .pattern = "/files/{repo}/latest/{path*}", .name = "hidden by file"},
	{.method = NULL},
};
static const struct http_route FREE[] = {
	{.method = "GET", .pattern = "/{place}/{hash}", .name = "place"},
	{.method = NULL},
};
static const struct http_route *const TABLES[] = {FIRST, SECOND, NULL}, *const WITH_FREE[] = {FREE, FIRST, SECOND,
											      NULL};

static struct router_match match;
static char allow[64];

static enum router_result find_in(const char *method, const char *target, bool plain)
{
	static char copy[2 * ROUTER_TAILED_BYTES_MAX];
	ck_assert_uint_lt(strlen(target), sizeof(copy));
	memcpy(copy, target, strlen(target) + 1);
	memset(&match, 0xff, sizeof(match));
	return router_find(TABLES, method, copy, plain, &match, allow, sizeof(allow));
}

/* Finds the route of a target. If the characters of the target are known to be plain, the result must be the same. */
static enum router_result find(const char *method, const char *target)
{
	static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	enum router_result result = find_in(method, target, false);
	struct router_match first = match;
	if (target[strspn(target, PLAIN)] == '\0') {
		ck_assert_int_eq(find_in(method, target, true), result);
		ck_assert_ptr_eq(match.route, first.route);
		ck_assert(result != ROUTER_FOUND || match.n_args == first.n_args);
	}
	return result;
}

static void must_find(const char *method, const char *target, const char *name)
{
	ck_assert_msg(find(method, target) == ROUTER_FOUND, "%s %.500s", method, target);
	ck_assert_str_eq(match.route->name, name);
}

START_TEST(finds_routes_and_their_arguments)
{
	must_find("GET", "/health", "health");
	ck_assert_uint_eq(match.n_args, 0);
	must_find("GET", "/health?x=/y", "health");
	must_find("GET", "/", "root");
	must_find("GET", "/v1/chunks/default/a.b-c_d~e9Z", "chunks");
	ck_assert_uint_eq(match.n_args, 2);
	ck_assert_uint_eq(match.args[0].name_len, 6);
	ck_assert_mem_eq(match.args[0].name, "prefix", 6);
	ck_assert_str_eq(match.args[0].value, "default");
	ck_assert_mem_eq(match.args[1].name, "hash", match.args[1].name_len);
	ck_assert_str_eq(match.args[1].value, "a.b-c_d~e9Z");
	must_find("PURGE", "/four/1/2/3/...", "four");
	ck_assert_uint_eq(match.n_args, 4);
	ck_assert_str_eq(match.args[3].value, "...");
}
END_TEST

START_TEST(get_answers_head_unless_head_has_a_route)
{
	must_find("HEAD", "/health", "health");
	must_find("HEAD", "/v1/xorbs/default/x", "xorb-head");
	must_find("GET", "/files/r/latest/a", "file");
	must_find("HEAD", "/files/r/latest/a", "file");
	must_find("GET", "/v1/xorbs/default/x", "xorb-get");
	must_find("POST", "/v1/xorbs/default/x", "xorbs");
}
END_TEST

START_TEST(other_paths_are_not_found)
{
	static const char *const TARGETS[] = {
		"",
		"*",
		"health",
		"/healthy",
		"/healt",
		"/health/",
		"//health",
		"/Health",
		"/health%20",
		"/%68ealth",
		"/health#x",
		"/v1/chunks/default/",
		"/v1/chunks//x",
		"/v1/chunks/default/x/",
		"/v1/chunks/default",
		"/v1/chunks/default/x/y",
		"/v1/chunks/../x",
		"/v1/chunks/./x",
		"/v1/chunks/default/..",
		"/v1/chunks/default/a%2Fb",
		"/v1/chunks/default/a b",
		"/v1/chunks/default/\xc3\xa9",
		"/v1/chunks/a:b/x",
		"/v1/chunks/{prefix}/{hash}",
		"http://host/health",
		"?/health",
		"/?/health/x",
	};
	for (size_t i = 0; i + 1 < sizeof(TARGETS) / sizeof(TARGETS[0]); i++)
		ck_assert_msg(find("GET", TARGETS[i]) == ROUTER_NOT_FOUND, "%s", TARGETS[i]);
	must_find("GET", TARGETS[sizeof(TARGETS) / sizeof(TARGETS[0]) - 1], "root");
}
END_TEST

START_TEST(every_character_at_every_place)
{
	for (size_t at = 0; at < 40; at++) {
		for (unsigned c = 1; c < 256; c++) {
			char target[] = "/v1/chunks/default/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
			bool may = isalnum((int)c) || strchr("-._~", (int)c);
			target[strlen("/v1/chunks/default/") + at] = (char)c;
			if (c != '?' || at == 0) /* otherwise the character ends the path */
				ck_assert_msg((find("GET", target) == ROUTER_FOUND) == may, "%u at %zu", c, at);
		}
	}
}
END_TEST

START_TEST(paths_at_the_limit_and_over)
{
	char target[ROUTER_PATH_BYTES_MAX + 8] = "/v1/chunks/default/";
	size_t start = strlen(target);
	memset(target + start, 'a', ROUTER_PATH_BYTES_MAX - start);
	must_find("GET", target, "chunks");
	ck_assert_uint_eq(strlen(match.args[1].value), ROUTER_PATH_BYTES_MAX - start);
	memcpy(target + ROUTER_PATH_BYTES_MAX, "?x", 3);
	must_find("GET", target, "chunks");
	memcpy(target + ROUTER_PATH_BYTES_MAX, "a", 2);
	ck_assert_int_eq(find("GET", target), ROUTER_NOT_FOUND);
}
END_TEST

START_TEST(tails_have_any_number_of_segments)
{
	must_find("GET", "/files/r/main/a", "file");
	ck_assert_uint_eq(match.n_args, 3);
	ck_assert_uint_eq(match.args[2].name_len, 4);
	ck_assert_mem_eq(match.args[2].name, "path", 4);
	ck_assert_str_eq(match.args[2].value, "a");
	must_find("HEAD", "/files/r/refs%2Fpr%2F1/a/b.c/..d/...?x=/y", "file");
	ck_assert_str_eq(match.args[0].value, "r");
	ck_assert_str_eq(match.args[1].value, "refs%2Fpr%2F1");
	ck_assert_str_eq(match.args[2].value, "a/b.c/..d/...");
	must_find("PUT", "/files/r/main/run1%2Fbig.bin", "file-put");
	ck_assert_str_eq(match.args[2].value, "run1%2Fbig.bin");
	static const char *const NO_TAIL[] = {"",        "/",    "/a/",   "/a//b", "/.",      "/..",
					      "/a/../b", "/./a", "/a/..", "/a/.",  "/a/.?b=c"};
	for (size_t i = 0; i < sizeof(NO_TAIL) / sizeof(NO_TAIL[0]); i++) {
		char target[64];
		(void)snprintf(target, sizeof(target), "/files/r/main%s", NO_TAIL[i]);
		ck_assert_msg(find("GET", target) == ROUTER_NOT_FOUND, "%s", target);
	}
}
END_TEST

/* Unescaped bytes are allowed in the tail, but not before it. */
START_TEST(unescaped_bytes_only_in_the_tail)
{
	for (int c = 1; c < 128; c++) {
		char target[] = "/files/r/main/a?/b";
		bool in_name = isalnum(c) || strchr("-._~", c),
		     in_tail = in_name || strchr("%!$&'()*+,;=:@[]{}|^\\", c);
		if (c == '?' || c == '/')
			continue; /* the character starts the query, or another segment */
		target[15] = (char)c;
		ck_assert_msg((find("GET", target) == ROUTER_FOUND) == in_tail, "%s", target);
		memcpy(target, "/files/r?/main/a/b", sizeof(target));
		target[8] = (char)c;
		ck_assert_msg((find("GET", target) == ROUTER_FOUND) == in_name, "%s", target);
	}
	ck_assert_int_eq(find("GET", "/files/r/main/\xc3\xa4"), ROUTER_FOUND);
	ck_assert_int_eq(find("GET", "/files/\xc3\xa4/main/a"), ROUTER_NOT_FOUND);
	must_find("GET", "/files/r/main/a/x@1,2;v=(3)!'*$&+:", "file");
}
END_TEST

START_TEST(tailed_paths_at_the_limit_and_over)
{
	char target[ROUTER_TAILED_BYTES_MAX + 8] = "/files/r/main/";
	size_t start = strlen(target);
	memset(target + start, 'a', ROUTER_TAILED_BYTES_MAX - start);
	must_find("GET", target, "file");
	ck_assert_uint_eq(strlen(match.args[2].value), ROUTER_TAILED_BYTES_MAX - start);
	memcpy(target + ROUTER_TAILED_BYTES_MAX, "a", 2);
	ck_assert_int_eq(find("GET", target), ROUTER_NOT_FOUND);
	target[ROUTER_TAILED_BYTES_MAX] = '\0';
	memset(target + 7, 'r', ROUTER_PATH_BYTES_MAX); /* the part before the tail is too long */
	memcpy(target + ROUTER_PATH_BYTES_MAX - 5, "/main/", 6);
	ck_assert_int_eq(find("GET", target), ROUTER_NOT_FOUND);
	memcpy(target + ROUTER_PATH_BYTES_MAX - 6, "/main/a", 7);
	must_find("GET", target, "file");
}
END_TEST

START_TEST(wrong_methods_name_the_right_ones)
{
	ck_assert_int_eq(find("POST", "/health"), ROUTER_WRONG_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD");
	ck_assert_int_eq(find("DELETE", "/v1/xorbs/default/x"), ROUTER_WRONG_METHOD);
	ck_assert_str_eq(allow, "POST, HEAD, GET");
	ck_assert_int_eq(find("PURGE", "/health"), ROUTER_WRONG_METHOD);
	ck_assert_int_eq(find("OPTIONS", "/health"), ROUTER_WRONG_METHOD);
	ck_assert_int_eq(find("GET", "/four/1/2/3/4"), ROUTER_WRONG_METHOD);
	ck_assert_str_eq(allow, "PURGE");
	char tight[6], target[] = "/v1/xorbs/default/x";
	ck_assert_int_eq(router_find(TABLES, "PUT", target, false, &match, tight, sizeof(tight)), ROUTER_WRONG_METHOD);
	ck_assert_str_eq(tight, "POST,"); /* truncated, without an overrun */
}
END_TEST

START_TEST(older_paths_come_after_todays)
{
	must_find("GET", "/v1/plans/x", "plans");
	must_find("GET", "/plans/x", "plans");
	ck_assert_uint_eq(match.n_args, 1);
	ck_assert_mem_eq(match.args[0].name, "hash", match.args[0].name_len);
	ck_assert_str_eq(match.args[0].value, "x");
	must_find("HEAD", "/plan/of/y?z", "plans");
	ck_assert_str_eq(match.args[0].value, "y");
	must_find("GET", "/plans/today", "today");
	ck_assert_int_eq(find("GET", "/plan/x"), ROUTER_NOT_FOUND);
	/* A path that begins with a {name} is matched last. */
	static const struct {
		const char *method, *target, *name;
	} CASES[] = {{"GET", "/plan/x", "place"}, {"GET", "/plans/x", "plans"}, {"GET", "/plans/today", "today"}};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char target[32];
		(void)snprintf(target, sizeof(target), "%s", CASES[i].target);
		ck_assert_int_eq(router_find(WITH_FREE, CASES[i].method, target, false, &match, allow, sizeof(allow)),
				 ROUTER_FOUND);
		ck_assert_str_eq(match.route->name, CASES[i].name);
	}
	char posted[] = "/plans/x";
	ck_assert_int_eq(router_find(WITH_FREE, "POST", posted, false, &match, allow, sizeof(allow)),
			 ROUTER_WRONG_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD");
	ck_assert_int_eq(find("POST", "/plans/x"), ROUTER_WRONG_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD");
	ck_assert_int_eq(find("POST", "/plans/today"), ROUTER_WRONG_METHOD);
	ck_assert_int_eq(find("BREW", "/plans/x"), ROUTER_UNKNOWN_METHOD);
}
END_TEST

START_TEST(unknown_methods)
{
	ck_assert_int_eq(find("BREW", "/health"), ROUTER_UNKNOWN_METHOD);
	ck_assert_int_eq(find("get", "/health"), ROUTER_UNKNOWN_METHOD);
	ck_assert_int_eq(find("BREW", "/nowhere"), ROUTER_UNKNOWN_METHOD);
	ck_assert_int_eq(find("PATCH", "/nowhere"), ROUTER_NOT_FOUND);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("router");
	TCase *tc = tcase_create("router");
	tcase_add_test(tc, finds_routes_and_their_arguments);
	tcase_add_test(tc, get_answers_head_unless_head_has_a_route);
	tcase_add_test(tc, other_paths_are_not_found);
	tcase_add_test(tc, every_character_at_every_place);
	tcase_add_test(tc, paths_at_the_limit_and_over);
	tcase_add_test(tc, tails_have_any_number_of_segments);
	tcase_add_test(tc, unescaped_bytes_only_in_the_tail);
	tcase_add_test(tc, tailed_paths_at_the_limit_and_over);
	tcase_add_test(tc, wrong_methods_name_the_right_ones);
	tcase_add_test(tc, older_paths_come_after_todays);
	tcase_add_test(tc, unknown_methods);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
