/* Calls of the index for a hub: what squashes and deletions of branches, tags and repositories let a sweep remove. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static bool sees_all(int64_t repo)
{
	return fx_sees(hx_index, hx_owner_of(repo), 1) && fx_sees(hx_index, hx_owner_of(repo), 2) &&
	       fx_sees(hx_index, hx_owner_of(repo), 3);
}

/* The third file is never in a commit, but stays: a later commit may name it, as those of Git LFS do. */
START_TEST(files_stay_until_the_repository_goes)
{
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(one));
	hx_uploaded(3, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	struct cairn_index_commit commit = hx_head(one, "main");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", commit.id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put_file("b", 2)));
	struct cairn_index_commit gone = hx_head(one, "dev");
	ck_assert(hx_committed_one(one, "main", hx_drop("a")));
	hx_sweep_all(0);
	ck_assert(sees_all(one));
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, gone.id, &gone), CAIRN_E_NOT_FOUND);
	ck_assert(sees_all(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("b", 2)));
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	hx_sweep_all(3600);
	ck_assert(!fx_sees(hx_index, NULL, 1) && !fx_sees(hx_index, NULL, 2) && !fx_sees(hx_index, NULL, 3));
}
END_TEST

static enum cairn_status squash(int64_t repo, const char *branch, struct cairn_index_squash *out)
{
	*out = (struct cairn_index_squash){
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = branch, .message = HX_MESSAGE};
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
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", early.id), CAIRN_OK);
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
	/* the branch is squashed already */
	ck_assert_int_eq(squash(one, "dev", &request), CAIRN_OK);
	ck_assert_int_eq(hx_head(one, "dev").id, head.id);
	/* The former commits are removed, except those that another branch has. */
	hx_sweep_all(0);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, before.id, &found), CAIRN_E_NOT_FOUND);
	hx_text_is(&early, "a", "1");
	hx_text_is(&head, "d/e/f", "3");
	ck_assert_int_eq(squash(one, "main", &request), CAIRN_OK);
	hx_sweep_all(0);
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
	for (unsigned i = 0; i < N; i += CAIRN_INDEX_OPERATIONS_AT_ONCE) {
		unsigned n = N - i < CAIRN_INDEX_OPERATIONS_AT_ONCE ? N - i : CAIRN_INDEX_OPERATIONS_AT_ONCE;
		ck_assert(hx_committed(one, "main", puts + i, n)); /* larger commits get lines of their own */
	}
	for (unsigned i = 1; i < CAIRN_INDEX_LINE_DEPTH_MAX; i++) {
		(void)snprintf(name, sizeof(name), "b%u", i);
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, from).id), CAIRN_OK);
		ck_assert(hx_committed_one(one, name, hx_put(name, "1")));
		(void)snprintf(from, sizeof(from), "%s", name);
	}
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "deep", hx_head(one, from).id), CAIRN_E_LIMIT);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "flat", hx_head(one, "main").id), CAIRN_OK);
	ck_assert_int_eq(squash(one, from, &request), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "deep", hx_head(one, from).id), CAIRN_OK);
}
END_TEST

/* In a chain of lines the nearest row of a path counts, even one that says that the path is absent. */
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
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, from).id), CAIRN_OK);
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
	hx_sweep_all(0);
	ck_assert(fx_sees(hx_index, hx_owner_of(copy.id), 1));
	ck_assert(hx_is_there(&head, "x", &entry) && entry.has_file);
	/* a copied operation cannot name a file that its source lacks */
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
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", hx_head(one, "main").id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("a", "1")));
	struct cairn_index_commit commit = hx_head(one, "dev");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", commit.id), CAIRN_OK);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert_str_eq(hx_listed(&commit, "", true, ""), ".gitattributes a ");
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	hx_sweep_all(0);
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
START_TEST(a_sweep_cuts_a_line_behind_its_last_ref)
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
		ck_assert_int_eq(hx_add_ref(repo[r], CAIRN_INDEX_TAG, "old", tagged[r].id), CAIRN_OK);
	}
	ck_assert_int_eq(hx_add_ref(repo[0], CAIRN_INDEX_TAG, "v1", kept[0].id), CAIRN_OK);
	ck_assert_int_eq(hx_add_ref(repo[1], CAIRN_INDEX_BRANCH, "dev", kept[1].id), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert(!is_gone(&end[0]) && !is_gone(&end[1]));
	for (unsigned r = 0; r < 2; r++) {
		ck_assert_int_eq(squash(repo[r], "main", &request), CAIRN_OK);
		hx_sweep_all(0);
		for (int64_t id = kept[r].id + 1; id <= end[r].id; id++) {
			const struct cairn_index_commit one = {.id = id};
			ck_assert(is_gone(&one));
		}
		/* uses the commit that a reader found before the sweep */
		ck_assert(!hx_is_there(&end[r], "secret", &entry));
		hx_text_is(&end[r], "b", "kept");
		hx_text_is(&kept[r], "a", "1");
		hx_text_is(&kept[r], "f3/3", "f3/3");
		hx_text_is(&tagged[r], "a", "1");
		ck_assert_str_ne(hx_all(repo[r], "main"), "");
	}
	ck_assert(hx_committed_one(repo[1], "dev", hx_put("c", "2")));
	ck_assert_int_eq(hx_drop_ref(repo[0], CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	hx_sweep_all(0);
	ck_assert(is_gone(&kept[0]) && !is_gone(&kept[1]) && !is_gone(&tagged[0]));
	ck_assert(!hx_is_there(&kept[0], "b", &entry));
	ck_assert_str_eq(hx_listed(&tagged[0], "", true, ""), ".gitattributes a ");
	struct cairn_index_commit dev = hx_head(repo[1], "dev");
	hx_text_is(&dev, "b", "kept");
	ck_assert_int_eq(hx_drop_ref(repo[0], CAIRN_INDEX_TAG, "old"), CAIRN_OK);
	ck_assert_int_eq(hx_drop_ref(repo[1], CAIRN_INDEX_BRANCH, "dev"), CAIRN_OK);
	hx_sweep_all(0);
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
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "dev", hx_head(one, "main").id), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("d", "1")));
	struct cairn_index_commit commit = hx_head(one, "dev");
	struct cairn_index_drop_repo drop_one = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_one), CAIRN_OK);
	again = hx_model("one");
	ck_assert_int_gt(again, one);
	hx_sweep_all(3600);
	ck_assert(!fx_sees(hx_index, NULL, 1));
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, commit.id, &commit), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(hx_all(again, "main"), ".gitattributes ");
	(void)path;
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_sweep");
	TCase *t = tcase_create("index_sweep");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, files_stay_until_the_repository_goes);
	tcase_add_test(t, a_squashed_branch_is_one_commit);
	tcase_add_test(t, a_deep_branch_copies_few_rows);
	tcase_add_test(t, a_branch_of_branches_is_squashed);
	tcase_add_test(t, a_copy_of_a_repository_has_its_files);
	tcase_add_test(t, a_tag_keeps_its_line);
	tcase_add_test(t, a_sweep_cuts_a_line_behind_its_last_ref);
	tcase_add_test(t, a_deleted_repository_goes_with_all_it_had);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
