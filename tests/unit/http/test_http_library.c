/* Versions of libmicrohttpd: the tested ones, and any other. */
#include "server/http/http_library.h"

#include "support/http_fixture.h"
#include "support/output.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

/* Replaces the library's function: a program's own functions come before a library's. */
static const char *version_here = "1.0.2";
const char *MHD_get_version(void);
const char *MHD_get_version(void)
{
	return version_here;
}

START_TEST(known_versions)
{
	static const char *const OTHERS[] = {"",        "0.9.7",  "0.9.74",    "0.9.76",
					     "0.9.750", "1.0.10", "1.0.1-rc1", "2.0.0"};
	ck_assert(http_library_is_tested("0.9.75"));
	ck_assert(http_library_is_tested("1.0.1"));
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		ck_assert_msg(!http_library_is_tested(OTHERS[i]), "%s", OTHERS[i]);
}
END_TEST

static struct output said;

/* Starts the service, sends a request, and stops the service. */
static void serve(void)
{
	static struct client_reply reply;
	struct http_server_options o = fixture_options();
	output_begin(&said);
	fixture_start(&o);
	client_ask(&reply, "GET", "GET /echo/a/b HTTP/1.1\r\nHost: h\r\n\r\n");
	fixture_stop();
	output_end(&said);
	ck_assert_uint_eq(reply.code, 200);
}

START_TEST(another_version_is_told_of_and_serves)
{
	serve();
	ck_assert_ptr_nonnull(strstr(said.err, "\"event\":\"http_library_version\""));
	ck_assert_ptr_nonnull(strstr(said.err, "\"version\":\"1.0.2\",\"known\":\"0.9.75 and 1.0.1\""));
}
END_TEST

START_TEST(a_known_version_is_not_worth_a_word)
{
	version_here = "0.9.75";
	serve();
	ck_assert_ptr_null(strstr(said.err, "http_library_version"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_library");
	TCase *tc = tcase_create("http_library");
	tcase_add_test(tc, known_versions);
	tcase_add_test(tc, another_version_is_told_of_and_serves);
	tcase_add_test(tc, a_known_version_is_not_worth_a_word);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
