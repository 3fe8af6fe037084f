/* A mirrored repository that replaces another one in the transaction that makes it. */
#include "index/hub/mirror_list.h"
#include "index/hub/mirror_state.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MANY = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME_BYTES = 8 };
static struct cairn_index_operation many[MANY];
static int64_t far;

/* Sets up operations for a repository that is made in pieces; the first one alone is for a small one. */
static void set_up(void)
{
	static char names[MANY][NAME_BYTES];
	hx_set_up();
	far = hx_add_mirrored(hx_index);
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(names[i], NAME_BYTES, "f%05u", i);
		many[i] = (struct cairn_index_operation){
			.kind = CAIRN_INDEX_PUT_ABSENT, .path = names[i], .size_bytes = 1};
		ck_assert_int_eq(cairn_git_blob(&many[i].oid, "x", 1), CAIRN_OK);
	}
}

static struct cairn_index_add_repo request(const char *name, uint32_t n, int64_t replaces)
{
	return (struct cairn_index_add_repo){.kind = CAIRN_INDEX_MODEL,
					     .account = far,
					     .name = name,
					     .first = HX_MESSAGE,
					     .operations = many,
					     .n = n,
					     .replaces = replaces};
}

static int64_t made(const char *name, uint32_t n, int64_t replaces)
{
	struct cairn_index_add_repo add = request(name, n, replaces);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	return add.id;
}

/* Makes a repository, which the operator wants fetched and kept. */
static int64_t wanted(const char *name)
{
	struct cairn_index_set_mirror_state state = {
		.repo = made(name, 1, 0), .state = CAIRN_INDEX_MIRROR_PRIVATE, .looked_unix_s = 7};
	struct cairn_index_set_ahead set = {.repo = state.repo,
					    .ahead = {.every_s = 60, .keeps = true, .include = "*.json"}};
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &state), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
	return state.repo;
}

static void is_wanted(int64_t repo, int64_t looked_unix_s)
{
	struct cairn_index_mirrored m;
	ck_assert_int_eq(cairn_index_mirrored(hx_index, repo, &m), CAIRN_OK);
	ck_assert(m.ahead.every_s == 60 && m.ahead.keeps);
	ck_assert_str_eq(m.ahead.include, "*.json");
	ck_assert(m.state == CAIRN_INDEX_MIRROR_PRIVATE && m.looked_unix_s == looked_unix_s);
}

static int64_t number_of(const char *name)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "far", name, &repo), CAIRN_OK);
	return repo.id;
}

static const uint32_t SIZES[] = {1, MANY};

START_TEST(the_wishes_stay_with_the_name)
{
	struct cairn_index_mirrored m;
	int64_t old = wanted("model"), now = made("model", SIZES[_i], old);
	ck_assert_int_eq(number_of("model"), now);
	is_wanted(now, 0);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, old, &m), CAIRN_E_NOT_FOUND);
	hx_sweep_all(0);
	is_wanted(now, 0);
}
END_TEST

START_TEST(a_repository_without_a_state_is_replaced)
{
	struct cairn_index_mirrored m;
	int64_t old = made("model", 1, 0), now = made("model", SIZES[_i], old);
	ck_assert_int_eq(number_of("model"), now);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, now, &m), CAIRN_E_NOT_FOUND);
}
END_TEST

/* If the new repository cannot be made, the old one stays as it was. */
START_TEST(a_refused_tree_replaces_nothing)
{
	int64_t old = wanted("model");
	struct cairn_index_add_repo add = request("model", SIZES[_i], old);
	many[add.n - 1] = hx_drop("none"); /* a file that is not there */
	ck_assert_int_ne(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(number_of("model"), old);
	is_wanted(old, 7);
}
END_TEST

/* The operator has removed the repository meanwhile, with the wishes for it. */
START_TEST(a_repository_that_was_dropped_leaves_no_wishes)
{
	struct cairn_index_mirrored m;
	struct cairn_index_drop_repo drop = {.id = wanted("model")};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, made("model", SIZES[_i], drop.id), &m), CAIRN_E_NOT_FOUND);
}
END_TEST

/* Another daemon has replaced the repository meanwhile. */
START_TEST(a_repository_is_replaced_once)
{
	int64_t old = wanted("model"), now = made("model", SIZES[_i], old);
	struct cairn_index_add_repo add = request("model", SIZES[_i], old);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_E_CONFLICT);
	ck_assert_str_eq(add.write.diag.rule, "repo.known");
	ck_assert_int_eq(number_of("model"), now);
	is_wanted(now, 0);
}
END_TEST

START_TEST(only_the_replaced_repository_gives_its_name)
{
	int64_t old = wanted("model"), other = made("other", 1, 0);
	struct cairn_index_add_repo add = request("other", SIZES[_i], old);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_E_CONFLICT);
	ck_assert_int_eq(number_of("other"), other);
	is_wanted(number_of("model"), 7);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_replace_contract");
	TCase *t = tcase_create("replace");
	tcase_add_checked_fixture(t, set_up, hx_tear_down);
	tcase_add_loop_test(t, the_wishes_stay_with_the_name, 0, 2);
	tcase_add_loop_test(t, a_repository_without_a_state_is_replaced, 0, 2);
	tcase_add_loop_test(t, a_refused_tree_replaces_nothing, 0, 2);
	tcase_add_loop_test(t, a_repository_that_was_dropped_leaves_no_wishes, 0, 2);
	tcase_add_loop_test(t, a_repository_is_replaced_once, 0, 2);
	tcase_add_loop_test(t, only_the_replaced_repository_gives_its_name, 0, 2);
	suite_add_tcase(s, t);
	return run_suite(s);
}
