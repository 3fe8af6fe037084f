/* Names of accounts and repositories. */
#include "hub/name.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(names)
{
	static const char *const GOOD[] = {"a", "ann", "Ann-B.c_d", "0", "_x_", "a-b-c", NULL};
	static const char *const BAD[] = {"",     ".",    "..",  "-a",  "a-",       ".a",   "a.",
					  "a--b", "a..b", "a/b", "a b", "\xc3\xa4", "a%2f", NULL};
	char name[CAIRN_HUB_NAME_MAX + 2];
	for (const char *const *n = GOOD; *n; n++)
		ck_assert_msg(cairn_hub_name_is_good(*n), "%s", *n);
	for (const char *const *n = BAD; *n; n++)
		ck_assert_msg(!cairn_hub_name_is_good(*n), "%s", *n);
	memset(name, 'n', sizeof(name));
	name[CAIRN_HUB_NAME_MAX + 1] = '\0';
	ck_assert(!cairn_hub_name_is_good(name));
	ck_assert(cairn_hub_name_is_good(name + 1));
}
END_TEST

START_TEST(reserved_names)
{
	ck_assert(cairn_hub_name_is_reserved("api"));
	ck_assert(cairn_hub_name_is_reserved("Buckets"));
	ck_assert(cairn_hub_name_is_reserved("hub"));
	ck_assert(!cairn_hub_name_is_reserved("ann"));
	ck_assert(!cairn_hub_name_is_reserved("apis"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hub_name");
	TCase *t = tcase_create("name");
	tcase_add_test(t, names);
	tcase_add_test(t, reserved_names);
	suite_add_tcase(s, t);
	return run_suite(s);
}
