/* Calls of the index for a hub: branches and tags, freeing space, and names of git-like repositories. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- branches ----------------------------------------------------------------------------------------------------- */

static enum cairn_status add_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name, int64_t commit)
{
	struct cairn_index_add_ref request = {
		.repo = repo, .kind = kind, .name = name, .commit = commit, .first = HX_MESSAGE};
	return cairn_index_add_ref(hx_index, &request);
}

static enum cairn_status drop_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name)
{
	struct cairn_index_drop_ref request = {.repo = repo, .kind = kind, .name = name};
	return cairn_index_drop_ref(hx_index, &request);
}

static bool take_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%d:%s ", (int)ref->kind, ref->name);
	return true;
}

static const char *refs(int64_t repo)
{
	static char text[HX_TEXT_MAX];
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_ref(hx_index, repo, take_ref, text), CAIRN_OK);
	return text;
}

START_TEST(a_branch_goes_its_own_way)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit fork = hx_head(one, "main");
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", fork.id), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", fork.id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "x", 99), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_ref(99, CAIRN_INDEX_BRANCH, "x", fork.id), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(hx_head(one, "dev").id, fork.id);
	ck_assert(hx_committed_one(one, "main", hx_put("m", "1")));
	const struct cairn_index_operation dev[] = {hx_drop("a"), hx_put("d", "1"), hx_put("n/1", "1")};
	ck_assert(hx_committed(one, "dev", dev, 3));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a m ");
	ck_assert_str_eq(hx_all(one, "dev"), ".gitattributes d n/ n/1 ");
	ck_assert_uint_eq(hx_head(one, "dev").number, 3);
	ck_assert_uint_eq(hx_head(one, "dev").n_files, 3);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_TAG, "v1", fork.id), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_TAG, "v1", fork.id), CAIRN_E_CONFLICT);
	ck_assert_str_eq(refs(one), "1:dev 1:main 2:v1 ");
	struct cairn_index_commit tagged;
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_TAG, "v1", &tagged), CAIRN_OK);
	ck_assert_int_eq(tagged.id, fork.id);
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, "main"), CAIRN_E_DENIED);
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	ck_assert_str_eq(refs(one), "1:main ");
}
END_TEST

START_TEST(no_ref_is_the_start_of_another)
{
	int64_t one = hx_model("one"), two = hx_model("two"), main = hx_head(one, "main").id;
	static const char *const NESTED[] = {"main/x", "main/x/y", "a/b", "a/b/c/d", "a"};
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "a/b/c", main), CAIRN_OK);
	for (size_t i = 0; i < sizeof(NESTED) / sizeof(NESTED[0]); i++) {
		ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, NESTED[i], main), CAIRN_E_USAGE);
		ck_assert_int_eq(add_ref(one, CAIRN_INDEX_TAG, NESTED[i], main), CAIRN_E_USAGE);
	}
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "a/bb", main), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "maina/x", main), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_TAG, "a/b/c", main), CAIRN_OK);
	ck_assert_int_eq(add_ref(two, CAIRN_INDEX_BRANCH, "a/b", hx_head(two, "main").id), CAIRN_OK);
}
END_TEST

START_TEST(a_branch_can_be_empty_or_set_again)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit first = hx_head(one, "main");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "none", 0), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "none2", 0), CAIRN_OK);
	ck_assert_str_eq(hx_all(one, "none"), "");
	struct cairn_index_commit empty = hx_head(one, "none");
	hx_oid_is(&empty.root, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
	ck_assert_uint_eq(empty.number, 1);
	ck_assert(hx_committed_one(one, "none", hx_put("b", "1")));
	ck_assert_str_eq(hx_all(one, "none"), "b ");
	struct cairn_index_add_ref reset = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "main", .commit = first.id, .overwrite = true};
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &reset), CAIRN_OK);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes ");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert_uint_eq(repo.n_files, 1);
	struct cairn_index_add_ref pull = {.repo = one, .kind = CAIRN_INDEX_PULL, .commit = first.id};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &pull), CAIRN_OK);
	ck_assert_int_eq(pull.number, 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &pull), CAIRN_OK);
	ck_assert_int_eq(pull.number, 2);
	ck_assert_str_eq(refs(one), "1:main 1:none 1:none2 3:1 3:2 ");
}
END_TEST

static enum cairn_status add_pull(int64_t repo, int64_t commit, const char *title)
{
	struct cairn_index_add_ref add = {
		.repo = repo,
		.kind = CAIRN_INDEX_PULL,
		.commit = commit,
		.first = {.author = "ann", .email = "ann@localhost", .title = title, .message = "why"}};
	return cairn_index_add_ref(hx_index, &add);
}

static enum cairn_status commit_to_pull(int64_t repo, const char *number,
					const struct cairn_index_operation *operations, uint32_t n, bool ends)
{
	struct cairn_index_add_commit add = {
		.repo = repo,
		.kind = CAIRN_INDEX_PULL,
		.ref = number,
		.message = {.author = "bob", .email = "bob@localhost", .title = ends ? "last" : "one", .message = ""},
		.operations = operations,
		.n = n,
		.ends = ends};
	enum cairn_status status = cairn_index_add_commit(hx_index, &add);
	ck_assert(status != CAIRN_E_CONFLICT || strcmp(add.write.diag.rule, "pr.ended") == 0);
	ck_assert(status != CAIRN_OK || add.added == (ends || n > 0));
	return status;
}

static struct cairn_index_commit pull_head(int64_t repo, const char *number)
{
	struct cairn_index_commit head;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, number, &head), CAIRN_OK);
	return head;
}

static bool take_ended(void *ctx, const struct cairn_index_ref_row *ref)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%s%s ", ref->name, ref->ended ? "!" : "");
	return true;
}

static const char *ended(int64_t repo)
{
	static char text[HX_TEXT_MAX];
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_ref(hx_index, repo, take_ended, text), CAIRN_OK);
	return text;
}

/* The first commit of a pull request has its title and changes nothing. Once closed, the request is read-only. */
START_TEST(a_pull_request_begins_and_ends)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit main = hx_head(one, "main");
	ck_assert_int_eq(add_pull(one, main.id, "Better"), CAIRN_OK);
	ck_assert_int_eq(add_pull(one, main.id, "Better"), CAIRN_OK);
	struct cairn_index_commit first = pull_head(one, "1");
	ck_assert_str_eq(first.title, "Better");
	ck_assert_int_eq(first.parent, main.id);
	ck_assert_int_ne(first.line, main.line);
	ck_assert(cairn_git_oid_equal(&first.root, &main.root) && !cairn_git_oid_equal(&first.oid, &main.oid));
	ck_assert_uint_eq(first.n_files, main.n_files);
	ck_assert_uint_eq(first.bytes, main.bytes);
	const struct cairn_index_operation some = hx_put("b", "2");
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, false), CAIRN_OK);
	ck_assert_int_eq(pull_head(one, "1").id, first.id);
	ck_assert_int_eq(commit_to_pull(one, "1", &some, 1, false), CAIRN_OK);
	ck_assert_str_eq(ended(one), "main 1 2 ");
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, true), CAIRN_OK);
	struct cairn_index_commit last = pull_head(one, "1");
	ck_assert_str_eq(last.title, "last");
	ck_assert_uint_eq(last.number, first.number + 2);
	ck_assert_str_eq(ended(one), "main 1! 2 ");
	ck_assert_int_eq(commit_to_pull(one, "1", &some, 1, false), CAIRN_E_CONFLICT);
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, true), CAIRN_E_CONFLICT);
	ck_assert_int_eq(pull_head(one, "1").id, last.id);
	hx_text_is(&last, "b", "2");
	ck_assert_int_eq(commit_to_pull(one, "2", &some, 1, false), CAIRN_OK);
	ck_assert_int_eq(commit_to_pull(one, "3", &some, 1, false), CAIRN_E_NOT_FOUND);
}
END_TEST

static enum cairn_status merge(int64_t repo, const struct cairn_git_oid *main, const struct cairn_git_oid *head,
			       const char *name, struct cairn_git_oid *oid)
{
	char parent[CAIRN_GIT_OID_CHARS + 1], pull[CAIRN_GIT_OID_CHARS + 1];
	const struct cairn_index_operation some = hx_put("b", "2");
	cairn_git_oid_text(parent, main);
	cairn_git_oid_text(pull, head);
	struct cairn_index_add_commit add = hx_request(repo, "main", &some, 1);
	add.parent = parent;
	add.merge = (struct cairn_index_merge){
		.pull = name, .head = pull, .last = {.author = "bob", .email = "bob@localhost", .title = "Merged"}};
	enum cairn_status status = cairn_index_add_commit(hx_index, &add);
	*oid = add.oid;
	return status;
}

static bool take_message(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	(void)commit;
	(void)snprintf(ctx, HX_TEXT_MAX, "%s", message);
	return false;
}

/* Main and the pull request change together or not at all. If either has been pushed to, the merge is refused. */
START_TEST(a_merge_is_one_write)
{
	char text[CAIRN_GIT_OID_CHARS + 1], message[HX_TEXT_MAX] = "";
	struct cairn_git_oid oid;
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit old = hx_head(one, "main");
	ck_assert_int_eq(add_pull(one, old.id, "Better"), CAIRN_OK);
	struct cairn_index_commit first = pull_head(one, "1");
	const struct cairn_index_operation some = hx_put("b", "2");
	ck_assert_int_eq(commit_to_pull(one, "1", &some, 1, false), CAIRN_OK);
	struct cairn_index_commit head = pull_head(one, "1");
	ck_assert_int_eq(merge(one, &old.oid, &first.oid, "1", &oid), CAIRN_E_CONFLICT);
	ck_assert_int_eq(merge(one, &old.oid, &head.oid, "2", &oid), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(hx_head(one, "main").id, old.id);
	ck_assert(hx_committed_one(one, "main", hx_put("c", "3")));
	struct cairn_index_commit pushed = hx_head(one, "main");
	ck_assert_int_eq(merge(one, &old.oid, &head.oid, "1", &oid), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_head(one, "main").id, pushed.id);
	ck_assert_str_eq(ended(one), "main 1 ");
	ck_assert_int_eq(pull_head(one, "1").id, head.id);
	ck_assert_int_eq(merge(one, &pushed.oid, &head.oid, "1", &oid), CAIRN_OK);
	struct cairn_index_commit main = hx_head(one, "main"), last = pull_head(one, "1");
	ck_assert(cairn_git_oid_equal(&main.oid, &oid) && main.parent == pushed.id && last.parent == head.id);
	hx_text_is(&main, "b", "2");
	cairn_git_oid_text(text, &oid);
	ck_assert_int_eq(cairn_index_each_commit(hx_index, &last, 0, take_message, message), CAIRN_OK);
	ck_assert_str_eq(message, text);
	ck_assert_str_eq(ended(one), "main 1! ");
	ck_assert_int_eq(merge(one, &main.oid, &last.oid, "1", &oid), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_head(one, "main").id, main.id);
}
END_TEST

/* Merging changes that main already has adds no commit: the pull request ends with main's head. */
START_TEST(a_merge_of_what_main_has_ends_the_pull_request)
{
	struct cairn_git_oid oid;
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("b", "2")));
	struct cairn_index_commit main = hx_head(one, "main");
	ck_assert_int_eq(add_pull(one, main.id, "Better"), CAIRN_OK);
	struct cairn_index_commit head = pull_head(one, "1");
	ck_assert_int_eq(merge(one, &main.oid, &head.oid, "1", &oid), CAIRN_OK);
	ck_assert(cairn_git_oid_equal(&main.oid, &oid));
	ck_assert_int_eq(hx_head(one, "main").id, main.id);
	ck_assert_str_eq(ended(one), "main 1! ");
}
END_TEST

/* A pull request is added with its files or not at all. */
START_TEST(a_pull_request_with_files_is_one_write)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit main = hx_head(one, "main");
	const struct cairn_index_operation good[] = {hx_put("b", "2"), hx_drop("a")};
	const struct cairn_index_operation bad[] = {hx_put("b", "2"), hx_drop("none")};
	struct cairn_index_add_ref add = {
		.repo = one,
		.kind = CAIRN_INDEX_PULL,
		.commit = main.id,
		.first = {.author = "ann", .email = "ann@localhost", .title = "Better", .message = "why"},
		.operations = bad,
		.n = 2};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(add.write.diag.rule, "entry.unknown");
	ck_assert_str_eq(ended(one), "main ");
	add.operations = good;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	struct cairn_index_commit head = pull_head(one, "1");
	ck_assert(cairn_git_oid_equal(&head.oid, &add.oid));
	ck_assert_uint_eq(head.number, main.number + 2);
	ck_assert_uint_eq(head.n_files, main.n_files);
	ck_assert_str_eq(head.title, "Better");
	hx_text_is(&head, "b", "2");
	ck_assert_int_eq(hx_head(one, "main").id, main.id);
	ck_assert_str_eq(ended(one), "main 1 ");
}
END_TEST

static bool take_number(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%" PRIu64 "%s ", commit->number, message);
	return commit->number != 3;
}

static const char *history(const struct cairn_index_commit *from, uint64_t skip)
{
	static char text[HX_TEXT_MAX];
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_commit(hx_index, from, skip, take_number, text), CAIRN_OK);
	return text;
}

/* Twenty branches, each made from the one before and with a file of its own, are more lines than one lookup asks. */
START_TEST(branches_of_branches)
{
	int64_t one = hx_model("one");
	char name[16], before[16] = "main", expected[HX_TEXT_MAX] = ".gitattributes ";
	ck_assert(hx_committed_one(one, "main", hx_put("over", "0")));
	for (unsigned i = 10; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, before).id), CAIRN_OK);
		const struct cairn_index_operation some[] = {hx_put(name, "1"), hx_put("over", name),
							     hx_put("f/1", name)};
		ck_assert(hx_committed(one, name, some, 3));
		size_t at = strlen(expected);
		(void)snprintf(expected + at, sizeof(expected) - at, "%s ", name);
		memcpy(before, name, sizeof(name));
	}
	size_t at = strlen(expected);
	(void)snprintf(expected + at, sizeof(expected) - at, "f/ over f/1 ");
	ck_assert_str_eq(hx_all(one, "b29"), expected);
	struct cairn_index_commit last = hx_head(one, "b29"), middle = hx_head(one, "b15");
	hx_text_is(&last, "over", "b29");
	hx_text_is(&last, "f/1", "b29");
	hx_text_is(&middle, "over", "b15");
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes over ");
	ck_assert_uint_eq(last.number, 22);
	ck_assert_str_eq(history(&last, 0), "22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 ");
	ck_assert_str_eq(history(&last, 17), "5 4 3 ");
	ck_assert_str_eq(history(&last, 20), "2 1 ");
	ck_assert_str_eq(history(&last, 22), "");
	ck_assert_str_eq(history(&middle, 6), "2 1 ");
	/* All branches but the last are deleted. The last one keeps what it inherited. */
	for (unsigned i = 10; i < 29; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, name), CAIRN_OK);
	}
	struct cairn_index_sweep_repos sweep = {.grace_s = 3600};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &sweep), CAIRN_OK);
	while (sweep.more);
	ck_assert_str_eq(hx_all(one, "b29"), expected);
	ck_assert_str_eq(history(&last, 18), "4 3 ");
}
END_TEST

/* --- freeing space ------------------------------------------------------------------------------------------------ */

static void sweep_all(int64_t grace_s)
{
	struct cairn_index_sweep_repos request = {.grace_s = grace_s};
	unsigned n = 0;
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &request), CAIRN_OK);
	while (request.more && n++ < 1000);
	ck_assert(!request.more);
}

static bool sees_all(int64_t repo)
{
	return fx_sees(hx_index, hx_owner_of(repo), 1) && fx_sees(hx_index, hx_owner_of(repo), 2) &&
	       fx_sees(hx_index, hx_owner_of(repo), 3);
}

/* The third file never comes into a commit, yet stays: a commit elsewhere may name it, as Git LFS does. */
START_TEST(files_stay_until_the_repository_goes)
{
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(one));
	hx_uploaded(3, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	struct cairn_index_commit commit = hx_head(one, "main");
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", commit.id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put_file("b", 2)));
	struct cairn_index_commit gone = hx_head(one, "dev");
	ck_assert(hx_committed_one(one, "main", hx_drop("a")));
	sweep_all(0);
	ck_assert(sees_all(one));
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	sweep_all(0);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, gone.id, &gone), CAIRN_E_NOT_FOUND);
	ck_assert(sees_all(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("b", 2)));
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	sweep_all(3600);
	ck_assert(!fx_sees(hx_index, NULL, 1) && !fx_sees(hx_index, NULL, 2) && !fx_sees(hx_index, NULL, 3));
}
END_TEST

static enum cairn_status squash(int64_t repo, const char *branch, struct cairn_index_squash *out)
{
	*out = (struct cairn_index_squash){.repo = repo, .branch = branch, .message = HX_MESSAGE};
	return cairn_index_squash(hx_index, out);
}

START_TEST(a_squashed_branch_is_one_commit)
{
	int64_t one = hx_model("one");
	struct cairn_index_squash request;
	struct cairn_index_commit found;
	struct cairn_index_entry entry;
	hx_uploaded(1, hx_owner_of(one));
	const struct cairn_index_operation some[] = {hx_put("a", "1"), hx_put("d/e/f", "2"), hx_put_file("x", 1)};
	ck_assert(hx_committed(one, "main", some, 3));
	struct cairn_index_commit early = hx_head(one, "main");
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", early.id), CAIRN_OK);
	const struct cairn_index_operation more[] = {hx_drop("a"), hx_put("d/e/f", "3"), hx_put("g/h", "4"),
						     hx_drop("x")};
	ck_assert(hx_committed(one, "dev", more, 4));
	struct cairn_index_commit before = hx_head(one, "dev");
	ck_assert_int_eq(squash(one, "dev", &request), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "dev");
	ck_assert(cairn_git_oid_equal(&head.oid, &request.oid) && !cairn_git_oid_equal(&head.oid, &before.oid));
	ck_assert(cairn_git_oid_equal(&head.root, &before.root));
	ck_assert(head.number == 1 && head.parent == 0 && head.n_files == before.n_files && head.bytes == before.bytes);
	ck_assert_str_eq(hx_all(one, "dev"), ".gitattributes d/ g/ d/e/ d/e/f g/h ");
	hx_text_is(&head, "d/e/f", "3");
	ck_assert(hx_is_there(&head, "g/h", &entry));
	ck_assert_int_eq(entry.commit, head.id);
	ck_assert(!hx_is_there(&head, "a", &entry) && !hx_is_there(&head, "x", &entry));
	/* The branch is squashed already. */
	ck_assert_int_eq(squash(one, "dev", &request), CAIRN_OK);
	ck_assert_int_eq(hx_head(one, "dev").id, head.id);
	/* The former commits are removed, except those that another branch has. */
	sweep_all(0);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, before.id, &found), CAIRN_E_NOT_FOUND);
	hx_text_is(&early, "a", "1");
	hx_text_is(&head, "d/e/f", "3");
	ck_assert_int_eq(squash(one, "main", &request), CAIRN_OK);
	sweep_all(0);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, early.id, &found), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a d/ x d/e/ d/e/f ");
	ck_assert(hx_committed_one(one, "main", hx_put("new", "5")));
	ck_assert_uint_eq(hx_head(one, "main").number, 2);
	ck_assert_int_eq(squash(one, "none", &request), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(request.write.diag.rule, "revision.unknown");
	ck_assert_int_eq(squash(99, "main", &request), CAIRN_E_NOT_FOUND);
}
END_TEST

/* A branch of the deepest branch copies rows, up to a limit. Squashing makes room. */
START_TEST(a_deep_branch_copies_few_rows)
{
	enum { N = CAIRN_INDEX_FORK_ROWS_MAX + 1 };
	int64_t one = hx_model("one");
	char name[16], from[16] = "main";
	static char paths[N][16];
	static struct cairn_index_operation puts[N];
	struct cairn_index_squash request;
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%u/%u", i / 100, i % 100);
		puts[i] = hx_put(paths[i], "1");
	}
	ck_assert(hx_committed(one, "main", puts, N));
	for (unsigned i = 1; i < CAIRN_INDEX_LINE_DEPTH_MAX; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, from).id), CAIRN_OK);
		ck_assert(hx_committed_one(one, name, hx_put(name, "1")));
		(void)snprintf(from, sizeof(from), "%s", name);
	}
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "deep", hx_head(one, from).id), CAIRN_E_LIMIT);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "flat", hx_head(one, "main").id), CAIRN_OK);
	ck_assert_int_eq(squash(one, from, &request), CAIRN_OK);
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "deep", hx_head(one, from).id), CAIRN_OK);
}
END_TEST

/* In a chain of lines the nearest row of a path counts, even if it says that the path is absent. */
START_TEST(a_branch_of_branches_is_squashed)
{
	int64_t one = hx_model("one");
	char name[16], path[16], from[16] = "main";
	struct cairn_index_squash request;
	ck_assert(hx_committed_one(one, "main", hx_put("gone", "1")));
	ck_assert(hx_committed_one(one, "main", hx_put("over", "main")));
	for (unsigned i = 0; i < 6; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		(void)snprintf(path, sizeof(path), "p%u", i);
		ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, from).id), CAIRN_OK);
		const struct cairn_index_operation some[] = {hx_put(path, "1"), hx_put("over", name)};
		ck_assert(hx_committed(one, name, some, 2));
		if (i == 3)
			ck_assert(hx_committed_one(one, name, hx_drop("gone")));
		(void)snprintf(from, sizeof(from), "%s", name);
	}
	ck_assert_int_eq(squash(one, "b5", &request), CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "b5");
	ck_assert_str_eq(hx_all(one, "b5"), ".gitattributes over p0 p1 p2 p3 p4 p5 ");
	hx_text_is(&head, "over", "b5");
	ck_assert_uint_eq(head.n_files, 8);
}
END_TEST

START_TEST(a_copy_of_a_repository_has_its_files)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	struct cairn_index_entry entry;
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(two));
	const struct cairn_index_operation some[] = {hx_put("a", "1"), hx_put_file("x", 1)};
	struct cairn_index_add_repo copy = {.kind = CAIRN_INDEX_MODEL,
					    .account = hx_ann,
					    .name = "copy",
					    .first = HX_MESSAGE,
					    .operations = some,
					    .n = 2,
					    .source = one,
					    .guard = CAIRN_INDEX_NO_ACCOUNT};
	struct cairn_index_repo read;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &copy), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "copy", &read), CAIRN_OK);
	ck_assert_int_eq(read.guard, CAIRN_INDEX_NO_ACCOUNT);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &read), CAIRN_OK);
	ck_assert_int_eq(read.guard, 0);
	ck_assert_str_eq(hx_all(copy.id, "main"), "a x ");
	struct cairn_index_commit head = hx_head(copy.id, "main");
	ck_assert(hx_is_there(&head, "x", &entry) && entry.has_file);
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	sweep_all(0);
	ck_assert(fx_sees(hx_index, hx_owner_of(copy.id), 1));
	ck_assert(hx_is_there(&head, "x", &entry) && entry.has_file);
	/* A copy cannot name a file that its source does not have. */
	const struct cairn_index_operation wrong = hx_put_file("x", 2);
	copy.name = "wrong";
	copy.operations = &wrong;
	copy.n = 1;
	copy.source = copy.id;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &copy), CAIRN_E_CONFLICT);
	ck_assert_str_eq(copy.write.diag.rule, "commit.sha256");
	copy.source = one;
	copy.write.diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &copy), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_tag_keeps_its_line)
{
	int64_t one = hx_model("one");
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", hx_head(one, "main").id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("a", "1")));
	struct cairn_index_commit commit = hx_head(one, "dev");
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_TAG, "v1", commit.id), CAIRN_OK);
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	sweep_all(0);
	ck_assert_str_eq(hx_listed(&commit, "", true, ""), ".gitattributes a ");
	ck_assert_int_eq(drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	sweep_all(0);
	const struct cairn_index_listing listing = {.folder = "", .after = ""};
	struct cairn_index_entry entry;
	ck_assert_int_eq(cairn_index_each_entry(hx_index, &commit, &listing, NULL, NULL), CAIRN_E_NOT_FOUND);
	ck_assert(!hx_is_there(&commit, "a", &entry));
}
END_TEST

static bool is_gone(const struct cairn_index_commit *commit)
{
	struct cairn_index_commit found;
	return cairn_index_commit_by_id(hx_index, commit->id, &found) == CAIRN_E_NOT_FOUND;
}

/* Nothing remains of the end of a line: neither its commits nor their changes. */
START_TEST(a_line_ends_where_the_last_ref_comes_from)
{
	static struct cairn_index_operation many[600];
	static char paths[600][32];
	struct cairn_index_commit tagged[2], kept[2], end[2];
	struct cairn_index_squash request;
	struct cairn_index_entry entry;
	int64_t repo[2] = {hx_model("tagged"), hx_model("left")};
	for (unsigned i = 0; i < 600; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "f%u/%u", i % 7, i);
		many[i] = hx_put(paths[i], paths[i]);
	}
	for (unsigned r = 0; r < 2; r++) {
		ck_assert(hx_committed_one(repo[r], "main", hx_put("a", "1")));
		tagged[r] = hx_head(repo[r], "main");
		ck_assert(hx_committed(repo[r], "main", many, 600));
		ck_assert(hx_committed_one(repo[r], "main", hx_put("b", "kept")));
		kept[r] = hx_head(repo[r], "main");
		for (unsigned i = 0; i < 300; i++)
			ck_assert(hx_committed_one(repo[r], "main", hx_put("a", paths[i])));
		ck_assert(hx_committed_one(repo[r], "main", hx_put("secret", "1")));
		const struct cairn_index_operation last[] = {hx_drop("b"), hx_drop("secret"), hx_drop_folder("f3")};
		ck_assert(hx_committed(repo[r], "main", last, 3));
		end[r] = hx_head(repo[r], "main");
		ck_assert_int_eq(add_ref(repo[r], CAIRN_INDEX_TAG, "old", tagged[r].id), CAIRN_OK);
	}
	ck_assert_int_eq(add_ref(repo[0], CAIRN_INDEX_TAG, "v1", kept[0].id), CAIRN_OK);
	ck_assert_int_eq(add_ref(repo[1], CAIRN_INDEX_BRANCH, "dev", kept[1].id), CAIRN_OK);
	sweep_all(0);
	ck_assert(!is_gone(&end[0]) && !is_gone(&end[1]));
	for (unsigned r = 0; r < 2; r++) {
		ck_assert_int_eq(squash(repo[r], "main", &request), CAIRN_OK);
		sweep_all(0);
		for (int64_t id = kept[r].id + 1; id <= end[r].id; id++) {
			const struct cairn_index_commit one = {.id = id};
			ck_assert(is_gone(&one));
		}
		/* Reads with the commit that a reader found before the sweep. */
		ck_assert(!hx_is_there(&end[r], "secret", &entry));
		hx_text_is(&end[r], "b", "kept");
		hx_text_is(&kept[r], "a", "1");
		hx_text_is(&kept[r], "f3/3", "f3/3");
		hx_text_is(&tagged[r], "a", "1");
		ck_assert_str_ne(hx_all(repo[r], "main"), "");
	}
	ck_assert(hx_committed_one(repo[1], "dev", hx_put("c", "2")));
	ck_assert_int_eq(drop_ref(repo[0], CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	sweep_all(0);
	ck_assert(is_gone(&kept[0]) && !is_gone(&kept[1]) && !is_gone(&tagged[0]));
	ck_assert(!hx_is_there(&kept[0], "b", &entry));
	ck_assert_str_eq(hx_listed(&tagged[0], "", true, ""), ".gitattributes a ");
	struct cairn_index_commit dev = hx_head(repo[1], "dev");
	hx_text_is(&dev, "b", "kept");
	ck_assert_int_eq(drop_ref(repo[0], CAIRN_INDEX_TAG, "old"), CAIRN_OK);
	ck_assert_int_eq(drop_ref(repo[1], CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	sweep_all(0);
	ck_assert(is_gone(&tagged[0]) && is_gone(&kept[1]) && !is_gone(&tagged[1]));
}
END_TEST

START_TEST(a_deleted_repository_goes_with_all_it_had)
{
	int64_t one = hx_model("one"), again;
	char path[32];
	static struct cairn_index_operation many[600];
	static char paths[600][32];
	hx_uploaded(1, hx_owner_of(one));
	for (unsigned i = 0; i < 600; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "f%u/%u", i % 7, i);
		many[i] = hx_put(paths[i], paths[i]);
	}
	ck_assert(hx_committed(one, "main", many, 600));
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	ck_assert_int_eq(add_ref(one, CAIRN_INDEX_BRANCH, "dev", hx_head(one, "main").id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("d", "1")));
	struct cairn_index_commit commit = hx_head(one, "dev");
	struct cairn_index_drop_repo drop_one = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_one), CAIRN_OK);
	again = hx_model("one");
	ck_assert_int_gt(again, one);
	sweep_all(3600);
	ck_assert(!fx_sees(hx_index, NULL, 1));
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, commit.id, &commit), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(hx_all(again, "main"), ".gitattributes ");
	(void)path;
}
END_TEST

/* --- names -------------------------------------------------------------------------------------------------------- */

static void take_name(void *ctx, const struct cairn_index_repo *repo)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%s/%s ", repo->account_name, repo->name);
}

static const char *repos(struct cairn_index_repo_list list)
{
	static char text[HX_TEXT_MAX];
	bool more = true;
	text[0] = '\0';
	while (more)
		ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_name, text, &more), CAIRN_OK);
	return text;
}

START_TEST(repositories_are_listed_in_any_order)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team");
	(void)hx_model("bb");
	(void)hx_model("aa");
	int64_t hidden = hx_model("Cc");
	struct cairn_index_set_repo hide = {.id = hidden, .is_private = true};
	struct cairn_index_move_repo move = {.id = hidden, .account = team, .name = "Cc"};
	struct cairn_index_set_member member = {.organisation = "team", .user = "Ann", .role = CAIRN_INDEX_ROLE_READ};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	struct cairn_index_repo_list by_name = {.sort = CAIRN_INDEX_BY_NAME, .ascending = true, .limit = 1};
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb ");
	by_name.all = true;
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb team/Cc ");
	by_name.all = false;
	by_name.reader = hx_ann;
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb ");
	ck_assert_int_eq(cairn_index_set_member(hx_index, &member), CAIRN_OK);
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb team/Cc ");
	by_name.ascending = false;
	ck_assert_str_eq(repos(by_name), "team/Cc Ann/bb Ann/aa ");
	struct cairn_index_repo_list list = {.all = true, .limit = 2};
	list.sort = CAIRN_INDEX_BY_CREATION;
	ck_assert_str_eq(repos(list), "team/Cc Ann/aa Ann/bb ");
	list.search = "M/c";
	ck_assert_str_eq(repos(list), "team/Cc ");
	list.search = "";
	list.account = hx_ann;
	ck_assert_str_eq(repos(list), "Ann/aa Ann/bb ");
	list.kind = CAIRN_INDEX_DATASET;
	ck_assert_str_eq(repos(list), "");
	list = (struct cairn_index_repo_list){.all = true, .limit = 1, .kind = CAIRN_INDEX_MODEL};
	ck_assert_str_eq(repos(list), "team/Cc Ann/aa Ann/bb ");
}
END_TEST

/* When two clients change one setting each, neither change reverts the other. */
START_TEST(settings_that_are_not_spoken_of_stay)
{
	struct cairn_index_repo repo;
	int64_t one = hx_model("one");
	struct cairn_index_set_repo hide = {.id = one, .is_private = true, .keeps_gate = true};
	struct cairn_index_set_repo gate = {.id = one, .keeps_private = true, .gate = CAIRN_INDEX_GATE_AUTO};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert(repo.is_private && repo.gate == CAIRN_INDEX_GATE_AUTO);
}
END_TEST

static int64_t guard_of(const char *name)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", name, &repo), CAIRN_OK);
	return repo.guard;
}

static enum cairn_status guard(int64_t repo, int64_t by)
{
	struct cairn_index_guard_repo request = {.id = repo, .guard = by};
	return cairn_index_guard_repo(hx_index, &request);
}

/* The first guard counts. Once there is a second one, only an operator decides. */
START_TEST(a_guard_is_noted_of_what_is_not_everybodys)
{
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_set_repo hide = {.id = one, .keeps_gate = true, .is_private = true};
	ck_assert_int_eq(guard(one, bob), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(guard_of("one"), 0);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_eq(guard(one, bob), CAIRN_OK);
		ck_assert_int_eq(guard_of("one"), bob);
	}
	ck_assert_int_eq(guard(one, hx_ann), CAIRN_OK);
	ck_assert_int_eq(guard_of("one"), CAIRN_INDEX_NO_ACCOUNT);
	ck_assert_int_eq(guard(one, bob), CAIRN_OK);
	ck_assert_int_eq(guard_of("one"), CAIRN_INDEX_NO_ACCOUNT);
	ck_assert_int_eq(guard(99, bob), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(found_by_a_name_from_before)
{
	int64_t one = hx_model("one"), other;
	struct cairn_index_repo repo;
	struct cairn_index_move_repo move = {.id = one, .account = hx_ann, .name = "two"};
	struct cairn_index_set_repo set = {.id = one, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &set), CAIRN_OK);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "ONE", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert_str_eq(repo.name, "two");
	ck_assert_int_eq(repo.gate, CAIRN_INDEX_GATE_MANUAL);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_DATASET, "ann", "one", &repo), CAIRN_E_NOT_FOUND);
	other = hx_model("one");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, other);
	struct cairn_index_drop_repo drop_other = {.id = other}, drop_one = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_other), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_one), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_E_NOT_FOUND);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_branch");
	TCase *t = tcase_create("index_branch");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_set_timeout(t, 200);
	tcase_add_test(t, a_branch_goes_its_own_way);
	tcase_add_test(t, no_ref_is_the_start_of_another);
	tcase_add_test(t, a_branch_can_be_empty_or_set_again);
	tcase_add_test(t, a_pull_request_begins_and_ends);
	tcase_add_test(t, a_merge_is_one_write);
	tcase_add_test(t, a_merge_of_what_main_has_ends_the_pull_request);
	tcase_add_test(t, a_pull_request_with_files_is_one_write);
	tcase_add_test(t, branches_of_branches);
	tcase_add_test(t, files_stay_until_the_repository_goes);
	tcase_add_test(t, a_squashed_branch_is_one_commit);
	tcase_add_test(t, a_branch_of_branches_is_squashed);
	tcase_add_test(t, a_deep_branch_copies_few_rows);
	tcase_add_test(t, a_copy_of_a_repository_has_its_files);
	tcase_add_test(t, a_tag_keeps_its_line);
	tcase_add_test(t, a_line_ends_where_the_last_ref_comes_from);
	tcase_add_test(t, a_deleted_repository_goes_with_all_it_had);
	tcase_add_test(t, repositories_are_listed_in_any_order);
	tcase_add_test(t, settings_that_are_not_spoken_of_stay);
	tcase_add_test(t, a_guard_is_noted_of_what_is_not_everybodys);
	tcase_add_test(t, found_by_a_name_from_before);
	suite_add_tcase(suite, t);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
