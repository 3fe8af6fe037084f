#include "server/http/http_head.h"
#include "support/run.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct http_head head;
static struct http_head_body body;

static void setup(void)
{
	memset(&head, 0, sizeof(head));
}

static void note(const char *name, const char *value)
{
	http_head_note(&head, name, strlen(name), value, strlen(value));
}

static void must_be(unsigned code, const char *rule)
{
	struct http_refusal r = http_head_check(&head, HTTP_TARGET_OK, "HTTP/1.1", 100, 100, &body);
	ck_assert_uint_eq(r.code, code);
	if (code == 0)
		return;
	ck_assert_str_eq(r.rule, rule);
	ck_assert_ptr_nonnull(r.message);
}

START_TEST(a_usual_head_passes)
{
	note("host", "[::1]:8080");
	note("AUTHORIZATION", "Bearer x");
	note("Content-Length", "18446744073709551614");
	note("X-Xet-Session-Id", "s");
	note("User-Agent", "first\tpart \xc3\xa9");
	note("user-agent", "second");
	note("x-request-id", "r");
	note("If-none-match", "\"e\"");
	note("cookie", "a=1; b=2");
	note("Cookie", "c=3");
	must_be(0, NULL);
	ck_assert_uint_eq(body.len, UINT64_MAX - 1);
	ck_assert(!body.expects_100);
	ck_assert_str_eq(head.host, "[::1]:8080");
	ck_assert_str_eq(head.authorization, "Bearer x");
	ck_assert_str_eq(head.session_id, "s");
	ck_assert_str_eq(head.user_agent, "first\tpart \xc3\xa9");
	ck_assert_str_eq(head.request_id, "r");
	ck_assert_str_eq(head.if_none_match, "\"e\"");
	ck_assert_str_eq(head.cookies, "a=1; b=2");
}
END_TEST

START_TEST(no_length_is_no_body)
{
	must_be(0, NULL);
	ck_assert_uint_eq(body.len, 0);
	note("Expect", "100-continue");
	must_be(0, NULL);
	ck_assert(!body.expects_100);
}
END_TEST

START_TEST(chunked_is_a_body_of_unknown_length)
{
	note("Transfer-Encoding", "Chunked");
	note("Expect", "100-Continue");
	must_be(0, NULL);
	ck_assert_uint_eq(body.len, UINT64_MAX);
	ck_assert(body.expects_100);
	ck_assert_uint_eq(http_head_check(&head, HTTP_TARGET_OK, "HTTP/1.0", 1, 1, &body).code, 400);
}
END_TEST

START_TEST(malformed_lengths_are_refused)
{
	static const char *const LENGTHS[] = {"",
					      "+1",
					      "-1",
					      "1 ",
					      "0x1",
					      "1,1",
					      "1.0",
					      "18446744073709551615",
					      "18446744073709551616",
					      "99999999999999999999999"};
	for (size_t i = 0; i < sizeof(LENGTHS) / sizeof(LENGTHS[0]); i++) {
		setup();
		note("Content-Length", LENGTHS[i]);
		must_be(400, "http.framing");
	}
}
END_TEST

START_TEST(framing_is_said_once)
{
	note("Content-Length", "1");
	note("content-length", "1");
	must_be(400, "http.framing");
	setup();
	note("Transfer-Encoding", "chunked");
	note("Content-Length", "1");
	must_be(400, "http.framing");
	setup();
	note("Transfer-Encoding", "chunked");
	note("Transfer-Encoding", "chunked");
	must_be(400, "http.framing");
	setup();
	note("Transfer-Encoding", "identity");
	must_be(501, "http.transfer_encoding");
}
END_TEST

START_TEST(hosts)
{
	char host[300];
	note("Host", "a");
	note("Host", "a");
	must_be(400, "http.host");
	static const char *const BAD[] = {"", "a b", "a/b", "user@a", "a\"", "a?"};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		setup();
		note("Host", BAD[i]);
		must_be(400, "http.host");
	}
	for (size_t len = 255; len <= 256; len++) {
		setup();
		memset(host, 'h', len);
		host[len] = '\0';
		note("Host", host);
		must_be(len == 255 ? 0 : 400, "http.host");
	}
}
END_TEST

START_TEST(names_and_values)
{
	static const char *const NAMES[] = {"", "X ", "X:Y", "X\tY", "\xc3\xa9", "(x)"};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		setup();
		note(NAMES[i], "v");
		must_be(400, "http.header");
	}
	static const char *const VALUES[] = {"a\rb", "a\nb", "a\x7f", "\x01"};
	for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++) {
		setup();
		note("X", VALUES[i]);
		must_be(400, "http.header");
	}
	setup();
	http_head_note(&head, "X", 1, "a\0b", 3);
	must_be(400, "http.header");
	setup();
	note("!#$%&'*+-.^_`|~09azAZ", "");
	must_be(0, NULL);
}
END_TEST

static const char ALNUM[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static bool is_alnum_or(uint8_t c, const char *marks)
{
	return c != 0 && (strchr(ALNUM, c) || strchr(marks, c));
}

static unsigned code_of(void)
{
	return http_head_check(&head, HTTP_TARGET_OK, "HTTP/1.1", 100, 100, &body).code;
}

static void check_name(const char *text, size_t len, uint8_t c)
{
	setup();
	http_head_note(&head, text, len, "", 0);
	ck_assert_uint_eq(code_of(), is_alnum_or(c, "!#$%&'*+-.^_`|~") ? 0 : 400);
}

static void check_value(const char *text, size_t len, uint8_t c)
{
	setup();
	http_head_note(&head, "X", 1, text, len);
	ck_assert_uint_eq(code_of(), c == '\t' || (c >= 0x20 && c != 0x7f) ? 0 : 400);
}

static void check_host(const char *text, size_t len, uint8_t c)
{
	setup();
	if (c == 0)
		return; /* here the head ends */
	http_head_note(&head, "Host", 4, text, len);
	ck_assert_uint_eq(code_of(), is_alnum_or(c, ".-_:[]") ? 0 : 400);
}

static void check_id(const char *text, size_t len, uint8_t c)
{
	(void)len;
	if (c != 0)
		ck_assert(http_id_is_sane(text) == is_alnum_or(c, "._-"));
}

static void check_target(const char *text, size_t len, uint8_t c)
{
	char target[64] = "/";
	memcpy(target + 1, text, len + 1);
	enum http_target_kind good = c == 0 || is_alnum_or(c, "-._~/") ? HTTP_TARGET_PLAIN : HTTP_TARGET_OK;
	ck_assert_int_eq(http_target_judge(target), c == 0 || (c > 0x20 && c < 0x7f) ? good : HTTP_TARGET_BAD);
}

/* The checks of 16 bytes at a time agree with checks of single bytes, in texts of any length, nothing behind them. */
START_TEST(each_byte_in_each_place)
{
	static void (*const CHECKS[])(const char *text, size_t len, uint8_t c) = {check_name, check_value, check_host,
										  check_id, check_target};
	for (size_t len = 1; len <= 33; len += len < 17 ? 1 : 16) {
		char *text = malloc(len + 1);
		ck_assert_ptr_nonnull(text);
		for (size_t at = 0; at < len; at++) {
			memset(text, 'a', len);
			text[len] = '\0';
			for (unsigned c = 0; c <= 0xff; c++) {
				text[at] = (char)c;
				for (size_t i = 0; i < sizeof(CHECKS) / sizeof(CHECKS[0]); i++)
					CHECKS[i](text, len, (uint8_t)c);
			}
		}
		free(text);
	}
}
END_TEST

START_TEST(names_are_known_whole_and_in_any_case)
{
	static const char *const NAMES[] = {
		"Host",       "Content-Length", "Transfer-Encoding", "Authorization",
		"Expect",     "X-Request-Id",   "X-Amzn-Trace-Id",   "X-Xet-Session-Id",
		"User-Agent", "Origin",         "If-None-Match",     "Access-Control-Request-Method"};
	const struct http_head none = {0};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		char name[32];
		size_t len = strlen(NAMES[i]);
		for (size_t at = 0; at < len; at++) {
			memcpy(name, NAMES[i], len + 1);
			name[at] = 'q'; /* no other header has a "q", except in "Request" */
			setup();
			note(name, "v");
			ck_assert(memcmp(&head, &none, sizeof(head)) == 0 || strcasecmp(name, NAMES[i]) == 0);
		}
		for (size_t at = 0; at < len; at++)
			name[at] = (char)(at % 2 ? toupper(NAMES[i][at]) : tolower(NAMES[i][at]));
		setup();
		note(name, "v");
		ck_assert_int_ne(memcmp(&head, &none, sizeof(head)), 0);
	}
}
END_TEST

START_TEST(one_authorization)
{
	note("Authorization", "a");
	note("Authorization", "a");
	must_be(400, "http.authorization");
}
END_TEST

START_TEST(expectations)
{
	note("Expect", "200-ok");
	must_be(417, "http.expect");
	ck_assert_uint_eq(http_head_check(&head, HTTP_TARGET_OK, "HTTP/1.0", 1, 1, &body).code, 0);
}
END_TEST

START_TEST(size_and_target)
{
	ck_assert_uint_eq(http_head_check(&head, HTTP_TARGET_OK, "HTTP/1.1", 101, 100, &body).code, 431);
	ck_assert_uint_eq(http_head_check(&head, HTTP_TARGET_ABSOLUTE, "HTTP/1.1", 1, 100, &body).code, 400);
	ck_assert_uint_eq(http_head_check(&head, HTTP_TARGET_BAD, "HTTP/1.1", 1, 100, &body).code, 400);
}
END_TEST

START_TEST(targets_are_judged)
{
	ck_assert_int_eq(http_target_judge("/"), HTTP_TARGET_PLAIN);
	ck_assert_int_eq(http_target_judge("/a%2Fb?x=%01&y=~!\"#"), HTTP_TARGET_OK);
	ck_assert_int_eq(http_target_judge(""), HTTP_TARGET_ABSOLUTE);
	ck_assert_int_eq(http_target_judge("*"), HTTP_TARGET_ABSOLUTE);
	ck_assert_int_eq(http_target_judge("http://a/"), HTTP_TARGET_ABSOLUTE);
	ck_assert_int_eq(http_target_judge("/a%00"), HTTP_TARGET_BAD);
	ck_assert_int_eq(http_target_judge("/a%0"), HTTP_TARGET_OK);
	ck_assert_int_eq(http_target_judge("/a b"), HTTP_TARGET_BAD);
	ck_assert_int_eq(http_target_judge("/a\x7f"), HTTP_TARGET_BAD);
	ck_assert_int_eq(http_target_judge("/\xc3\xa9"), HTTP_TARGET_OK);
	ck_assert_int_eq(http_target_judge("/longer/than/16/bytes/\xc3\xa9/?and=more"), HTTP_TARGET_OK);
	ck_assert_int_eq(http_target_judge("/longer/than/16/bytes/\xc3/?and=more"), HTTP_TARGET_BAD);
	ck_assert_int_eq(http_target_judge("/\xc3"), HTTP_TARGET_BAD);
	ck_assert_int_eq(http_target_judge("/\xff/a"), HTTP_TARGET_BAD);
}
END_TEST

static void log_target(char *out, size_t out_len, const char *target)
{
	http_target_log(out, out_len, target, strlen(target), http_target_judge(target));
}

static void must_log(const char *target, const char *as)
{
	char out[64];
	log_target(out, sizeof(out), target);
	ck_assert_str_eq(out, as);
}

START_TEST(secrets_stay_out_of_the_log)
{
	char out[12];
	must_log("/a?file_id=1&repo=a%2Fb", "/a?file_id=1&repo=a%2Fb");
	must_log("/a?ranges=0-9,12-20&expires=12&signature=abc", "/a?ranges=0-9,12-20&expires=12&-");
	must_log("/a?x=1&sig=a=b", "/a?-&-");
	must_log("/a?y", "/a?-");
	must_log("/a?&file_id=1&", "/a?&file_id=1&");
	must_log("/api/a/b/refs%2Fpr%2f1", "/api/a/b/refs%2Fpr%2f1");
	must_log("/sig=x/token", "/sig...");
	must_log("", "");
	log_target(out, sizeof(out), "/0123456789abcdef");
	ck_assert_str_eq(out, "/0123456789");
	log_target(out, sizeof(out), "/abcde?sig=x&y");
	ck_assert_str_eq(out, "/abcde?-&-");
	log_target(out, sizeof(out), "/abcdefg?sig=x&y");
	ck_assert_str_eq(out, "/abcdefg?-&");
}
END_TEST

/* The signature may be written in any form, and with any character that a log's reader could take for a separator. */
START_TEST(no_form_of_a_signature_is_logged)
{
	static const char *const FORMS[] = {
		"/v1/fetch/ab?signature=SECRET",
		"/v1/fetch/ab?SIGNATURE=SECRET",
		"/v1/fetch/ab?%73ignature=SECRET",
		"/v1/fetch/ab?s%69gnature=SECRET&expires=1",
		"/v1/fetch/ab?expires=1;signature=SECRET",
		"/v1/fetch/ab?expires=1%26signature=SECRET",
		"/v1/fetch/ab?expires=1%26signature%3dSECRET",
		"/v1/fetch/ab?expires=1%2526signature%253dSECRET",
		"/v1/fetch/ab?expires=1?signature=SECRET",
		"/v1/fetch/ab?expires=1#signature=SECRET",
		"/v1/fetch/ab?expires=signature=SECRET",
		"/v1/fetch/ab?expires%3D1&signature+=SECRET",
		"/v1/fetch/ab?Expires=SECRET",
		"/v1/fetch/ab?ranges=1&&signature=SECRET",
		"/v1/fetch/ab?signatureSECRET",
		"/v1/fetch/ab?SECRET",
		"/v1/fetch/ab%3fsignature=SECRET",
		"/v1/fetch/ab%3Fsignature%3dSECRET",
		"/v1/fetch/ab;signature=SECRET",
		"/v1/fetch/ab&signature=SECRET",
		"/v1/fetch/ab#signature=SECRET",
		"/v1/fetch/ab%26signature%3dSECRET",
		"/v1/fetch/ab%253fsignature%253dSECRET?expires=1",
		"/v1/fetch/ab\\?signature=SECRET",
		"http://host/v1/fetch/ab?signature=SECRET",
		"http://user:SECRET@host/v1",
		"http:user:SECRET@host",
		"user:SECRET@host:80",
	};
	for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
		char out[300];
		log_target(out, sizeof(out), FORMS[i]);
		ck_assert_msg(!strstr(out, "SECRET"), "%s: %s", FORMS[i], out);
	}
}
END_TEST

START_TEST(ids)
{
	char id[HTTP_ID_BYTES_MAX + 2];
	ck_assert(http_id_is_sane("aZ09._-"));
	ck_assert(!http_id_is_sane(NULL));
	ck_assert(!http_id_is_sane(""));
	ck_assert(!http_id_is_sane("a b"));
	ck_assert(!http_id_is_sane("a\"b"));
	ck_assert(!http_id_is_sane("\xc3\xa9"));
	memset(id, 'a', sizeof(id));
	id[HTTP_ID_BYTES_MAX] = '\0';
	ck_assert(http_id_is_sane(id));
	id[HTTP_ID_BYTES_MAX] = 'a';
	id[HTTP_ID_BYTES_MAX + 1] = '\0';
	ck_assert(!http_id_is_sane(id));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_head");
	TCase *tc = tcase_create("http_head");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_usual_head_passes);
	tcase_add_test(tc, no_length_is_no_body);
	tcase_add_test(tc, chunked_is_a_body_of_unknown_length);
	tcase_add_test(tc, malformed_lengths_are_refused);
	tcase_add_test(tc, framing_is_said_once);
	tcase_add_test(tc, hosts);
	tcase_add_test(tc, names_and_values);
	tcase_add_test(tc, each_byte_in_each_place);
	tcase_add_test(tc, names_are_known_whole_and_in_any_case);
	tcase_add_test(tc, one_authorization);
	tcase_add_test(tc, expectations);
	tcase_add_test(tc, size_and_target);
	tcase_add_test(tc, targets_are_judged);
	tcase_add_test(tc, secrets_stay_out_of_the_log);
	tcase_add_test(tc, no_form_of_a_signature_is_logged);
	tcase_add_test(tc, ids);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
