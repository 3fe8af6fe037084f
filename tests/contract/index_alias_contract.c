/* Namespaces of the mirrored hub, and aliases: names that lead to other names. */
#include "index/hub/alias.h"
#include "support/index_mirrored_fixture.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

START_TEST(a_namespace_says_that_it_is_mirrored)
{
	struct cairn_index_account account;
	struct cairn_index_repo repo;
	const struct cairn_index_operation o = mx_absent("a", "text");
	(void)mx_mirrored("model", &o, 1);
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &account), CAIRN_OK);
	ck_assert(account.is_mirrored);
	ck_assert_int_eq(cairn_index_account(hx_index, "ann", &account), CAIRN_OK);
	ck_assert(!account.is_mirrored);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "FAR", "Model", &repo), CAIRN_OK);
	ck_assert(repo.is_mirrored);
	(void)hx_model("own");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "own", &repo), CAIRN_OK);
	ck_assert(!repo.is_mirrored);
}
END_TEST

START_TEST(an_alias_is_kept_and_replaced)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	struct cairn_index_add_alias add = {.kind = CAIRN_INDEX_MODEL, .name = "gpt2", .target = "old/gpt2"};
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, "gpt2", target), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &add), CAIRN_OK);
	struct cairn_index_add_alias again = {
		.kind = CAIRN_INDEX_MODEL, .name = "GPT2", .target = "openai-community/gpt2"};
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &again), CAIRN_OK);
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, "Gpt2", target), CAIRN_OK);
	ck_assert_str_eq(target, "openai-community/gpt2");
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_DATASET, "gpt2", target), CAIRN_E_NOT_FOUND);
	struct cairn_index_add_alias bad = {.kind = CAIRN_INDEX_MODEL, .name = "", .target = "a/b"};
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &bad), CAIRN_E_CONFLICT);
}
END_TEST

static bool leads(const char *name)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	return cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, name, target) == CAIRN_OK;
}

static int64_t dropped_aliases(const char *account, const char *name)
{
	struct cairn_index_drop_aliases drop = {.kind = CAIRN_INDEX_MODEL, .account = account, .name = name};
	ck_assert_int_eq(cairn_index_drop_aliases(hx_index, &drop), CAIRN_OK);
	return drop.n_dropped;
}

START_TEST(aliases_of_a_repository_or_a_namespace_are_forgotten)
{
	static const char *const ALIASES[][2] = {{"model", "far/model"}, {"old/model", "Far/Model"},
						 {"next", "far/model2"}, {"far/former", "else/where"},
						 {"other", "fa/model"},  {"more", "far0/model"}};
	for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++) {
		struct cairn_index_add_alias add = {
			.kind = CAIRN_INDEX_MODEL, .name = ALIASES[i][0], .target = ALIASES[i][1]};
		ck_assert_int_eq(cairn_index_add_alias(hx_index, &add), CAIRN_OK);
	}
	ck_assert_int_eq(dropped_aliases("FAR", "model"), 2);
	ck_assert(!leads("model") && !leads("old/model") && leads("next") && leads("far/former"));
	ck_assert_int_eq(dropped_aliases("far", "model"), 0);
	ck_assert_int_eq(dropped_aliases("Far", NULL), 2);
	ck_assert(!leads("next") && !leads("far/former") && leads("other") && leads("more"));
}
END_TEST

static enum cairn_status drop_namespace(const char *name)
{
	struct cairn_index_drop_namespace drop = {.name = name};
	return cairn_index_drop_namespace(hx_index, &drop);
}

static void count_accounts(void *ctx, const struct cairn_index_account *account)
{
	ck_assert_ptr_null(strchr(account->name, '/'));
	++*(unsigned *)ctx;
}

static unsigned n_accounts(void)
{
	unsigned n = 0;
	int64_t next = 0;
	ck_assert_int_eq(cairn_index_each_account(hx_index, 0, 0, count_accounts, &n, &next), CAIRN_OK);
	return n;
}

START_TEST(a_namespace_is_given_up)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	struct cairn_index_account account, own;
	int64_t repo = mx_mirrored("model", &o, 1);
	unsigned n = n_accounts();
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &account), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("nobody"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(drop_namespace("ann"), CAIRN_E_NOT_FOUND); /* "ann" is an account of this server */
	ck_assert_int_eq(drop_namespace("far"), CAIRN_E_CONFLICT);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("FAR"), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("far"), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(n_accounts(), n - 1);
	struct cairn_index_add_account add = {.kind = CAIRN_INDEX_USER, .name = "far", .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &own), CAIRN_OK);
	ck_assert(!own.is_mirrored && own.id != account.id);
	/* the mirror found the namespace before, and now makes a repository */
	struct cairn_index_add_repo late = {.kind = CAIRN_INDEX_MODEL,
					    .account = account.id,
					    .name = "late",
					    .first = HX_MESSAGE,
					    .operations = &o,
					    .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &late), CAIRN_E_CONFLICT);
	late.account = own.id;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &late), CAIRN_OK);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_alias_contract");
	TCase *t = tcase_create("names");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_namespace_says_that_it_is_mirrored);
	tcase_add_test(t, an_alias_is_kept_and_replaced);
	tcase_add_test(t, aliases_of_a_repository_or_a_namespace_are_forgotten);
	tcase_add_test(t, a_namespace_is_given_up);
	suite_add_tcase(s, t);
	return run_suite(s);
}
