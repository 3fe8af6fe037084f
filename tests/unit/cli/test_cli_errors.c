/* How names of files and messages of servers are shown on the terminal. */
#include "cli/common/cli.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char NASTY[] = "a\x1b[2J\tb\n\x7f\xc3\xa4\xc2\x9b\xe2\x80\xae\x9b";
static const char SHOWN[] = "a\\x1b[2J\\x09b\\x0a\\x7f\xc3\xa4\\u009b\\u202e\\x9b";

/* Redirects standard error from here on. @return the file that gets it */
static FILE *caught_begin(void)
{
	FILE *f = tmpfile();
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(dup2(fileno(f), STDERR_FILENO), 0);
	return f;
}

static const char *caught_end(FILE *f)
{
	static char text[1000];
	rewind(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	(void)fclose(f);
	return text;
}

START_TEST(bytes_of_strangers_do_not_steer_a_terminal)
{
	char want[1000];
	struct cairn_diag diag = {0};
	FILE *f = caught_begin();
	cli_error("%s is odd", NASTY);
	(void)snprintf(want, sizeof(want), "cairn: %s is odd\n", SHOWN);
	ck_assert_str_eq(caught_end(f), want);

	f = caught_begin();
	(void)cairn_fail(&diag, CAIRN_E_FORMAT, "a.rule", 7, "%s", NASTY);
	cairn_diag_values(&diag, NASTY, NASTY);
	ck_assert_int_eq(cli_fail(NASTY, CAIRN_E_FORMAT, &diag), CLI_EXIT_DATA);
	(void)snprintf(want, sizeof(want), "cairn: %s: %s [a.rule, offset 7, expected %s, found %s]\n", SHOWN, SHOWN,
		       SHOWN, SHOWN);
	ck_assert_str_eq(caught_end(f), want);
}
END_TEST

START_TEST(unset_parts_of_an_error_are_not_shown)
{
	struct cairn_diag diag = {0};
	FILE *f = caught_begin();
	ck_assert_int_eq(cli_fail("x", CAIRN_E_NOMEM, &diag), CLI_EXIT_INTERNAL);
	(void)cairn_fail(&diag, CAIRN_E_BUSY, "a.rule", CAIRN_NO_OFFSET, "why");
	ck_assert_int_eq(cli_fail("x", CAIRN_E_BUSY, &diag), CLI_EXIT_UNAVAILABLE);
	ck_assert_str_eq(caught_end(f), "cairn: x: out of memory\ncairn: x: why [a.rule]\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_errors");
	TCase *tc = tcase_create("cli_errors");
	tcase_add_test(tc, bytes_of_strangers_do_not_steer_a_terminal);
	tcase_add_test(tc, unset_parts_of_an_error_are_not_shown);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
