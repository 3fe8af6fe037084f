/* Tests the rules of a mirror: which repositories of the upstream come here. */
#include "mirror/rules.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct mirror_rules rules;
static struct cairn_diag diag;
static char text[4096];

static void forget(void)
{
	mirror_rules_fini(&rules);
}

/* @return the rule of the refusal; "": none */
static const char *parse(const char *lines)
{
	mirror_rules_fini(&rules);
	cairn_diag_clear(&diag);
	(void)snprintf(text, sizeof(text), "%s", lines);
	enum cairn_status status = mirror_rules_parse(&rules, text, &diag);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

START_TEST(without_rules_everything_is_mirrored)
{
	ck_assert(mirror_rules_allow(&rules, "models", "ann/cats"));
	ck_assert(mirror_rules_allow(&rules, "datasets", "squad"));
}
END_TEST

START_TEST(the_first_rule_that_fits_counts)
{
	ck_assert_str_eq(
		parse("# a comment\n\n  deny  models:Meta-Llama/*\r\nallow meta-llama/*\ndeny */secret?\nallow gpt2\nallow org/*"),
		"");
	ck_assert(!mirror_rules_allow(&rules, "models", "meta-llama/Llama-3"));
	ck_assert(mirror_rules_allow(&rules, "datasets", "META-llama/x"));
	ck_assert(!mirror_rules_allow(&rules, "models", "org/secret1"));
	ck_assert(mirror_rules_allow(&rules, "models", "org/secret"));
	ck_assert(mirror_rules_allow(&rules, "models", "gpt2"));
	ck_assert(!mirror_rules_allow(&rules, "models", "other/x"));
	ck_assert_str_eq(parse("deny a/*\nallow *\n"), "");
	ck_assert(!mirror_rules_allow(&rules, "spaces", "a/x"));
	ck_assert(mirror_rules_allow(&rules, "spaces", "b/x"));
	ck_assert_str_eq(parse(""), "");
	ck_assert(!mirror_rules_allow(&rules, "models", "a/x"));
}
END_TEST

START_TEST(lines_that_are_no_rules)
{
	static const char *const ALL[] = {"permit *",      "allow",         "deny ",    "allow * gated=asker",
					  "allow files:*", "allow models:", "allow :x", "Allow *"};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(strcmp(parse(ALL[i]), "mirror.rules") == 0, "%s", ALL[i]);
	ck_assert_str_eq(parse("allow *\n\nno\n"), "mirror.rules");
	ck_assert_msg(strncmp(diag.text, "line 3: ", 8) == 0, "%s", diag.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules");
	TCase *tcase = tcase_create("rules");
	tcase_add_checked_fixture(tcase, NULL, forget);
	tcase_add_test(tcase, without_rules_everything_is_mirrored);
	tcase_add_test(tcase, the_first_rule_that_fits_counts);
	tcase_add_test(tcase, lines_that_are_no_rules);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
