/* Quotas of repositories and of their former names, which take space without any file. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_quota_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>

static enum cairn_status add_as(enum cairn_index_repo_kind kind, const char *name, const char **rule)
{
	struct cairn_index_add_repo add = {.kind = kind, .account = hx_ann, .name = name, .first = HX_MESSAGE};
	enum cairn_status status = cairn_index_add_repo(hx_index, &add);
	*rule = add.write.diag.rule;
	return status;
}

static enum cairn_status rename_as(int64_t repo, const char *name, const char **rule)
{
	struct cairn_index_move_repo move = {.id = repo, .account = hx_ann, .name = name};
	enum cairn_status status = cairn_index_move_repo(hx_index, &move);
	*rule = move.write.diag.rule;
	return status;
}

static void renamed(int64_t repo, const char *name)
{
	const char *rule;
	ck_assert_int_eq(rename_as(repo, name, &rule), CAIRN_OK);
}

/* Attack: any number of empty buckets, each of which has rows in the index. */
START_TEST(an_empty_repository_counts)
{
	const char *rule;
	int64_t box = hx_bucket("box");
	ck_assert_uint_eq(qx_held(box), QX_REPO);
	qx_limit(hx_ann, 0, 2 * QX_REPO - 1);
	ck_assert_int_eq(add_as(CAIRN_INDEX_BUCKET, "more", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	qx_limit(hx_ann, 0, 2 * QX_REPO);
	ck_assert_int_eq(add_as(CAIRN_INDEX_BUCKET, "more", &rule), CAIRN_OK);
	qx_limit(hx_ann, 0, 3 * QX_REPO + QX_COMMIT + QX_ROW + 4 - 1);
	ck_assert_int_eq(add_as(CAIRN_INDEX_SPACE, "more", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	/* a repository can be deleted whatever the quota is, and its bytes no longer count */
	qx_limit(hx_ann, 0, 0);
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, QX_REPO);
}
END_TEST

/* Attack: a repository is renamed again and again, and every former name still leads to it. */
START_TEST(each_former_name_counts_for_its_repository)
{
	const char *rule;
	int64_t box = hx_bucket("box");
	renamed(box, "second");
	renamed(box, "third");
	ck_assert_uint_eq(qx_held(box), QX_REPO + 2 * QX_FORMER);
	qx_limit(0, box, QX_REPO + 3 * QX_FORMER - 1);
	ck_assert_int_eq(rename_as(box, "fourth", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.repo");
	qx_limit(0, box, CAIRN_INDEX_NO_QUOTA);
	qx_limit(hx_ann, 0, QX_REPO + 3 * QX_FORMER - 1);
	ck_assert_int_eq(rename_as(box, "fourth", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	ck_assert_uint_eq(qx_held(box), QX_REPO + 2 * QX_FORMER);
	/* taking a former name of its own, or changing upper and lower case, adds no name */
	renamed(box, "box");
	renamed(box, "BOX");
	renamed(box, "BOX");
	ck_assert_uint_eq(qx_held(box), QX_REPO + 2 * QX_FORMER);
	/* The name of another repository changes nothing. */
	qx_limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	(void)hx_bucket("other");
	ck_assert_int_eq(rename_as(box, "other", &rule), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(qx_held(box), QX_REPO + 2 * QX_FORMER);
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, QX_REPO);
}
END_TEST

START_TEST(a_name_that_is_given_again_gives_its_bytes_back)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 7 };
	static char path[N][NAME];
	static struct cairn_index_operation all[N];
	const char *rule;
	int64_t one = hx_model("one"), other = hx_model("other"), box = hx_bucket("one");
	renamed(one, "second");
	renamed(one, "third");
	renamed(one, "fourth");
	renamed(box, "box");
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + 3 * QX_FORMER);
	ck_assert_int_eq(add_as(CAIRN_INDEX_MODEL, "One", &rule), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + 2 * QX_FORMER);
	renamed(other, "second");
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + QX_FORMER);
	ck_assert_uint_eq(qx_held(other), QX_FIRST_BYTES + QX_FORMER);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_ann,
					   .name = "third",
					   .first = HX_MESSAGE,
					   .operations = all,
					   .n = N};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES);
	ck_assert_uint_eq(qx_held(box), QX_REPO + QX_FORMER);
}
END_TEST

/* Former names of repositories that a member moved away stop counting for the organisation when the member leaves. */
START_TEST(names_of_a_former_member_give_their_bytes_back)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team"), one = hx_model("one");
	struct cairn_index_set_member set = {.organisation = "team", .user = "Ann", .role = CAIRN_INDEX_ROLE_ADMIN};
	ck_assert_int_eq(cairn_index_set_member(hx_index, &set), CAIRN_OK);
	struct cairn_index_move_repo move = {.id = one, .account = team, .name = "one"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	move.name = "two";
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	move = (struct cairn_index_move_repo){.id = one, .account = hx_ann, .name = "three"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + 3 * QX_FORMER);
	set.role = CAIRN_INDEX_ROLE_NONE;
	ck_assert_int_eq(cairn_index_set_member(hx_index, &set), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + QX_FORMER);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_quota_names");
	TCase *t = tcase_create("index_quota_names");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, an_empty_repository_counts);
	tcase_add_test(t, each_former_name_counts_for_its_repository);
	tcase_add_test(t, a_name_that_is_given_again_gives_its_bytes_back);
	tcase_add_test(t, names_of_a_former_member_give_their_bytes_back);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
