/* The rules of a mirror: which repositories of the upstream may be mirrored. */
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

/* Parses rules. @return the rule of the refusal; "": none */
static const char *parse(const char *lines)
{
	mirror_rules_fini(&rules);
	cairn_diag_clear(&diag);
	(void)snprintf(text, sizeof(text), "%s", lines);
	enum cairn_status status = mirror_rules_parse(&rules, text, &diag);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

static bool allows(const char *type, const char *name)
{
	return mirror_rules_find(&rules, type, name) != NULL;
}

START_TEST(without_rules_everything_is_mirrored)
{
	ck_assert(allows("models", "ann/cats"));
	ck_assert(allows("datasets", "squad"));
}
END_TEST

START_TEST(the_first_rule_that_fits_counts)
{
	ck_assert_str_eq(
		parse("# a comment\n\n  deny  models:Meta-Llama/*\r\nallow meta-llama/*\ndeny */secret?\nallow gpt2\nallow org/*"),
		"");
	ck_assert(!allows("models", "meta-llama/Llama-3"));
	ck_assert(allows("datasets", "META-llama/x"));
	ck_assert(!allows("models", "org/secret1"));
	ck_assert(allows("models", "org/secret"));
	ck_assert(allows("models", "gpt2"));
	ck_assert(!allows("models", "other/x"));
	ck_assert_str_eq(parse("deny a/*\nallow *\n"), "");
	ck_assert(!allows("spaces", "a/x"));
	ck_assert(allows("spaces", "b/x"));
	ck_assert_str_eq(parse(""), "");
	ck_assert(!allows("models", "a/x"));
}
END_TEST

START_TEST(malformed_rules_are_refused)
{
	static const char *const ALL[] = {
		"permit *",
		"allow",
		"deny ",
		"allow files:*",
		"allow models:",
		"allow :x",
		"Allow *",
		"allow * gated=all",
		"allow * gated=",
		"allow * gated=org:",
		"allow * token=f gated=org:a/b",
		"allow * gated=org:team",
		"allow * token=",
		"allow * token=a token=b",
		"allow * gated=asker gated=nobody",
		"deny * gated=asker",
		"deny * token=a",
		"allow * other",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(strcmp(parse(ALL[i]), "mirror.rules") == 0, "%s", ALL[i]);
	ck_assert_str_eq(parse("allow *\n\nno\n"), "mirror.rules");
	ck_assert_msg(strncmp(diag.text, "line 3: ", 8) == 0, "%s", diag.text);
}
END_TEST

START_TEST(a_rule_says_by_whose_token_and_for_whom)
{
	ck_assert_str_eq(parse("allow a/* gated=nobody\nallow b/* token=keys/b gated=org:team\nallow c/* gated=asker "
			       "token=/etc/c\nallow *"),
			 "");
	const struct mirror_rule *a = mirror_rules_find(&rules, "models", "a/x");
	const struct mirror_rule *b = mirror_rules_find(&rules, "models", "B/x");
	const struct mirror_rule *c = mirror_rules_find(&rules, "models", "c/x");
	const struct mirror_rule *d = mirror_rules_find(&rules, "models", "d/x");
	ck_assert(a->gated == MIRROR_GATED_NOBODY && !a->token_file && a->line == 1);
	ck_assert(b->gated == MIRROR_GATED_ORG && strcmp(b->org, "team") == 0 && strcmp(b->token_file, "keys/b") == 0);
	ck_assert(c->gated == MIRROR_GATED_ASKER && strcmp(c->token_file, "/etc/c") == 0);
	ck_assert(d->gated == MIRROR_GATED_ASKER && !d->token_file && d->line == 4);
	ck_assert(rules.n_tokens == 2);
}
END_TEST

START_TEST(too_many_tokens)
{
	char lines[65 * 16] = "";
	for (unsigned i = 0; i <= MIRROR_TOKENS_MAX; i++)
		(void)snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "allow a token=%u\n", i % 10);
	ck_assert_str_eq(parse(lines), "mirror.rules");
	lines[strlen(lines) - 16] = '\0';
	ck_assert_str_eq(parse(lines), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules");
	TCase *tcase = tcase_create("rules");
	tcase_add_checked_fixture(tcase, NULL, forget);
	tcase_add_test(tcase, without_rules_everything_is_mirrored);
	tcase_add_test(tcase, the_first_rule_that_fits_counts);
	tcase_add_test(tcase, malformed_rules_are_refused);
	tcase_add_test(tcase, a_rule_says_by_whose_token_and_for_whom);
	tcase_add_test(tcase, too_many_tokens);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
