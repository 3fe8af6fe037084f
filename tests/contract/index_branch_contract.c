/* Calls of the index for a hub: branches, tags and pull requests of git-like repositories. */
#include "index/hub/pulls.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", fork.id), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", fork.id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "x", 99), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(hx_add_ref(99, CAIRN_INDEX_BRANCH, "x", fork.id), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(hx_head(one, "dev").id, fork.id);
	ck_assert(hx_committed_one(one, "main", hx_put("m", "1")));
	const struct cairn_index_operation dev[] = {hx_drop("a"), hx_put("d", "1"), hx_put("n/1", "1")};
	ck_assert(hx_committed(one, "dev", dev, 3));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a m ");
	ck_assert_str_eq(hx_all(one, "dev"), ".gitattributes d n/ n/1 ");
	ck_assert_uint_eq(hx_head(one, "dev").number, 3);
	ck_assert_uint_eq(hx_head(one, "dev").n_files, 3);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", fork.id), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", fork.id), CAIRN_E_CONFLICT);
	ck_assert_str_eq(refs(one), "1:dev 1:main 2:v1 ");
	struct cairn_index_commit tagged;
	ck_assert_int_eq(cairn_index_ref(hx_index, one, CAIRN_INDEX_TAG, "v1", &tagged), CAIRN_OK);
	ck_assert_int_eq(tagged.id, fork.id);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "main"), CAIRN_E_DENIED);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	ck_assert_str_eq(refs(one), "1:main ");
}
END_TEST

START_TEST(no_ref_is_the_start_of_another)
{
	int64_t one = hx_model("one"), two = hx_model("two"), main = hx_head(one, "main").id;
	static const char *const NESTED[] = {"main/x", "main/x/y", "a/b", "a/b/c/d", "a"};
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "a/b/c", main), CAIRN_OK);
	for (size_t i = 0; i < sizeof(NESTED) / sizeof(NESTED[0]); i++) {
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, NESTED[i], main), CAIRN_E_USAGE);
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, NESTED[i], main), CAIRN_E_USAGE);
	}
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "a/bb", main), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "maina/x", main), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "a/b/c", main), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(two, CAIRN_INDEX_BRANCH, "a/b", hx_head(two, "main").id), CAIRN_OK);
}
END_TEST

START_TEST(a_branch_can_be_empty_or_set_again)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit first = hx_head(one, "main");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "none", 0), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "none2", 0), CAIRN_OK);
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
	struct cairn_index_add_ref pull = {
		.repo = one, .kind = CAIRN_INDEX_PULL, .commit = first.id, .base = "none", .first = HX_MESSAGE};
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
		.base = "main",
		.account = 7,
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
		.message = {.author = "bob", .email = "bob@localhost", .title = "one", .message = ends ? "no" : ""},
		.operations = operations,
		.n = n,
		.ends = ends};
	enum cairn_status status = cairn_index_add_commit(hx_index, &add);
	ck_assert(status != CAIRN_E_CONFLICT || strcmp(add.write.diag.rule, "pr.ended") == 0);
	ck_assert(status != CAIRN_OK || add.added == (n > 0));
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

static void take_pull(void *ctx, const struct cairn_index_pull *pull)
{
	char *text = ctx, merged[CAIRN_GIT_OID_CHARS + 1] = "";
	size_t at = strlen(text);
	if (pull->is_merged)
		cairn_git_oid_text(merged, &pull->merged);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%d:%d:%s:%d:%s:%s:%s:%s:%s:%.4s ", (int)pull->number,
		       (int)pull->state, pull->base, (int)pull->account, pull->author, pull->title, pull->message,
		       pull->ended_by, pull->comment, merged);
	ck_assert((pull->ended_unix_s != 0) == (pull->state != CAIRN_INDEX_PULL_OPEN));
}

static const char *pull_row(int64_t repo, int64_t number)
{
	static char text[HX_TEXT_MAX];
	text[0] = '\0';
	enum cairn_status status = cairn_index_find_pull(hx_index, repo, number, take_pull, text);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return text;
}

static void take_pull_number(void *ctx, const struct cairn_index_pull *pull)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%d ", (int)pull->number);
}

/* Lists pull requests. @return the numbers of a page, and how many there are in all */
static const char *pulls(int64_t repo, const struct cairn_index_pull_list *list)
{
	static char text[HX_TEXT_MAX];
	uint32_t n;
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_pull(hx_index, repo, list, take_pull_number, text, &n), CAIRN_OK);
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "of %u", n);
	return text;
}

/* A pull request that proposes no files has no commit of its own. Once closed, it is read-only. */
START_TEST(a_pull_request_begins_and_ends)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit main = hx_head(one, "main");
	ck_assert_int_eq(add_pull(one, main.id, "Better"), CAIRN_OK);
	ck_assert_int_eq(add_pull(one, main.id, "Better"), CAIRN_OK);
	struct cairn_index_commit first = pull_head(one, "1");
	ck_assert_int_eq(first.id, main.id);
	ck_assert_str_eq(pull_row(one, 1), "1:0:main:7:ann:Better:why::: ");
	ck_assert_str_eq(pull_row(one, 3), "");
	const struct cairn_index_operation some = hx_put("b", "2");
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, false), CAIRN_OK);
	ck_assert_int_eq(pull_head(one, "1").id, first.id);
	ck_assert_int_eq(commit_to_pull(one, "1", &some, 1, false), CAIRN_OK);
	ck_assert_str_eq(ended(one), "main 1 2 ");
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, true), CAIRN_OK);
	struct cairn_index_commit last = pull_head(one, "1");
	ck_assert_uint_eq(last.number, first.number + 1);
	ck_assert_str_eq(ended(one), "main 1! 2 ");
	ck_assert_str_eq(pull_row(one, 1), "1:1:main:7:ann:Better:why:bob:no: ");
	const struct cairn_index_pull_list open = {.is_open = true, .limit = 10},
					   closed = {.is_ended = true, .limit = 10},
					   second = {.is_open = true, .is_ended = true, .skip = 1, .limit = 1},
					   nobodys = {.is_open = true, .is_ended = true, .author = "bob", .limit = 10};
	ck_assert_str_eq(pulls(one, &open), "2 of 1");
	ck_assert_str_eq(pulls(one, &closed), "1 of 1");
	ck_assert_str_eq(pulls(one, &second), "1 of 2");
	ck_assert_str_eq(pulls(one, &nobodys), "of 0");
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
	add.merge = (struct cairn_index_merge){.pull = name, .head = pull};
	enum cairn_status status = cairn_index_add_commit(hx_index, &add);
	*oid = add.oid;
	return status;
}

/* Main and the pull request change together or not at all. If somebody has pushed to either, the merge is refused. */
START_TEST(a_merge_is_one_write)
{
	char text[CAIRN_GIT_OID_CHARS + 1], row[HX_TEXT_MAX];
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
	ck_assert(cairn_git_oid_equal(&main.oid, &oid) && main.parent == pushed.id && last.id == head.id);
	hx_text_is(&main, "b", "2");
	cairn_git_oid_text(text, &oid);
	(void)snprintf(row, sizeof(row), "1:2:main:7:ann:Better:why:%s:%s:%.4s ", HX_MESSAGE.author, HX_MESSAGE.message,
		       text);
	ck_assert_str_eq(pull_row(one, 1), row);
	ck_assert_str_eq(ended(one), "main 1! ");
	ck_assert_int_eq(merge(one, &main.oid, &last.oid, "1", &oid), CAIRN_E_CONFLICT);
	ck_assert_int_eq(hx_head(one, "main").id, main.id);
}
END_TEST

/* Merging changes that main already has adds no commit: the pull request ends with main's head. */
START_TEST(merging_changes_that_main_has_ends_the_pull_request)
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
		.base = "main",
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
	ck_assert_uint_eq(head.number, main.number + 1);
	ck_assert_uint_eq(head.n_files, main.n_files);
	ck_assert_str_eq(head.title, "Better");
	hx_text_is(&head, "b", "2");
	ck_assert_int_eq(hx_head(one, "main").id, main.id);
	ck_assert_str_eq(ended(one), "main 1 ");
	ck_assert_str_eq(pull_row(one, 1), "1:0:main:0:ann:Better:why::: ");
	/* a squashed pull request is one commit, and still says what it proposes */
	struct cairn_index_squash squash = {.repo = one, .kind = CAIRN_INDEX_PULL, .name = "1", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	head = pull_head(one, "1");
	ck_assert(head.number == 1 && head.parent == 0 && cairn_git_oid_equal(&head.oid, &squash.oid));
	hx_text_is(&head, "b", "2");
	ck_assert_str_eq(pull_row(one, 1), "1:0:main:0:ann:Better:why::: ");
	ck_assert_int_eq(commit_to_pull(one, "1", NULL, 0, true), CAIRN_OK);
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_E_CONFLICT);
	ck_assert_str_eq(squash.write.diag.rule, "pr.ended");
	squash.name = "2";
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_E_NOT_FOUND);
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

/* Twenty branches, each made from the one before and with a file of its own, have more lines than one lookup reads. */
START_TEST(branches_of_branches)
{
	int64_t one = hx_model("one");
	char name[16], before[16] = "main", expected[HX_TEXT_MAX] = ".gitattributes ";
	ck_assert(hx_committed_one(one, "main", hx_put("over", "0")));
	for (unsigned i = 10; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, before).id), CAIRN_OK);
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
	struct cairn_index_commit early = hx_head(one, "b10"), found;
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, &early.oid);
	/* All branches but the last are deleted. The last one keeps what it inherited. */
	for (unsigned i = 10; i < 29; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, name), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, oid, CAIRN_INDEX_REACHED, &found), CAIRN_OK);
	struct cairn_index_sweep_repos sweep = {.grace_s = 3600};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &sweep), CAIRN_OK);
	while (sweep.more);
	ck_assert_str_eq(hx_all(one, "b29"), expected);
	ck_assert_str_eq(history(&last, 18), "4 3 ");
}
END_TEST

/* Is the commit found by this many digits of its id? */
static bool is_found(const struct cairn_index_commit *commit, size_t n_digits, enum cairn_index_commits among)
{
	char id[CAIRN_GIT_OID_CHARS + 1];
	struct cairn_index_commit found;
	cairn_git_oid_text(id, &commit->oid);
	id[n_digits] = '\0';
	enum cairn_status status = cairn_index_find_commit(hx_index, commit->repo, id, among, &found);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	ck_assert(status != CAIRN_OK || found.id == commit->id);
	return status == CAIRN_OK;
}

static void reached_is(const struct cairn_index_commit *commit, bool reached)
{
	static const size_t DIGITS[] = {CAIRN_INDEX_COMMIT_DIGITS_MIN, 12, CAIRN_GIT_OID_CHARS};
	for (size_t i = 0; i < sizeof(DIGITS) / sizeof(DIGITS[0]); i++) {
		ck_assert(is_found(commit, DIGITS[i], CAIRN_INDEX_REACHED) == reached);
		ck_assert(is_found(commit, DIGITS[i], CAIRN_INDEX_ALL_COMMITS));
	}
}

static struct cairn_index_commit committed(int64_t repo, const char *branch, const char *path)
{
	ck_assert(hx_committed_one(repo, branch, hx_put(path, "1")));
	return hx_head(repo, branch);
}

/* A branch, a tag, a pull request, and a branch of a branch each lead to the commits before them, and to no others. */
START_TEST(a_commit_is_reached_while_a_ref_leads_to_it)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit first = hx_head(one, "main"), a = committed(one, "main", "a"),
				  b = committed(one, "main", "b"), c = committed(one, "main", "c");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", b.id), CAIRN_OK);
	struct cairn_index_commit d = committed(one, "dev", "d"), e = committed(one, "dev", "e");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "sub", d.id), CAIRN_OK);
	reached_is(&c, true);
	reached_is(&e, true);
	/* main goes back to its first commit, and the other branches keep their own commits */
	struct cairn_index_add_ref reset = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "main", .commit = first.id, .overwrite = true};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &reset), CAIRN_OK);
	reached_is(&first, true);
	reached_is(&b, true);
	reached_is(&c, false);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	reached_is(&b, true);
	reached_is(&d, true);
	reached_is(&e, false);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", a.id), CAIRN_OK);
	ck_assert_int_eq(add_pull(one, e.id, "Better"), CAIRN_OK);
	reached_is(&e, true);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "sub"), CAIRN_OK);
	reached_is(&e, true);
	reached_is(&c, false);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	reached_is(&a, true);
}
END_TEST

START_TEST(a_squash_leaves_no_commit_reached)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit first = hx_head(one, "main"), a = committed(one, "main", "a"),
				  b = committed(one, "main", "b");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", a.id), CAIRN_OK);
	struct cairn_index_squash squash = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	struct cairn_index_commit squashed = hx_head(one, "main");
	reached_is(&squashed, true);
	reached_is(&first, true);
	reached_is(&a, true);
	reached_is(&b, false);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	reached_is(&first, false);
	reached_is(&a, false);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_branch");
	TCase *t = tcase_create("index_branch");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_branch_goes_its_own_way);
	tcase_add_test(t, no_ref_is_the_start_of_another);
	tcase_add_test(t, a_branch_can_be_empty_or_set_again);
	tcase_add_test(t, a_pull_request_begins_and_ends);
	tcase_add_test(t, a_merge_is_one_write);
	tcase_add_test(t, merging_changes_that_main_has_ends_the_pull_request);
	tcase_add_test(t, a_pull_request_with_files_is_one_write);
	tcase_add_test(t, branches_of_branches);
	tcase_add_test(t, a_commit_is_reached_while_a_ref_leads_to_it);
	tcase_add_test(t, a_squash_leaves_no_commit_reached);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
