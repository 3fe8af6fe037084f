/* Writes that are made in pieces: commits of more operations than one transaction takes, copies of repositories,
 * squashes, and pull requests. index_beside_contract.c has the writes of others in between. */
#include "index/quota.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_stage_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>

/* --- a large commit alone ----------------------------------------------------------------------------------------- */

static bool count_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	(void)commit, (void)message;
	++*(unsigned *)ctx;
	return true;
}

START_TEST(a_large_commit_is_as_several_small_ones)
{
	int64_t large = hx_model("large"), small = hx_model("small");
	struct cairn_index_entry entry;
	unsigned n_commits = 0;
	ck_assert(hx_committed_one(large, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed_one(small, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed(large, "main", sx_put_all("1"), SX_FILES));
	ck_assert(hx_committed(small, "main", sx_operations, SX_FILES / 2));
	ck_assert(hx_committed(small, "main", sx_operations + SX_FILES / 2, SX_FILES - SX_FILES / 2));
	struct cairn_index_commit one = hx_head(large, "main"), other = hx_head(small, "main");
	ck_assert(cairn_git_oid_equal(&one.root, &other.root));
	ck_assert(one.n_files == other.n_files && one.bytes == other.bytes && one.number == 3);
	ck_assert(hx_is_there(&one, "d3/1500", &entry));
	ck_assert_int_eq(entry.commit, one.id);
	hx_text_is(&one, "d0/old", "1");
	ck_assert_int_eq(cairn_index_each_commit(hx_index, &one, 0, count_commit, &n_commits), CAIRN_OK);
	ck_assert_uint_eq(n_commits, 3);
	ck_assert(!hx_committed(large, "main", sx_operations, SX_FILES)); /* the commit changes nothing */
	ck_assert_int_eq(hx_head(large, "main").id, one.id);
	hx_sweep_all(0);
	ck_assert(hx_committed_one(large, "main", hx_drop("d3/1500")));
	ck_assert_uint_eq(hx_head(large, "main").n_files, one.n_files - 1);
	hx_text_is(&one, "d3/1500", "1");
}
END_TEST

START_TEST(a_large_commit_that_fails_leaves_nothing)
{
	int64_t one = hx_model("one");
	struct cairn_index_quota before, after;
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &before), CAIRN_OK);
	(void)sx_put_all("text");
	sx_operations[SX_FILES - 1] = hx_drop("missing");
	hx_refused(one, "main", sx_operations, SX_FILES, "entry.unknown");
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	ck_assert(hx_committed(one, "main", sx_put_all("text"), SX_FILES));
}
END_TEST

/* Each large commit is one more line for lookups, up to the limit; then the rows are copied. */
START_TEST(many_large_commits_follow_each_other)
{
	int64_t one = hx_model("one");
	char text[16];
	ck_assert(hx_committed_one(one, "main", hx_put("first", "1")));
	for (unsigned i = 0; i < CAIRN_INDEX_LINE_DEPTH_MAX + 2; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		ck_assert(hx_committed(one, "main", sx_put_all(text), SX_FILES));
		ck_assert(hx_committed_one(one, "main", hx_put("last", text)));
		struct cairn_index_commit head = hx_head(one, "main");
		hx_text_is(&head, "d0/7", text);
		hx_text_is(&head, "first", "1");
		ck_assert_uint_eq(head.n_files, SX_FILES + 3);
	}
	hx_sweep_all(0);
	struct cairn_index_commit head = hx_head(one, "main");
	hx_text_is(&head, "d0/7", text);
	hx_text_is(&head, "first", "1");
}
END_TEST

START_TEST(a_late_deletion_is_known_again)
{
	int64_t one = hx_model("one");
	char parent[CAIRN_GIT_OID_CHARS + 1];
	ck_assert(hx_committed_one(one, "main", hx_put("old", "1")));
	struct cairn_index_commit before = hx_head(one, "main");
	cairn_git_oid_text(parent, &before.oid);
	(void)sx_put_all("1");
	sx_operations[SX_FILES - 1] = hx_drop("old");
	struct cairn_index_add_commit add = hx_request(one, "main", sx_operations, SX_FILES);
	add.parent = parent;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &add), CAIRN_OK);
	ck_assert(add.added);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &add), CAIRN_OK);
	ck_assert(!add.added);
	sx_is_tidy();
}
END_TEST

/* --- copies, squashes, pull requests ------------------------------------------------------------------------------ */

START_TEST(a_large_copy_is_whole)
{
	int64_t source = hx_model("source");
	hx_uploaded(7, hx_owner_of(source));
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_OK);
	sx_copy_is_whole();
	hx_sweep_all(0);
	sx_copy_is_whole();
	/* The copy can be uploaded to, and deleted. */
	hx_uploaded(8, hx_owner_of(sx_copy.id));
	ck_assert(hx_committed_one(sx_copy.id, "main", hx_put_file("more", 8)));
	struct cairn_index_drop_repo drop = {.id = sx_copy.id};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	hx_sweep_all(0);
	sx_is_tidy();
}
END_TEST

START_TEST(a_large_copy_that_fails_leaves_nothing)
{
	int64_t source = hx_model("source"); /* the source lacks the file */
	struct cairn_index_drop_repo drop = {.id = source};
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_E_CONFLICT);
	ck_assert_str_eq(sx_copy.write.diag.rule, "commit.sha256");
	ck_assert(!sx_copy_is_there());
	sx_is_tidy();
	ck_assert_int_eq(sx_send_copy(0, NULL), CAIRN_E_CONFLICT);
	sx_is_tidy();
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_E_NOT_FOUND);
	hx_sweep_all(0);
	sx_is_tidy();
}
END_TEST

/* The former name of another repository leads there until the copy has it. */
START_TEST(a_large_copy_takes_a_former_name_at_its_end)
{
	int64_t source = hx_model("source");
	struct cairn_index_move_repo move = {.id = hx_model("copy"), .account = hx_ann, .name = "moved"};
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "Ann", "copy", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, move.id);
	hx_uploaded(7, hx_owner_of(source));
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_OK);
	sx_copy_is_whole();
}
END_TEST

START_TEST(a_large_squash_has_all_files)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed(one, "main", sx_put_all("1"), SX_FILES));
	ck_assert(hx_committed_one(one, "main", hx_drop("d0/old")));
	ck_assert(hx_committed_one(one, "main", hx_put("d0/7", "2")));
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert_int_eq(sx_send_squash(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert(cairn_git_oid_equal(&head.oid, &sx_squash.oid) && cairn_git_oid_equal(&head.root, &before.root));
	ck_assert(head.number == 1 && head.parent == 0 && head.n_files == before.n_files && head.bytes == before.bytes);
	hx_sweep_all(0);
	hx_text_is(&head, "d0/7", "2");
	hx_text_is(&head, "d0/8", "1");
	sx_is_tidy();
}
END_TEST

START_TEST(a_large_pull_request_is_merged)
{
	int64_t one = hx_model("one");
	char head_oid[CAIRN_GIT_OID_CHARS + 1];
	ck_assert_int_eq(sx_new_pull(one), 1);
	ck_assert_int_eq(sx_send_pull(one, NULL), CAIRN_OK);
	struct cairn_index_commit pull = sx_pull_head(one, "1");
	ck_assert(pull.n_files == SX_FILES + 1 && pull.number == 2);
	ck_assert_int_eq(sx_send_merge(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert(sx_commit.added && cairn_git_oid_equal(&head.oid, &sx_commit.oid));
	ck_assert(cairn_git_oid_equal(&head.root, &pull.root));
	ck_assert_int_eq(sx_send_pull(one, NULL), CAIRN_E_CONFLICT);
	ck_assert_str_eq(sx_commit.write.diag.rule, "pr.ended");
	/* A merge of changes that the branch has already ends its pull request, too. */
	ck_assert_int_eq(sx_new_pull(one), 2);
	sx_commit = hx_request(one, "main", sx_put_all("1"), SX_FILES);
	struct cairn_index_commit second = sx_pull_head(one, "2");
	cairn_git_oid_text(head_oid, &second.oid);
	sx_commit.merge = (struct cairn_index_merge){.pull = "2", .head = head_oid};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &sx_commit), CAIRN_OK);
	ck_assert(!sx_commit.added);
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	hx_sweep_all(0);
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* If somebody pushed to the pull request, neither the branch nor the pull request changes. */
START_TEST(a_large_merge_of_another_head_leaves_nothing)
{
	int64_t one = hx_model("one");
	int64_t old = hx_head(one, "main").id;
	ck_assert_int_eq(sx_new_pull(one), 1);
	sx_commit = hx_request(one, "main", sx_put_all("1"), SX_FILES);
	sx_commit.merge = (struct cairn_index_merge){.pull = "1", .head = "0123456789012345678901234567890123456789"};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &sx_commit), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_head(one, "main").id, old);
	sx_is_tidy();
}
END_TEST

/* --- deleted folders ---------------------------------------------------------------------------------------------- */

/* Makes folders in a folder, and one whose name sorts between them. */
static void put_nested(int64_t repo)
{
	for (unsigned i = 0; i < SX_FILES; i++) {
		const char *in = i % 3 == 0 ? "a" : i % 3 == 1 ? "a/b/c" : "a/z";
		(void)snprintf(sx_paths[i], sizeof(sx_paths[i]), "%s/%u", in, i);
		sx_operations[i] = hx_put(sx_paths[i], "1");
	}
	ck_assert(hx_committed(repo, "main", sx_operations, SX_FILES));
	ck_assert(hx_committed_one(repo, "main", hx_put("a.b/c", "1")));
}

START_TEST(a_large_folder_is_deleted)
{
	int64_t one = hx_model("one"), other = hx_model("other");
	struct cairn_index_entry entry;
	put_nested(one);
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert(hx_committed_one(one, "main", hx_drop_folder("a")));
	ck_assert(hx_committed_one(other, "main", hx_put("a.b/c", "1")));
	struct cairn_index_commit head = hx_head(one, "main"), same = hx_head(other, "main");
	ck_assert(cairn_git_oid_equal(&head.root, &same.root));
	ck_assert(head.n_files == same.n_files && head.bytes == same.bytes && head.number == before.number + 1);
	ck_assert(!hx_is_there(&head, "a/0", &entry) && !hx_is_there(&head, "a", &entry));
	hx_text_is(&before, "a/b/c/1", "1");
	hx_sweep_all(0);
	hx_text_is(&before, "a/z/2", "1");
	ck_assert_str_eq(hx_all(one, "main"), hx_all(other, "main"));
	sx_is_tidy();
}
END_TEST

/* The operations before and after it count, too, and none is applied twice. */
START_TEST(a_large_folder_is_deleted_and_made_again)
{
	int64_t one = hx_model("one"), other = hx_model("other");
	const struct cairn_index_operation all[] = {hx_put("a/0", "2"),   hx_drop("a"),          hx_put("a/b/1", "3"),
						    hx_put("first", "4"), hx_drop_folder("a.b"), hx_put("a.b", "5")};
	const struct cairn_index_operation rest[] = {hx_put("a/b/1", "3"), hx_put("first", "4"), hx_put("a.b", "5")};
	put_nested(one);
	ck_assert(hx_committed(one, "main", all, sizeof(all) / sizeof(all[0])));
	ck_assert(hx_committed(other, "main", rest, sizeof(rest) / sizeof(rest[0])));
	struct cairn_index_commit head = hx_head(one, "main"), same = hx_head(other, "main");
	ck_assert(cairn_git_oid_equal(&head.root, &same.root));
	ck_assert(head.n_files == same.n_files && head.bytes == same.bytes);
	hx_text_is(&head, "a/b/1", "3");
}
END_TEST

START_TEST(a_deletion_of_a_large_folder_that_fails_leaves_nothing)
{
	int64_t one = hx_model("one");
	const struct cairn_index_operation all[] = {hx_drop_folder("a"), hx_drop("missing")};
	struct cairn_index_quota before, after;
	put_nested(one);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &before), CAIRN_OK);
	hx_refused(one, "main", all, 2, "entry.unknown");
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	hx_text_is(&head, "a/0", "1");
	sx_is_tidy();
}
END_TEST

/* Rows of folders that the commit has emptied are removed before the file takes their place. */
START_TEST(a_file_takes_the_place_of_many_folders)
{
	enum { N_EMPTIED = 4000 };
	int64_t one = hx_model("one"), other = hx_model("other");
	for (unsigned i = 0; i < SX_FILES; i++) {
		(void)snprintf(sx_paths[i], sizeof(sx_paths[i]), "a/%u/x", i);
		sx_operations[i] = i < N_EMPTIED ? hx_put(sx_paths[i], "1") : hx_put("b", "1");
	}
	ck_assert(hx_committed(one, "main", sx_operations, SX_FILES));
	for (unsigned i = 0; i < SX_FILES; i++)
		sx_operations[i] = i < N_EMPTIED ? hx_drop(sx_paths[i]) : hx_put("b", "2");
	sx_operations[SX_FILES - 1] = hx_put("a", "3");
	const struct cairn_index_operation rest[] = {hx_put("b", "2"), hx_put("a", "3")};
	ck_assert(hx_committed(one, "main", sx_operations, SX_FILES));
	ck_assert(hx_committed(other, "main", rest, 2));
	struct cairn_index_commit head = hx_head(one, "main"), same = hx_head(other, "main");
	ck_assert(cairn_git_oid_equal(&head.root, &same.root));
	ck_assert(head.n_files == same.n_files && head.bytes == same.bytes);
}
END_TEST

/* --- pull requests opened with files ------------------------------------------------------------------------------ */

START_TEST(a_large_pull_request_is_opened)
{
	int64_t one = hx_model("one");
	ck_assert_int_eq(sx_send_open(one, NULL), CAIRN_OK);
	struct cairn_index_commit pull = sx_pull_head(one, "1");
	ck_assert(sx_opened.number == 1 && cairn_git_oid_equal(&pull.oid, &sx_opened.oid));
	ck_assert(pull.n_files == SX_FILES + 1 && pull.number == 2);
	ck_assert(hx_committed(one, "main", sx_put_all("1"), SX_FILES));
	/* The pull request has no changes, so it has no commit of its own. */
	ck_assert_int_eq(sx_send_open(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main"), second = sx_pull_head(one, "2");
	ck_assert(sx_opened.number == 2 && head.id == second.id && cairn_git_oid_equal(&sx_opened.oid, &head.oid));
	hx_sweep_all(0);
	hx_text_is(&pull, "d0/7", "1");
	hx_text_is(&second, "d0/7", "1");
	sx_is_tidy();
}
END_TEST

START_TEST(a_pull_request_that_deletes_a_large_folder_is_opened)
{
	int64_t one = hx_model("one");
	const struct cairn_index_operation drop = hx_drop_folder("a");
	put_nested(one);
	struct cairn_index_add_ref add = {.repo = one,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = hx_head(one, "main").id,
					  .account = hx_ann,
					  .first = HX_MESSAGE,
					  .operations = &drop,
					  .n = 1};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(add.number, 1);
	ck_assert_uint_eq(sx_pull_head(one, "1").n_files, 2);
	sx_is_tidy();
}
END_TEST

/* Makes branches of branches, until a lookup reads as many lines as it may. @return the last head */
static int64_t branch_to_the_limit(int64_t repo)
{
	char name[16];
	int64_t head = hx_head(repo, "main").id;
	for (unsigned depth = 3; depth <= CAIRN_INDEX_LINE_DEPTH_MAX; depth++) { /* main's large commit has 2 */
		(void)snprintf(name, sizeof(name), "branch%u", depth);
		ck_assert_int_eq(hx_add_ref(repo, CAIRN_INDEX_BRANCH, name, head), CAIRN_OK);
		ck_assert(hx_committed_one(repo, name, hx_put("last", name)));
		head = hx_head(repo, name).id;
	}
	return head;
}

/* The line of the pull request begins with copies of all rows. They go before the commit begins again in pieces. */
START_TEST(a_pull_request_that_turns_out_large_leaves_no_copies)
{
	int64_t one = hx_model("one");
	const struct cairn_index_operation drop = hx_drop_folder("a");
	hx_uploaded(7, hx_owner_of(one));
	put_nested(one);
	ck_assert(hx_committed_one(one, "main", hx_put_file("a/file", 7)));
	int64_t deepest = branch_to_the_limit(one);
	struct cairn_index_add_ref add = {.repo = one,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = deepest,
					  .account = hx_ann,
					  .first = HX_MESSAGE,
					  .operations = &drop,
					  .n = 1};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(sx_pull_head(one, "1").n_files, 3);
	/* nothing refers to the file now */
	struct cairn_index_drop_repo gone = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &gone), CAIRN_OK);
	hx_sweep_all(0);
	sx_is_tidy();
}
END_TEST

START_TEST(a_large_pull_request_that_fails_leaves_nothing)
{
	int64_t one = hx_model("one");
	struct cairn_index_quota before, after;
	struct cairn_index_commit commit;
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &before), CAIRN_OK);
	(void)sx_put_all("1");
	sx_operations[SX_FILES - 1] = hx_drop("missing");
	sx_opened = (struct cairn_index_add_ref){.repo = one,
						 .kind = CAIRN_INDEX_PULL,
						 .base = "main",
						 .commit = hx_head(one, "main").id,
						 .account = hx_ann,
						 .first = HX_MESSAGE,
						 .operations = sx_operations,
						 .n = SX_FILES};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &sx_opened), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(sx_opened.write.diag.rule, "entry.unknown");
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "1", &commit), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	sx_is_tidy();
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_stage");
	TCase *t = tcase_create("index_stage");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_large_commit_is_as_several_small_ones);
	tcase_add_test(t, a_large_commit_that_fails_leaves_nothing);
	tcase_add_test(t, many_large_commits_follow_each_other);
	tcase_add_test(t, a_late_deletion_is_known_again);
	tcase_add_test(t, a_large_copy_is_whole);
	tcase_add_test(t, a_large_copy_that_fails_leaves_nothing);
	tcase_add_test(t, a_large_copy_takes_a_former_name_at_its_end);
	tcase_add_test(t, a_large_squash_has_all_files);
	tcase_add_test(t, a_large_pull_request_is_merged);
	tcase_add_test(t, a_large_merge_of_another_head_leaves_nothing);
	tcase_add_test(t, a_large_folder_is_deleted);
	tcase_add_test(t, a_large_folder_is_deleted_and_made_again);
	tcase_add_test(t, a_deletion_of_a_large_folder_that_fails_leaves_nothing);
	tcase_add_test(t, a_file_takes_the_place_of_many_folders);
	tcase_add_test(t, a_large_pull_request_is_opened);
	tcase_add_test(t, a_pull_request_that_deletes_a_large_folder_is_opened);
	tcase_add_test(t, a_pull_request_that_turns_out_large_leaves_no_copies);
	tcase_add_test(t, a_large_pull_request_that_fails_leaves_nothing);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
