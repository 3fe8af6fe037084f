/* Quotas of pull requests: those of writers count for the repository, and those of strangers for the stranger. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_quota_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a pull request with HX_MESSAGE and number 1. */
enum { PULL = QX_ROW + 1 + QX_ROW + 8 };

START_TEST(pull_requests_count_with_their_texts)
{
	static char text[5001];
	int64_t one = hx_model("one");
	memset(text, 'x', sizeof(text) - 1);
	uint64_t now = qx_held(one), pull = QX_ROW + 1 + QX_ROW + 8 + 5000;
	struct cairn_index_add_ref add = {.repo = one,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = hx_head(one, "main").id,
					  .account = hx_ann,
					  .first = HX_MESSAGE};
	add.first.message = text;
	qx_limit(0, one, now + pull - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	qx_limit(0, one, now + pull);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now + pull);
	/* The pull request can be closed although the quota is full. */
	struct cairn_index_add_commit close = {
		.repo = one, .kind = CAIRN_INDEX_PULL, .ref = "1", .message = HX_MESSAGE, .ends = true};
	close.message.message = "no";
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now + pull + 2);
}
END_TEST

static struct cairn_index_add_commit stranger_commit(int64_t repo, int64_t account,
						     const struct cairn_index_operation *operations, uint32_t n)
{
	return (struct cairn_index_add_commit){.repo = repo,
					       .kind = CAIRN_INDEX_PULL,
					       .ref = "1",
					       .message = HX_MESSAGE,
					       .operations = operations,
					       .n = n,
					       .stranger = account};
}

static struct cairn_index_add_commit merge_of_first(int64_t repo, const struct cairn_index_operation *operations,
						    uint32_t n, char head[static CAIRN_GIT_OID_CHARS + 1])
{
	struct cairn_index_commit at;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, "1", &at), CAIRN_OK);
	cairn_git_oid_text(head, &at.oid);
	struct cairn_index_add_commit merge = hx_request(repo, "main", operations, n);
	merge.merge = (struct cairn_index_merge){.pull = "1", .head = head};
	return merge;
}

/* The proposals of a stranger count for the stranger, at full size, until they are merged. */
START_TEST(a_strangers_pull_request_counts_for_the_stranger)
{
	char head[CAIRN_GIT_OID_CHARS + 1];
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	ck_assert(hx_committed_one(one, "main", hx_put("k", "known")));
	uint64_t now = qx_held(one), of_ann = hx_account_held(hx_ann);
	qx_limit(0, one, now);
	/* The answers must not reveal whether the repository already has a text. */
	const struct cairn_index_operation some[] = {hx_put("a", "known"), hx_put("b", "12")}, more = hx_put("c", "3");
	uint64_t first = PULL + QX_COMMIT + 2 * QX_ENTRY + 7, second = QX_COMMIT + QX_ENTRY + 1;
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, some, 2);
	qx_limit(bob, 0, first - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "quota.account");
	ck_assert_uint_eq(hx_account_held(bob), 0);
	qx_limit(bob, 0, first);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), first);
	struct cairn_index_add_commit commit = stranger_commit(one, bob, &more, 1);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_E_DENIED);
	qx_limit(bob, 0, first + second);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), first + second);
	/* The repository pays nothing. A text that it already had now counts for the stranger only. */
	ck_assert_uint_eq(qx_held(one), now - strlen("known"));
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann - strlen("known"));
	/* The merge needs room for all of it. Then only the repository pays. */
	struct cairn_index_add_commit merge = merge_of_first(one, some, 2, head);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &merge), CAIRN_E_DENIED);
	ck_assert_str_eq(merge.write.diag.rule, "quota.repo");
	ck_assert_uint_eq(hx_account_held(bob), first + second);
	qx_limit(0, one, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &merge), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), 0);
	ck_assert_uint_ge(qx_held(one), now + first + second - strlen("known") + QX_COMMIT);
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann + qx_held(one) - now);
}
END_TEST

/* If a writer squashes a pull request, it counts for the repository. When closed, it still counts for the stranger. */
START_TEST(a_squash_counts_for_the_repository_and_a_close_for_the_stranger)
{
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	const struct cairn_index_operation some = hx_put("a", "12");
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, &some, 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	uint64_t both = hx_account_held(bob), now = qx_held(one);
	struct cairn_index_squash squash = {.repo = one, .kind = CAIRN_INDEX_PULL, .name = "2", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), both / 2);
	ck_assert_uint_gt(qx_held(one), now + both / 2);
	struct cairn_index_add_commit close = stranger_commit(one, bob, NULL, 0);
	close.ends = true;
	close.message.message = "no";
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), both / 2 + 2);
}
END_TEST

static void open_and_close(int64_t repo, int64_t account)
{
	char name[24];
	struct cairn_index_add_ref add = hx_stranger_pull(repo, account, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	(void)snprintf(name, sizeof(name), "%d", (int)add.number);
	struct cairn_index_add_commit close = stranger_commit(repo, account, NULL, 0);
	close.ref = name;
	close.ends = true;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
}

START_TEST(strangers_open_so_many_and_no_more)
{
	char name[8];
	int64_t one = hx_model("one"), two = hx_model("two"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, NULL, 0);
	for (int i = 0; i < CAIRN_INDEX_STRANGER_OPEN_MAX; i++)
		ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "pr.many");
	/* pull requests of writers are not counted, and those of one repository do not limit another */
	add.is_stranger = false;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	for (int i = CAIRN_INDEX_STRANGER_OPEN_MAX; i < CAIRN_INDEX_STRANGER_PULLS_MAX; i++)
		open_and_close(two, bob);
	add = hx_stranger_pull(two, bob, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	for (int i = CAIRN_INDEX_STRANGER_OPEN_MAX; i < CAIRN_INDEX_STRANGERS_OPEN_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x%d", i / CAIRN_INDEX_STRANGER_OPEN_MAX);
		int64_t other =
			i % CAIRN_INDEX_STRANGER_OPEN_MAX == 0 ? hx_add_account(CAIRN_INDEX_USER, name) : add.account;
		add = hx_stranger_pull(one, other, NULL, 0);
		ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	}
	add = hx_stranger_pull(one, hx_add_account(CAIRN_INDEX_USER, "last"), NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	add = hx_stranger_pull(two, add.account, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
}
END_TEST

/* A growing pull request reaches a limit of its own, even without a quota. */
START_TEST(a_strangers_pull_request_has_a_limit)
{
	enum { N = CAIRN_INDEX_STRANGER_BYTES_MAX / CAIRN_INDEX_INLINE_MAX };
	static char text[CAIRN_INDEX_INLINE_MAX + 1];
	static char path[N][8];
	static struct cairn_index_operation all[N];
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	memset(text, 'x', CAIRN_INDEX_INLINE_MAX);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "f%u", i);
		all[i] = hx_put(path[i], text);
	}
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, all, N - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	struct cairn_index_add_commit commit = stranger_commit(one, bob, &all[N - 1], 1);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_E_LIMIT);
	ck_assert_str_eq(commit.write.diag.rule, "pr.full");
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_quota_pulls");
	TCase *t = tcase_create("index_quota_pulls");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, pull_requests_count_with_their_texts);
	tcase_add_test(t, a_strangers_pull_request_counts_for_the_stranger);
	tcase_add_test(t, a_squash_counts_for_the_repository_and_a_close_for_the_stranger);
	tcase_add_test(t, strangers_open_so_many_and_no_more);
	tcase_add_test(t, a_strangers_pull_request_has_a_limit);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
