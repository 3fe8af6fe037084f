/* Finding the name that a mistyped one may mean. */
#include "base/nearest.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {"push", "pull", "ls", "rm", "restore", "listen", "listen_mode"};

static void must_be(const char *wanted, const char *name)
{
	struct cairn_nearest near = cairn_nearest_to(wanted, strlen(wanted));
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		cairn_nearest_offer(&near, NAMES[i]);
	ck_assert_msg(near.best == name || (near.best && name && strcmp(near.best, name) == 0), "%s: %s, not %s",
		      wanted, near.best ? near.best : "none", name ? name : "none");
}

START_TEST(the_nearest_name)
{
	must_be("psuh", "push");
	must_be("pusg", "push");
	must_be("restor", "restore");
	must_be("listen-mode", "listen_mode");
	must_be("lisen", "listen");
	must_be("lx", "ls");
	must_be("pulsh", "push"); /* "push" is nearer than "pull" */
}
END_TEST

START_TEST(far_from_all)
{
	char long_name[100];
	memset(long_name, 'l', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	must_be("nonsense", NULL);
	must_be("xyz", NULL);
	must_be("lss_", "ls"); /* a name of four letters may differ in two */
	must_be("p", NULL);
	must_be("", NULL);
	must_be(long_name, NULL);
	struct cairn_nearest near = cairn_nearest_to("push", 4);
	cairn_nearest_offer(&near, long_name);
	ck_assert_ptr_null(near.best);
}
END_TEST

START_TEST(only_its_own_bytes)
{
	struct cairn_nearest near = cairn_nearest_to("lsiten=127.0.0.1:8080", 6);
	cairn_nearest_offer(&near, "listen");
	ck_assert_str_eq(near.best, "listen");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nearest");
	TCase *t = tcase_create("names");
	tcase_add_test(t, the_nearest_name);
	tcase_add_test(t, far_from_all);
	tcase_add_test(t, only_its_own_bytes);
	suite_add_tcase(s, t);
	return run_suite(s);
}
