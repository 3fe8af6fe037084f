/* Commits of more operations than one transaction takes, copies of repositories, and squashes: they are made in pieces,
 * and others get in between. */
#include "base/workers.h"
#include "index/quota.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, N_FOLDER = 500, N_OTHERS = 5 };

static char paths[N][16];
static struct cairn_index_operation operations[N];

/* Operations that put a text into each of N files. */
static const struct cairn_index_operation *all_put(const char *text)
{
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "d%u/%u", i / N_FOLDER, i);
		operations[i] = hx_put(paths[i], text);
	}
	return operations;
}

static void sweep_all(void)
{
	struct cairn_index_sweep_repos request = {.grace_s = 0};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &request), CAIRN_OK);
	while (request.more);
}

/* Nothing that is to be removed has rows. */
static void is_tidy(void)
{
	if (!cairn_index_is_remote(hx_index))
		fx_sql(hx_folder(),
		       "SELECT json(iif(EXISTS(SELECT 1 FROM repo WHERE dropped IS NOT NULL) OR"
		       " EXISTS(SELECT 1 FROM line l WHERE NOT EXISTS(SELECT 1 FROM ref WHERE line = l.id)"
		       " AND NOT EXISTS(SELECT 1 FROM line c WHERE c.parent = l.id)), 'rows are left', '1'))");
}

static int64_t new_pull(int64_t repo)
{
	struct cairn_index_add_ref add = {.repo = repo,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = hx_head(repo, "main").id,
					  .account = hx_ann,
					  .first = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	return add.number;
}

static struct cairn_index_commit pull_head(int64_t repo, const char *name)
{
	struct cairn_index_commit commit;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, name, &commit), CAIRN_OK);
	return commit;
}

/* --- the writes that are made in pieces --------------------------------------------------------------------------- */

static struct cairn_index_add_commit large_commit;
static struct cairn_index_add_repo copy;
static struct cairn_index_squash squash;
static char pull_oid[CAIRN_GIT_OID_CHARS + 1];

static enum cairn_status send_commit(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	large_commit = hx_request(repo, "main", all_put("1"), N);
	large_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &large_commit);
}

/* The copy has the files of `repo`, and what the operations add. */
static enum cairn_status send_copy(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	copy = (struct cairn_index_add_repo){.kind = CAIRN_INDEX_MODEL,
					     .account = hx_ann,
					     .name = "copy",
					     .first = HX_MESSAGE,
					     .operations = all_put("1"),
					     .n = N,
					     .source = repo};
	operations[N - 1] = hx_put_file("file", 7);
	copy.write.done = done;
	return cairn_index_add_repo(hx_index, &copy);
}

static enum cairn_status send_squash(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	squash = (struct cairn_index_squash){
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	squash.write.done = done;
	return cairn_index_squash(hx_index, &squash);
}

static enum cairn_status send_pull(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	large_commit = hx_request(repo, "1", all_put("1"), N);
	large_commit.kind = CAIRN_INDEX_PULL;
	large_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &large_commit);
}

static enum cairn_status send_merge(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	struct cairn_index_commit head = pull_head(repo, "1");
	cairn_git_oid_text(pull_oid, &head.oid);
	large_commit = hx_request(repo, "main", all_put("1"), N);
	large_commit.merge = (struct cairn_index_merge){.pull = "1", .head = pull_oid};
	large_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &large_commit);
}

/* Deletes the folders of a commit of many files: few operations. */
static struct cairn_index_operation drops[(N + N_FOLDER - 1) / N_FOLDER];
enum { N_DROPS = sizeof(drops) / sizeof(drops[0]) };
static char dropped[N_DROPS][16];

static enum cairn_status send_drop(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	for (unsigned i = 0; i < N_DROPS; i++) {
		(void)snprintf(dropped[i], sizeof(dropped[i]), "d%u", i);
		drops[i] = hx_drop_folder(dropped[i]);
	}
	large_commit = hx_request(repo, "main", drops, N_DROPS);
	large_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &large_commit);
}

static struct cairn_index_add_ref opened;

static enum cairn_status send_open(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	opened = (struct cairn_index_add_ref){.repo = repo,
					      .kind = CAIRN_INDEX_PULL,
					      .base = "main",
					      .commit = hx_head(repo, "main").id,
					      .account = hx_ann,
					      .first = HX_MESSAGE,
					      .operations = all_put("1"),
					      .n = N};
	opened.write.done = done;
	return cairn_index_add_ref(hx_index, &opened);
}

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
	ck_assert(hx_committed(large, "main", all_put("1"), N));
	ck_assert(hx_committed(small, "main", operations, N / 2));
	ck_assert(hx_committed(small, "main", operations + N / 2, N - N / 2));
	struct cairn_index_commit one = hx_head(large, "main"), other = hx_head(small, "main");
	ck_assert(cairn_git_oid_equal(&one.root, &other.root));
	ck_assert(one.n_files == other.n_files && one.bytes == other.bytes && one.number == 3);
	ck_assert(hx_is_there(&one, "d3/1500", &entry));
	ck_assert_int_eq(entry.commit, one.id);
	hx_text_is(&one, "d0/old", "1");
	ck_assert_int_eq(cairn_index_each_commit(hx_index, &one, 0, count_commit, &n_commits), CAIRN_OK);
	ck_assert_uint_eq(n_commits, 3);
	ck_assert(!hx_committed(large, "main", operations, N)); /* nothing differs */
	ck_assert_int_eq(hx_head(large, "main").id, one.id);
	sweep_all();
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
	(void)all_put("text");
	operations[N - 1] = hx_drop("missing");
	hx_refused(one, "main", operations, N, "entry.unknown");
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	ck_assert(hx_committed(one, "main", all_put("text"), N));
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
		ck_assert(hx_committed(one, "main", all_put(text), N));
		ck_assert(hx_committed_one(one, "main", hx_put("last", text)));
		struct cairn_index_commit head = hx_head(one, "main");
		hx_text_is(&head, "d0/7", text);
		hx_text_is(&head, "first", "1");
		ck_assert_uint_eq(head.n_files, N + 3);
	}
	sweep_all();
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
	(void)all_put("1");
	operations[N - 1] = hx_drop("old");
	struct cairn_index_add_commit add = hx_request(one, "main", operations, N);
	add.parent = parent;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &add), CAIRN_OK);
	ck_assert(add.added);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &add), CAIRN_OK);
	ck_assert(!add.added);
	is_tidy();
}
END_TEST

/* --- copies, squashes, pull requests ------------------------------------------------------------------------------ */

static bool copy_is_there(void)
{
	struct cairn_index_repo repo;
	enum cairn_status status = cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "Ann", "copy", &repo);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

static void copy_is_whole(void)
{
	struct cairn_index_repo repo;
	struct cairn_index_entry entry;
	struct cairn_index_commit head = hx_head(copy.id, "main");
	ck_assert(copy_is_there());
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "Copy", &repo), CAIRN_OK);
	ck_assert(repo.id == copy.id && repo.n_files == N && head.n_files == N && head.number == 1);
	hx_text_is(&head, "d0/7", "1");
	ck_assert(hx_is_there(&head, "file", &entry) && entry.has_file);
	ck_assert_str_eq(hx_owner_of(copy.id), hx_owner_of(repo.id));
}

START_TEST(a_large_copy_is_whole)
{
	int64_t source = hx_model("source");
	hx_uploaded(7, hx_owner_of(source));
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_OK);
	copy_is_whole();
	sweep_all();
	copy_is_whole();
	/* It may upload, and be deleted. */
	hx_uploaded(8, hx_owner_of(copy.id));
	ck_assert(hx_committed_one(copy.id, "main", hx_put_file("more", 8)));
	struct cairn_index_drop_repo drop = {.id = copy.id};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	sweep_all();
	is_tidy();
}
END_TEST

START_TEST(a_large_copy_that_fails_leaves_nothing)
{
	int64_t source = hx_model("source"); /* lacks the file */
	struct cairn_index_drop_repo drop = {.id = source};
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_E_CONFLICT);
	ck_assert_str_eq(copy.write.diag.rule, "commit.sha256");
	ck_assert(!copy_is_there());
	is_tidy();
	ck_assert_int_eq(send_copy(0, NULL), CAIRN_E_CONFLICT);
	is_tidy();
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_E_NOT_FOUND);
	sweep_all();
	is_tidy();
}
END_TEST

/* The former name of another repository leads there until the copy has it. */
START_TEST(a_large_copy_takes_a_former_name_at_its_end)
{
	int64_t source = hx_model("source");
	struct cairn_index_move_repo move = {.id = hx_model("copy"), .account = hx_ann, .name = "moved"};
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "Ann", "copy", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, move.id);
	hx_uploaded(7, hx_owner_of(source));
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_OK);
	copy_is_whole();
}
END_TEST

START_TEST(a_large_squash_has_all_files)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed(one, "main", all_put("1"), N));
	ck_assert(hx_committed_one(one, "main", hx_drop("d0/old")));
	ck_assert(hx_committed_one(one, "main", hx_put("d0/7", "2")));
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert_int_eq(send_squash(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert(cairn_git_oid_equal(&head.oid, &squash.oid) && cairn_git_oid_equal(&head.root, &before.root));
	ck_assert(head.number == 1 && head.parent == 0 && head.n_files == before.n_files && head.bytes == before.bytes);
	sweep_all();
	hx_text_is(&head, "d0/7", "2");
	hx_text_is(&head, "d0/8", "1");
	is_tidy();
}
END_TEST

START_TEST(a_large_pull_request_is_merged)
{
	int64_t one = hx_model("one");
	ck_assert_int_eq(new_pull(one), 1);
	ck_assert_int_eq(send_pull(one, NULL), CAIRN_OK);
	struct cairn_index_commit pull = pull_head(one, "1");
	ck_assert(pull.n_files == N + 1 && pull.number == 2);
	ck_assert_int_eq(send_merge(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert(large_commit.added && cairn_git_oid_equal(&head.oid, &large_commit.oid));
	ck_assert(cairn_git_oid_equal(&head.root, &pull.root));
	ck_assert_int_eq(send_pull(one, NULL), CAIRN_E_CONFLICT);
	ck_assert_str_eq(large_commit.write.diag.rule, "pr.ended");
	/* A merge whose changes the branch has already ends its pull request, too. */
	ck_assert_int_eq(new_pull(one), 2);
	large_commit = hx_request(one, "main", all_put("1"), N);
	struct cairn_index_commit second = pull_head(one, "2");
	cairn_git_oid_text(pull_oid, &second.oid);
	large_commit.merge = (struct cairn_index_merge){.pull = "2", .head = pull_oid};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &large_commit), CAIRN_OK);
	ck_assert(!large_commit.added);
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	sweep_all();
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* If the pull request was pushed to, neither the branch nor the pull request changes. */
START_TEST(a_large_merge_of_another_head_leaves_nothing)
{
	int64_t one = hx_model("one");
	int64_t old = hx_head(one, "main").id;
	ck_assert_int_eq(new_pull(one), 1);
	large_commit = hx_request(one, "main", all_put("1"), N);
	large_commit.merge =
		(struct cairn_index_merge){.pull = "1", .head = "0123456789012345678901234567890123456789"};
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &large_commit), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_head(one, "main").id, old);
	is_tidy();
}
END_TEST

/* --- deleted folders ---------------------------------------------------------------------------------------------- */

/* Folders in a folder, and one whose name sorts between. */
static void put_nested(int64_t repo)
{
	for (unsigned i = 0; i < N; i++) {
		const char *in = i % 3 == 0 ? "a" : i % 3 == 1 ? "a/b/c" : "a/z";
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%u", in, i);
		operations[i] = hx_put(paths[i], "1");
	}
	ck_assert(hx_committed(repo, "main", operations, N));
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
	sweep_all();
	hx_text_is(&before, "a/z/2", "1");
	ck_assert_str_eq(hx_all(one, "main"), hx_all(other, "main"));
	is_tidy();
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
	is_tidy();
}
END_TEST

/* The rows of folders that the commit has emptied go before the file takes their place. */
START_TEST(a_file_takes_the_place_of_many_folders)
{
	enum { N_EMPTIED = 4000 };
	int64_t one = hx_model("one"), other = hx_model("other");
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "a/%u/x", i);
		operations[i] = i < N_EMPTIED ? hx_put(paths[i], "1") : hx_put("b", "1");
	}
	ck_assert(hx_committed(one, "main", operations, N));
	for (unsigned i = 0; i < N; i++)
		operations[i] = i < N_EMPTIED ? hx_drop(paths[i]) : hx_put("b", "2");
	operations[N - 1] = hx_put("a", "3");
	const struct cairn_index_operation rest[] = {hx_put("b", "2"), hx_put("a", "3")};
	ck_assert(hx_committed(one, "main", operations, N));
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
	ck_assert_int_eq(send_open(one, NULL), CAIRN_OK);
	struct cairn_index_commit pull = pull_head(one, "1");
	ck_assert(opened.number == 1 && cairn_git_oid_equal(&pull.oid, &opened.oid));
	ck_assert(pull.n_files == N + 1 && pull.number == 2);
	ck_assert(hx_committed(one, "main", all_put("1"), N));
	/* Nothing differs from main, so it has no commit of its own. */
	ck_assert_int_eq(send_open(one, NULL), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main"), second = pull_head(one, "2");
	ck_assert(opened.number == 2 && head.id == second.id && cairn_git_oid_equal(&opened.oid, &head.oid));
	sweep_all();
	hx_text_is(&pull, "d0/7", "1");
	hx_text_is(&second, "d0/7", "1");
	is_tidy();
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
	ck_assert_uint_eq(pull_head(one, "1").n_files, 2);
	is_tidy();
}
END_TEST

/* Branches from branches, until a lookup reads as many lines as it may. @return the last one's head */
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

/* Its line begins with copies of all rows, which are removed before it begins again in pieces. */
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
	ck_assert_uint_eq(pull_head(one, "1").n_files, 3);
	/* Nothing keeps the file. */
	struct cairn_index_drop_repo gone = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &gone), CAIRN_OK);
	sweep_all();
	is_tidy();
}
END_TEST

START_TEST(a_large_pull_request_that_fails_leaves_nothing)
{
	int64_t one = hx_model("one");
	struct cairn_index_quota before, after;
	struct cairn_index_commit commit;
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &before), CAIRN_OK);
	(void)all_put("1");
	operations[N - 1] = hx_drop("missing");
	opened = (struct cairn_index_add_ref){.repo = one,
					      .kind = CAIRN_INDEX_PULL,
					      .base = "main",
					      .commit = hx_head(one, "main").id,
					      .account = hx_ann,
					      .first = HX_MESSAGE,
					      .operations = operations,
					      .n = N};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &opened), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(opened.write.diag.rule, "entry.unknown");
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_PULL, "1", &commit), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	is_tidy();
}
END_TEST

/* --- and others --------------------------------------------------------------------------------------------------- */

/* Blocks the writer until it is released, so that writes are queued in a known order. */
static struct plug {
	struct cairn_index_add_commit commit;
	struct cairn_index_operation operation;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, released;
} plug = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void plug_done(struct cairn_index_write *write)
{
	(void)write;
	pthread_mutex_lock(&plug.lock);
	plug.held = true;
	pthread_cond_broadcast(&plug.changed);
	while (!plug.released)
		pthread_cond_wait(&plug.changed, &plug.lock);
	pthread_mutex_unlock(&plug.lock);
}

static void plug_in(int64_t repo)
{
	plug.operation = hx_put("plug", "1");
	plug.commit = hx_request(repo, "main", &plug.operation, 1);
	plug.commit.write.done = plug_done;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &plug.commit), CAIRN_OK);
	pthread_mutex_lock(&plug.lock);
	while (!plug.held)
		pthread_cond_wait(&plug.changed, &plug.lock);
	pthread_mutex_unlock(&plug.lock);
}

static void plug_out(void)
{
	pthread_mutex_lock(&plug.lock);
	plug.released = true;
	pthread_cond_broadcast(&plug.changed);
	pthread_mutex_unlock(&plug.lock);
}

static void counted(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
}

/* A write whose work is not known shares no transaction with others. */
START_TEST(a_write_that_may_be_long_is_a_batch_of_its_own)
{
	enum { N_WRITES = 4 };
	int64_t one = hx_model("one");
	struct cairn_index_operation each[N_WRITES] = {hx_put("b", "1"), hx_drop_folder("a"), hx_put("c", "1"),
						       hx_drop("c")};
	struct cairn_index_add_commit commit[N_WRITES];
	struct cairn_index_stats before, after;
	ck_assert(hx_committed_one(one, "main", hx_put("a/b", "1")));
	struct cairn_index_add_ref branch = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "new", .commit = hx_head(one, "main").id};
	plug_in(one);
	cairn_index_stats(hx_index, &before);
	for (unsigned i = 0; i < N_WRITES; i++) {
		commit[i] = hx_request(one, "main", &each[i], 1);
		commit[i].write.done = counted;
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit[i]), CAIRN_OK);
	}
	branch.write.done = counted;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &branch), CAIRN_OK);
	plug_out();
	ck_assert(cairn_index_flush(hx_index, 100000));
	cairn_index_stats(hx_index, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, N_WRITES + 1);
}
END_TEST

/* Small writes of another sender. */
static struct others {
	struct cairn_work work;
	int64_t repo;
	char path[N_OTHERS][16];
	struct cairn_index_operation operation[N_OTHERS];
	struct cairn_index_add_commit commit[N_OTHERS];
	struct cairn_index_sweep_repos sweep;
	unsigned n_done, n_done_before;
	bool kills; /* the process, after the last one */
} others;

static void others_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
	others.n_done++;
	if (others.kills && others.n_done == N_OTHERS)
		(void)raise(SIGKILL);
}

static void others_commit(struct cairn_work *work)
{
	(void)work;
	for (unsigned i = 0; i < N_OTHERS; i++) {
		(void)snprintf(others.path[i], sizeof(others.path[i]), "other%u", i);
		others.operation[i] = hx_put(others.path[i], "1");
		others.commit[i] = hx_request(others.repo, "main", &others.operation[i], 1);
		others.commit[i].write.done = others_done;
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &others.commit[i]), CAIRN_OK);
	}
}

static void others_sweep(struct cairn_work *work)
{
	(void)work;
	others.sweep.write.done = others_done;
	ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &others.sweep), CAIRN_OK);
}

static bool large_is_done;

static void large_done(struct cairn_index_write *write)
{
	(void)write;
	others.n_done_before = others.n_done;
	large_is_done = true;
}

typedef enum cairn_status send_large(int64_t repo, void (*done)(struct cairn_index_write *write));

/* Queues a large write, and behind it what another sender does. */
static void beside(send_large *send, int64_t large, int64_t repo, void (*run)(struct cairn_work *work))
{
	struct cairn_workers *workers;
	others.repo = repo;
	others.work = (struct cairn_work){.run = run, .turn = 1};
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 1, 0, 1), CAIRN_OK);
	plug_in(repo);
	ck_assert_int_eq(send(large, large_done), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(workers, &others.work), CAIRN_OK);
	cairn_workers_free(workers); /* all is queued */
	plug_out();
	ck_assert(cairn_index_flush(hx_index, 100000));
}

/* Makes what a kind of large write needs. @return the repository */
static int64_t prepare(send_large *send)
{
	int64_t large = hx_model("large");
	if (send == send_copy)
		hx_uploaded(7, hx_owner_of(large));
	if (send == send_squash || send == send_drop)
		ck_assert(hx_committed(large, "main", all_put("1"), N));
	if (send == send_pull || send == send_merge)
		ck_assert_int_eq(new_pull(large), 1);
	return large;
}

static send_large *const LARGE[] = {send_commit, send_copy, send_squash, send_pull, send_merge, send_drop, send_open};
enum { N_LARGE = sizeof(LARGE) / sizeof(LARGE[0]) };

static enum cairn_status large_status(send_large *send)
{
	return send == send_copy     ? copy.write.status
	       : send == send_squash ? squash.write.status
	       : send == send_open   ? opened.write.status
				     : large_commit.write.status;
}

START_TEST(others_do_not_wait_for_a_large_write)
{
	send_large *send = LARGE[_i];
	int64_t large = prepare(send), small = hx_model("small");
	beside(send, large, small, others_commit);
	ck_assert_int_eq(large_status(send), CAIRN_OK);
	ck_assert_uint_eq(others.n_done, N_OTHERS);
	ck_assert_uint_eq(others.n_done_before, N_OTHERS);
}
END_TEST

enum { N_DEEP = 1000 };
static char deep[N_DEEP][64];

/* Few files, with many rows of folders. */
static enum cairn_status send_deep(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	for (unsigned i = 0; i < N_DEEP; i++) {
		(void)snprintf(deep[i], sizeof(deep[i]), "%u/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", i);
		operations[i] = hx_put(deep[i], "1");
	}
	large_commit = hx_request(repo, "main", operations, N_DEEP);
	large_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &large_commit);
}

START_TEST(others_do_not_wait_for_deep_folders)
{
	int64_t large = hx_model("large"), small = hx_model("small");
	beside(send_deep, large, small, others_commit);
	ck_assert_int_eq(large_commit.write.status, CAIRN_OK);
	ck_assert_uint_eq(others.n_done_before, N_OTHERS);
	struct cairn_index_commit head = hx_head(large, "main");
	hx_text_is(&head, deep[7], "1");
}
END_TEST

START_TEST(no_commit_to_the_same_branch_is_lost)
{
	int64_t one = hx_model("one");
	beside(send_commit, one, one, others_commit);
	ck_assert_int_eq(large_commit.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, N + N_OTHERS + 2);
	ck_assert_uint_eq(head.number, N_OTHERS + 3);
	hx_text_is(&head, "other4", "1");
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

START_TEST(no_commit_to_a_branch_is_lost_by_a_squash)
{
	int64_t one = prepare(send_squash);
	beside(send_squash, one, one, others_commit);
	ck_assert_int_eq(squash.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, N + N_OTHERS + 2);
	hx_text_is(&head, "other4", "1");
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* Another repository gets the name of a copy, and goes on existing. */
static void others_take_name(struct cairn_work *work)
{
	static struct cairn_index_add_repo add;
	(void)work;
	add = (struct cairn_index_add_repo){
		.kind = CAIRN_INDEX_MODEL, .account = hx_ann, .name = "Copy", .first = HX_MESSAGE};
	add.write.done = others_done;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
}

START_TEST(the_first_with_a_name_has_it)
{
	int64_t large = prepare(send_copy), other = hx_model("other");
	beside(send_copy, large, other, others_take_name);
	ck_assert_int_eq(copy.write.status, CAIRN_E_CONFLICT);
	ck_assert_str_eq(copy.write.diag.rule, "repo.known");
	ck_assert(copy_is_there());
	is_tidy();
}
END_TEST

START_TEST(a_collection_does_not_harm_a_large_write)
{
	send_large *send = LARGE[_i];
	int64_t large = prepare(send);
	beside(send, large, hx_model("other"), others_sweep);
	ck_assert_int_eq(large_status(send), CAIRN_OK);
	if (send == send_copy)
		copy_is_whole();
	bool pull = send == send_pull || send == send_open;
	struct cairn_index_commit head = pull                ? pull_head(large, "1")
					 : send == send_copy ? hx_head(copy.id, "main")
							     : hx_head(large, "main");
	ck_assert_uint_eq(head.n_files, send == send_drop ? 1 : send == send_copy ? N : N + 1);
	if (send != send_drop)
		hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* --- one piece of each, in turn ----------------------------------------------------------------------------------- */

/* The writer takes one piece of the large write, then one small commit, and so on. In `done` of each the writer waits
 * until the next one is queued. */
enum { PACED = 30 };
static struct pacer {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_queued, n_done;
	struct cairn_index_operation operation[PACED];
	struct cairn_index_add_commit commit[PACED];
} pacer = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void pacer_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
	ck_assert(!large_is_done);
	pthread_mutex_lock(&pacer.lock);
	pacer.n_done++;
	pthread_cond_broadcast(&pacer.changed);
	while (pacer.n_queued == pacer.n_done)
		pthread_cond_wait(&pacer.changed, &pacer.lock);
	pthread_mutex_unlock(&pacer.lock);
}

/* Waits until so many small commits are done. */
static void pacer_wait(unsigned n_done)
{
	pthread_mutex_lock(&pacer.lock);
	while (pacer.n_done < n_done)
		pthread_cond_wait(&pacer.changed, &pacer.lock);
	pthread_mutex_unlock(&pacer.lock);
}

static void pacer_queued(void)
{
	pthread_mutex_lock(&pacer.lock);
	pacer.n_queued++;
	pthread_cond_broadcast(&pacer.changed);
	pthread_mutex_unlock(&pacer.lock);
}

/* A sweep that ends when it has removed a part of the staged line. */
static void others_sweep_a_part(struct cairn_work *work)
{
	(void)work;
	for (unsigned i = 0; i < PACED; i++) {
		pacer.operation[i] = hx_put("other", i % 2 ? "1" : "2");
		pacer.commit[i] = hx_request(others.repo, "main", &pacer.operation[i], 1);
		pacer.commit[i].write.done = pacer_done;
		if (i > 0)
			pacer_wait(i);
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &pacer.commit[i]), CAIRN_OK);
		pacer_queued();
		if (i == 0)
			plug_out();
	}
	pacer_wait(PACED);
	others_sweep(work);
	pacer_queued();
}

START_TEST(a_partly_swept_line_begins_again)
{
	int64_t large = hx_model("large"), other = hx_model("other");
	if (cairn_index_is_remote(hx_index))
		return;
	sweep_all();
	beside(send_commit, large, other, others_sweep_a_part);
	ck_assert_int_eq(large_commit.write.status, CAIRN_OK);
	ck_assert(others.sweep.more); /* it had no time for all of it */
	struct cairn_index_commit head = hx_head(large, "main");
	ck_assert_uint_eq(head.n_files, N + 1);
	for (unsigned i = 0; i < N; i += N_FOLDER)
		hx_text_is(&head, paths[i], "1");
	sweep_all();
	is_tidy();
}
END_TEST

/* --- readiness ---------------------------------------------------------------------------------------------------- */

static void *ask_readiness(void *ctx)
{
	*(enum cairn_status *)ctx = cairn_index_writable(hx_index);
	return NULL;
}

static void queue_paced(unsigned i)
{
	pacer.operation[i] = hx_put("other", i % 2 ? "1" : "2");
	pacer.commit[i] = hx_request(others.repo, "main", &pacer.operation[i], 1);
	pacer.commit[i].write.done = pacer_done;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &pacer.commit[i]), CAIRN_OK);
	pacer_queued();
}

/* Two writes are queued: the next piece, and the question. */
static void wait_until_asked(void)
{
	struct cairn_index_stats stats;
	do {
		(void)sched_yield();
		cairn_index_stats(hx_index, &stats);
	} while (stats.n_queued < 2);
}

static enum cairn_status readiness;

/* While the question waits, a piece and a small commit are made, and no more. */
static void others_ask_readiness(struct cairn_work *work)
{
	pthread_t asker;
	(void)work;
	queue_paced(0);
	plug_out();
	pacer_wait(1);
	ck_assert_int_eq(pthread_create(&asker, NULL, ask_readiness, &readiness), 0);
	wait_until_asked();
	queue_paced(1);
	ck_assert_int_eq(pthread_join(asker, NULL), 0);
	pacer_queued();
}

START_TEST(the_index_is_ready_during_a_large_write)
{
	int64_t large = hx_model("large"), other = hx_model("other");
	readiness = CAIRN_E_IO;
	beside(send_commit, large, other, others_ask_readiness);
	ck_assert_int_eq(readiness, CAIRN_OK);
	ck_assert_int_eq(large_commit.write.status, CAIRN_OK);
}
END_TEST

/* --- crashes ------------------------------------------------------------------------------------------------------ */

/* Begins a large write, and dies when some pieces are durable. */
static void die_in(send_large *send, int64_t repo, int64_t small)
{
	int state = 0;
	cairn_index_free(hx_index);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		hx_index = fx_open(hx_folder());
		others.kills = true;
		beside(send, repo, small, others_commit);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	ck_assert(WIFSIGNALED(state));
	hx_index = fx_open(hx_folder());
}

START_TEST(a_kill_leaves_the_old_head)
{
	int64_t one = hx_model("one"), small = hx_model("small");
	int64_t old = hx_head(one, "main").id;
	die_in(send_commit, one, small);
	ck_assert_int_eq(hx_head(one, "main").id, old);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes ");
	ck_assert(hx_committed(one, "main", all_put("2"), N));
	struct cairn_index_commit head = hx_head(one, "main");
	hx_text_is(&head, "d0/7", "2");
}
END_TEST

START_TEST(a_kill_leaves_no_copy)
{
	int64_t source = prepare(send_copy), small = hx_model("small");
	if (cairn_index_is_remote(hx_index))
		return;
	die_in(send_copy, source, small);
	ck_assert(!copy_is_there());
	ck_assert_int_eq(send_copy(source, NULL), CAIRN_OK);
	fx_sql(hx_folder(), "UPDATE repo SET dropped = 1 WHERE dropped IS NOT NULL"); /* an hour later */
	sweep_all();
	is_tidy();
	copy_is_whole();
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_stage");
	TCase *t = tcase_create("index_stage");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_set_timeout(t, 300);
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
	tcase_add_loop_test(t, others_do_not_wait_for_a_large_write, 0, N_LARGE);
	tcase_add_test(t, a_write_that_may_be_long_is_a_batch_of_its_own);
	tcase_add_test(t, others_do_not_wait_for_deep_folders);
	tcase_add_test(t, no_commit_to_the_same_branch_is_lost);
	tcase_add_test(t, no_commit_to_a_branch_is_lost_by_a_squash);
	tcase_add_test(t, the_first_with_a_name_has_it);
	tcase_add_loop_test(t, a_collection_does_not_harm_a_large_write, 0, N_LARGE);
	tcase_add_test(t, a_partly_swept_line_begins_again);
	tcase_add_test(t, the_index_is_ready_during_a_large_write);
	tcase_add_test(t, a_kill_leaves_the_old_head);
	tcase_add_test(t, a_kill_leaves_no_copy);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
