/* Files of the store in pull requests of strangers: which owner has them, who may read them, for whose quota they
 * count, and when they are removed. The fixture examines the index at the end of each test. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"

#include "index/hub/pulls.h"
#include "index/proof.h"
#include "index/quota.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static int64_t bob, box; /* box: the hidden bucket of bob */

static void set_up(void)
{
	hx_set_up();
	bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_add_repo add = {
		.kind = CAIRN_INDEX_BUCKET, .account = bob, .name = CAIRN_INDEX_PROPOSALS, .is_private = true};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	box = add.id;
}

static bool reads(int64_t repo, uint64_t number)
{
	return fx_sees(hx_index, hx_owner_of(repo), number);
}

/* Opens a pull request by bob that puts file `number` at a path. @return its number */
static int64_t propose(int64_t repo, const char *path, uint64_t number)
{
	const struct cairn_index_operation put = hx_put_file(path, number);
	struct cairn_index_add_ref add = hx_stranger_pull(repo, bob, &put, 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	return add.number;
}

static void refuse(int64_t repo, int64_t account, uint64_t number)
{
	const struct cairn_index_operation put = hx_put_file("no", number);
	struct cairn_index_add_ref add = hx_stranger_pull(repo, account, &put, 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_CONFLICT);
	ck_assert_str_eq(add.write.diag.rule, "commit.sha256");
}

static void end(int64_t repo, const char *name)
{
	struct cairn_index_add_commit close = {.repo = repo,
					       .kind = CAIRN_INDEX_PULL,
					       .ref = name,
					       .message = HX_MESSAGE,
					       .ends = true,
					       .stranger = bob};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
}

/* Returns how many bytes count for bob, without the bucket itself. */
static uint64_t bob_holds(void)
{
	return hx_account_held(bob) - CAIRN_INDEX_REPO_BYTES;
}

static enum cairn_status merge(int64_t repo, const char *name, struct cairn_index_operation put)
{
	struct cairn_index_commit at;
	char head[CAIRN_GIT_OID_CHARS + 1];
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, name, &at), CAIRN_OK);
	cairn_git_oid_text(head, &at.oid);
	struct cairn_index_add_commit request = hx_request(repo, "main", &put, 1);
	request.merge = (struct cairn_index_merge){.pull = name, .head = head};
	return cairn_index_add_commit(hx_index, &request);
}

static bool has_bytes(int64_t repo, enum cairn_index_ref_kind kind, const char *ref, const char *path)
{
	struct cairn_index_commit commit;
	struct cairn_index_entry entry;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, kind, ref, &commit), CAIRN_OK);
	ck_assert(hx_is_there(&commit, path, &entry));
	return entry.has_file;
}

/* Only the bucket's account can propose its files. The repository does not own them, but its readers may read them. */
START_TEST(only_files_of_the_bucket_can_be_proposed)
{
	int64_t one = hx_model("one"), two = hx_model("two"), rita = hx_add_account(CAIRN_INDEX_USER, "rita");
	hx_uploaded(1, hx_owner_of(box));
	hx_uploaded(2, hx_owner_of(one));
	hx_uploaded(3, hx_owner_of(two));
	hx_uploaded(4, "");
	uint64_t of_ann = hx_account_held(hx_ann), of_bob = bob_holds();
	ck_assert_int_eq(propose(one, "a", 1), 1);
	for (uint64_t number = 2; number < 5; number++)
		refuse(one, bob, number);
	refuse(one, rita, 1);
	hx_refused_one(one, hx_put_file("x", 1), "commit.sha256");
	ck_assert(reads(one, 1) && reads(box, 1) && !reads(two, 1));
	ck_assert(has_bytes(one, CAIRN_INDEX_PULL, "1", "a"));
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann);
	/* a file counts once for the account, in however many proposals; the rows count each time */
	uint64_t rows = bob_holds() - of_bob;
	ck_assert_uint_lt(rows, CAIRN_INDEX_FILE_BYTES_MIN);
	ck_assert_int_eq(propose(one, "a", 1), 2);
	ck_assert_int_eq(propose(two, "a", 1), 1);
	ck_assert_uint_eq(bob_holds(), of_bob + 3 * rows);
	hx_sweep_all(0);
	ck_assert(reads(one, 1) && reads(two, 1));
	struct cairn_index_adopted copy = {.file = fx_hash("file", 1)};
	memcpy(copy.sha256, hx_put_file("x", 1).sha256, sizeof(copy.sha256));
	struct cairn_index_adopt_files adopt = {.source = one, .repo = two, .files = &copy, .n = 1};
	ck_assert_int_eq(cairn_index_adopt_files(hx_index, &adopt), CAIRN_OK);
	ck_assert(copy.failed);
}
END_TEST

START_TEST(a_merge_moves_the_file_into_the_repository)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	hx_uploaded(1, hx_owner_of(box));
	hx_uploaded(2, hx_owner_of(box));
	uint64_t file = bob_holds() / 2, of_ann = hx_account_held(hx_ann);
	ck_assert_uint_ge(file, CAIRN_INDEX_FILE_BYTES_MIN);
	(void)propose(one, "a", 1);
	(void)propose(two, "b", 1);
	const struct cairn_index_operation more = hx_put_file("b", 2);
	struct cairn_index_add_commit commit = {.repo = one,
						.kind = CAIRN_INDEX_PULL,
						.ref = "1",
						.message = HX_MESSAGE,
						.operations = &more,
						.n = 1,
						.stranger = bob};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_OK);
	struct cairn_index_set_quota set = {.repo = one, .limit_bytes = 2 * file};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	ck_assert_int_eq(merge(one, "1", hx_put_file("a", 1)), CAIRN_E_DENIED);
	ck_assert(has_bytes(one, CAIRN_INDEX_PULL, "1", "a") && bob_holds() > 2 * file);
	set.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	ck_assert_int_eq(merge(one, "1", hx_put_file("a", 1)), CAIRN_OK);
	/* Another pull request still needs the first file from the bucket; none needs the second. */
	ck_assert(reads(one, 1) && reads(one, 2) && reads(box, 1) && !reads(box, 2));
	ck_assert_uint_ge(bob_holds(), file);
	ck_assert_uint_lt(bob_holds(), 2 * file);
	ck_assert_uint_ge(hx_account_held(hx_ann), of_ann + 2 * file);
	ck_assert(has_bytes(one, CAIRN_INDEX_BRANCH, "main", "a") && has_bytes(one, CAIRN_INDEX_PULL, "1", "b"));
	ck_assert(hx_committed_one(one, "main", hx_put_file("c", 2)));
	struct cairn_index_squash squash = {.repo = two, .kind = CAIRN_INDEX_PULL, .name = "1", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	ck_assert(reads(two, 1) && !reads(box, 1));
	ck_assert_uint_eq(bob_holds(), 0);
}
END_TEST

/* If a proposed file is also the repository's, it stays in the bucket. The merge adds nothing to the quota. */
START_TEST(proposing_a_file_of_the_repository_costs_it_nothing)
{
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(box));
	hx_uploaded(1, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	uint64_t of_ann = hx_account_held(hx_ann);
	(void)propose(one, "b", 1);
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann);
	ck_assert_int_eq(merge(one, "1", hx_put_file("b", 1)), CAIRN_OK);
	ck_assert_uint_lt(hx_account_held(hx_ann), of_ann + CAIRN_INDEX_FILE_BYTES_MIN);
	ck_assert_uint_eq(bob_holds(), 0);
}
END_TEST

/* A closed pull request is removed with its files, except those in a branch by then. Numbers are never reused. */
START_TEST(a_closed_pull_request_is_removed_with_its_files)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit at;
	for (uint64_t number = 1; number < 4; number++)
		hx_uploaded(number, hx_owner_of(box));
	(void)propose(one, "a", 1);
	(void)propose(one, "b", 2);
	(void)propose(one, "c", 3);
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "2", &at), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "kept", at.id), CAIRN_OK);
	end(one, "1");
	end(one, "2");
	uint64_t before = bob_holds(), of_ann = hx_account_held(hx_ann);
	hx_sweep_all(3600);
	ck_assert(reads(one, 1) && bob_holds() == before);
	hx_sweep_all(0);
	ck_assert(!fx_sees(hx_index, NULL, 1) && reads(one, 2) && !reads(box, 2) && reads(one, 3) && reads(box, 3));
	for (int number = 1; number < 3; number++) {
		char name[24];
		(void)snprintf(name, sizeof(name), "%d", number);
		ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, name, &at), CAIRN_E_NOT_FOUND);
	}
	ck_assert(has_bytes(one, CAIRN_INDEX_BRANCH, "kept", "b"));
	ck_assert_uint_lt(bob_holds(), before - 2 * CAIRN_INDEX_FILE_BYTES_MIN);
	ck_assert_uint_ge(hx_account_held(hx_ann), of_ann + CAIRN_INDEX_FILE_BYTES_MIN);
	end(one, "3");
	hx_sweep_all(0);
	ck_assert_uint_eq(bob_holds(), 0);
	hx_uploaded(1, hx_owner_of(box));
	ck_assert_int_eq(propose(one, "a", 1), 4);
	/* Deleting the repository removes everything. */
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	hx_sweep_all(0);
	hx_sweep_all(0);
	ck_assert(!fx_sees(hx_index, NULL, 1) && !fx_sees(hx_index, NULL, 2));
	ck_assert_uint_eq(bob_holds(), 0);
}
END_TEST

/* A pull request that begins at another one keeps the files of that one. The repository pays for none of them, even if
 * its quota is full. */
START_TEST(a_pull_request_on_another_costs_the_repository_nothing)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit at;
	hx_uploaded(1, hx_owner_of(box));
	uint64_t file = bob_holds(), of_ann = hx_account_held(hx_ann);
	(void)propose(one, "a", 1);
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "1", &at), CAIRN_OK);
	const struct cairn_index_operation put = hx_put("t", "text");
	struct cairn_index_add_ref add = hx_stranger_pull(one, hx_add_account(CAIRN_INDEX_USER, "rita"), &put, 1);
	add.commit = at.id;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	end(one, "1");
	hx_sweep_all(0);
	ck_assert(has_bytes(one, CAIRN_INDEX_PULL, "2", "a") && reads(one, 1) && reads(box, 1));
	ck_assert_uint_eq(bob_holds(), file);
	ck_assert_uint_lt(hx_account_held(hx_ann), of_ann + file);
	struct cairn_index_set_quota set = {.repo = one, .limit_bytes = file};
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "2", &at), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "kept", at.id), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert_uint_eq(bob_holds(), file);
	set.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert_uint_eq(bob_holds(), 0);
	ck_assert(reads(one, 1) && !reads(box, 1));
}
END_TEST

/* A squash copies the rows of a branch that came from a pull request. */
START_TEST(a_squash_moves_proposed_files_into_the_repository)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit at;
	hx_uploaded(1, hx_owner_of(box));
	(void)propose(one, "a", 1);
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "1", &at), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "kept", at.id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "kept", hx_put("t", "text")));
	struct cairn_index_squash squash = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "kept", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	end(one, "1");
	hx_sweep_all(0);
	ck_assert(has_bytes(one, CAIRN_INDEX_BRANCH, "kept", "a") && reads(one, 1) && !reads(box, 1));
	ck_assert_uint_eq(bob_holds(), 0);
}
END_TEST

START_TEST(a_forgotten_file_is_gone_from_it)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	for (uint64_t number = 1; number < 4; number++)
		hx_uploaded(number, hx_owner_of(box));
	(void)propose(one, "a", 1);
	(void)propose(two, "a", 1);
	(void)propose(one, "b", 2);
	(void)propose(one, "c", 3);
	ck_assert(fx_forget(hx_index, 1, hx_owner_of(one)));
	ck_assert(!reads(one, 1) && reads(two, 1) && !has_bytes(one, CAIRN_INDEX_PULL, "1", "a"));
	ck_assert(fx_forget(hx_index, 2, hx_owner_of(box)));
	ck_assert(!fx_sees(hx_index, NULL, 2) && !has_bytes(one, CAIRN_INDEX_PULL, "2", "b"));
	ck_assert(fx_forget(hx_index, 3, NULL));
	ck_assert(!fx_sees(hx_index, NULL, 3) && !has_bytes(one, CAIRN_INDEX_PULL, "3", "c"));
	end(one, "1");
	end(one, "2");
	end(one, "3");
	hx_sweep_all(0);
	ck_assert(reads(two, 1));
}
END_TEST

static void take_due(void *ctx, const struct cairn_index_due *due)
{
	struct cairn_index_outcome *outcome = ctx;
	*outcome = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(outcome->said, due->said, sizeof(outcome->said));
}

/* A disproved claim no longer names a file, and cannot be proposed again. */
START_TEST(a_false_claim_is_dropped)
{
	int64_t one = hx_model("one");
	struct cairn_index_outcome outcome;
	hx_uploaded(1, hx_owner_of(box));
	(void)propose(one, "a", 1);
	ck_assert(has_bytes(one, CAIRN_INDEX_PULL, "1", "a"));
	ck_assert_int_eq(cairn_index_each_due(hx_index, -1, INT64_MAX / 2, 1, take_due, &outcome), CAIRN_OK);
	memset(outcome.proof, 0x55, sizeof(outcome.proof));
	struct cairn_index_record_outcomes record = {.outcomes = &outcome, .n = 1};
	ck_assert_int_eq(cairn_index_record_outcomes(hx_index, &record), CAIRN_OK);
	ck_assert(!has_bytes(one, CAIRN_INDEX_PULL, "1", "a"));
	refuse(one, bob, 1);
}
END_TEST

/* A stranger's upload does not restore lost bytes in other revisions. */
START_TEST(lost_bytes_stay_lost)
{
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	ck_assert(fx_forget(hx_index, 1, hx_owner_of(one)));
	hx_uploaded(1, hx_owner_of(box));
	(void)propose(one, "a", 1);
	ck_assert(!has_bytes(one, CAIRN_INDEX_BRANCH, "main", "a"));
	(void)propose(one, "b", 1);
	ck_assert(!has_bytes(one, CAIRN_INDEX_BRANCH, "main", "a") && has_bytes(one, CAIRN_INDEX_PULL, "2", "b"));
	end(one, "1");
	end(one, "2");
	hx_sweep_all(0);
	ck_assert(!fx_sees(hx_index, NULL, 1));
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_proposed_contract");
	TCase *t = tcase_create("proposed");
	tcase_add_checked_fixture(t, set_up, hx_tear_down);
	tcase_add_test(t, only_files_of_the_bucket_can_be_proposed);
	tcase_add_test(t, a_merge_moves_the_file_into_the_repository);
	tcase_add_test(t, proposing_a_file_of_the_repository_costs_it_nothing);
	tcase_add_test(t, a_closed_pull_request_is_removed_with_its_files);
	tcase_add_test(t, a_pull_request_on_another_costs_the_repository_nothing);
	tcase_add_test(t, a_squash_moves_proposed_files_into_the_repository);
	tcase_add_test(t, a_forgotten_file_is_gone_from_it);
	tcase_add_test(t, a_false_claim_is_dropped);
	tcase_add_test(t, lost_bytes_stay_lost);
	suite_add_tcase(s, t);
	return run_suite(s);
}
