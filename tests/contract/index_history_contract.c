/* Calls of the index for a hub: commits of git-like repositories, and their files. */
#include "index/examine.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(a_new_repository_has_a_first_commit)
{
	int64_t one = hx_model("one");
	struct cairn_index_commit commit = hx_head(one, "main"), found;
	struct cairn_index_repo repo;
	char oid[CAIRN_GIT_OID_CHARS + 1];
	ck_assert_uint_eq(commit.number, 1);
	ck_assert_uint_eq(commit.n_files, 1);
	ck_assert_uint_eq(commit.bytes, 17);
	ck_assert_int_eq(commit.parent, 0);
	ck_assert_int_eq(commit.repo, one);
	ck_assert_str_eq(commit.author, "ann");
	ck_assert_str_eq(commit.title, "A change");
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes ");
	hx_text_is(&commit, ".gitattributes", "*.bin filter=lfs\n");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert_uint_eq(repo.n_files, 1);
	ck_assert_uint_eq(repo.bytes, 17);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_DATASET, "ann", "one", &repo), CAIRN_E_NOT_FOUND);
	cairn_git_oid_text(oid, &commit.oid);
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, oid, CAIRN_INDEX_REACHED, &found), CAIRN_OK);
	ck_assert_int_eq(found.id, commit.id);
	oid[4] = '\0';
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, oid, CAIRN_INDEX_REACHED, &found), CAIRN_OK);
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one + 1, oid, CAIRN_INDEX_REACHED, &found),
			 CAIRN_E_NOT_FOUND);
	oid[3] = '\0';
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, oid, CAIRN_INDEX_REACHED, &found), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, "zzzz", CAIRN_INDEX_REACHED, &found),
			 CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, commit.id, &found), CAIRN_OK);
	ck_assert_int_eq(cairn_index_commit_by_id(hx_index, 99, &found), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(each_commit_keeps_its_files)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	struct cairn_index_commit first = hx_head(one, "main");
	const struct cairn_index_operation two[] = {hx_put("a", "two"), hx_put("b/c/d", "3")};
	ck_assert(hx_committed(one, "main", two, 2));
	struct cairn_index_commit second = hx_head(one, "main");
	ck_assert(hx_committed_one(one, "main", hx_drop("b/c/d")));
	struct cairn_index_commit third = hx_head(one, "main");
	hx_text_is(&first, "a", "1");
	hx_text_is(&second, "a", "two");
	hx_text_is(&third, "a", "two");
	ck_assert_str_eq(hx_listed(&first, "", true, ""), ".gitattributes a ");
	ck_assert_str_eq(hx_listed(&second, "", true, ""), ".gitattributes a b/ b/c/ b/c/d ");
	ck_assert_str_eq(hx_listed(&third, "", true, ""), ".gitattributes a ");
	struct cairn_index_entry entry;
	ck_assert(hx_is_there(&second, "b/c", &entry));
	ck_assert_int_eq(entry.kind, CAIRN_INDEX_FOLDER);
	ck_assert_int_eq(entry.commit, second.id);
	ck_assert(!hx_is_there(&first, "b/c", &entry));
	ck_assert(!hx_is_there(&third, "b/c/d", &entry));
	ck_assert(!hx_is_there(&third, "b", &entry));
	ck_assert(hx_is_there(&third, "a", &entry));
	ck_assert_int_eq(entry.commit, second.id);
	ck_assert_uint_eq(second.n_files, 3);
	ck_assert_uint_eq(second.bytes, 17 + 3 + 1);
	ck_assert_uint_eq(third.n_files, 2);
	ck_assert_uint_eq(third.number, 4);
	ck_assert_int_eq(third.parent, second.id);
}
END_TEST

START_TEST(nothing_new_is_no_commit)
{
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(one));
	const struct cairn_index_operation some[] = {hx_put("a", "1"), hx_put_file("x/y", 1)};
	ck_assert(hx_committed(one, "main", some, 2));
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert(!hx_committed(one, "main", some, 2));
	ck_assert(!hx_committed(one, "main", some, 0));
	/* paths that are removed and added again */
	const struct cairn_index_operation around[] = {hx_drop_folder("x"), hx_drop("a"), hx_put("a", "1"),
						       hx_put_file("x/y", 1)};
	ck_assert(!hx_committed(one, "main", around, 4));
	const struct cairn_index_operation back[] = {hx_put("z/1", "1"), hx_drop("z/1")};
	ck_assert(!hx_committed(one, "main", back, 2));
	ck_assert_int_eq(hx_head(one, "main").id, before.id);
	struct cairn_index_entry entry;
	ck_assert(hx_is_there(&before, "x/y", &entry));
	ck_assert_int_eq(entry.commit, before.id);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a x/ x/y ");
}
END_TEST

START_TEST(a_commit_is_made_on_its_parent)
{
	int64_t one = hx_model("one");
	char first[CAIRN_GIT_OID_CHARS + 1], parent[CAIRN_GIT_OID_CHARS + 1];
	struct cairn_index_commit commit = hx_head(one, "main");
	cairn_git_oid_text(first, &commit.oid);
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	commit = hx_head(one, "main");
	cairn_git_oid_text(parent, &commit.oid);
	const struct cairn_index_operation operation = hx_put("b", "1"), same = hx_put("a", "1");
	struct cairn_index_add_commit request = hx_request(one, "main", &operation, 1);
	request.parent = first;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_E_CONFLICT);
	ck_assert_str_eq(request.write.diag.rule, "commit.parent");
	ck_assert_str_eq(request.write.diag.text,
			 "The branch was updated since you opened this page. Please refresh and try again.");
	request.parent = "0000";
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_E_CONFLICT);
	/* the same request again, as if its answer was lost: it has the head's parent, and all changes are there */
	request.operations = &same;
	request.parent = first;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert(!request.added);
	hx_oid_is(&request.oid, parent);
	parent[7] = '\0';
	request.operations = &operation;
	request.parent = parent;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert(request.added);
	ck_assert_int_eq(hx_head(one, "main").parent, commit.id);
}
END_TEST

START_TEST(a_commit_keeps_the_id_that_it_is_given)
{
	static const char GIVEN[] = "0123456789abcdef0123456789abcdef01234567";
	int64_t one = hx_model("one"), two = hx_model("two");
	struct cairn_git_oid id;
	struct cairn_index_commit found;
	ck_assert(cairn_git_oid_parse(GIVEN, &id));
	const struct cairn_index_operation some = hx_put("a", "1"), other = hx_put("a", "2");
	struct cairn_index_add_commit request = hx_request(one, "main", &some, 1);
	request.id = &id;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert(request.added);
	hx_oid_is(&request.oid, GIVEN);
	struct cairn_index_commit head = hx_head(one, "main");
	hx_oid_is(&head.oid, GIVEN);
	ck_assert_int_eq(cairn_index_find_commit(hx_index, one, "0123456", CAIRN_INDEX_REACHED, &found), CAIRN_OK);
	ck_assert_int_eq(found.id, head.id);
	/* The same request again, as if the answer was lost. */
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert(!request.added);
	/* a given id names one commit in a repository, but another repository may have a commit with the same id */
	request.operations = &other;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_E_CONFLICT);
	ck_assert_str_eq(request.write.diag.rule, "commit.known");
	hx_text_is(&head, "a", "1");
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	request.repo = two;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	/* The next commit has the given one as its parent. */
	ck_assert(hx_committed_one(one, "main", hx_put("b", "1")));
	ck_assert_int_eq(hx_head(one, "main").parent, head.id);
}
END_TEST

struct told_faults {
	unsigned n;
	enum cairn_index_fault_kind kind; /* kind of the last fault */
	char text[512];
};

static void note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct told_faults *told = ctx;
	told->n++;
	told->kind = fault->kind;
	(void)snprintf(told->text, sizeof(told->text), "%s", fault->text);
}

/* Simulates bytes that changed on the disk: the id belongs to other bytes. */
START_TEST(changed_bytes_are_reported_and_healed_by_a_commit)
{
	int64_t one = hx_model("one");
	struct told_faults told = {0};
	struct cairn_index_operation changed = hx_put("d/a", "two"), right = hx_put("d/a", "one");
	changed.oid = right.oid;
	ck_assert(hx_committed_one(one, "main", changed));
	struct cairn_index_commit commit = hx_head(one, "main");
	ck_assert_int_eq(cairn_index_examine(hx_index, note_fault, &told, NULL), CAIRN_OK);
	ck_assert_uint_eq(told.n, 1);
	ck_assert_int_eq(told.kind, CAIRN_INDEX_FAULT_CONTENT);
	ck_assert_ptr_nonnull(strstr(told.text, "/one the file d/a,"));
	ck_assert(!hx_committed_one(one, "main", right)); /* git would see no difference, so there is no commit */
	hx_text_is(&commit, "d/a", "one");
	told.n = 0;
	ck_assert_int_eq(cairn_index_examine(hx_index, note_fault, &told, NULL), CAIRN_OK);
	ck_assert_uint_eq(told.n, 0);
}
END_TEST

START_TEST(a_commit_names_only_files_of_its_repository)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	struct cairn_index_entry entry;
	char pointer[CAIRN_LFS_POINTER_BYTES_MAX];
	struct cairn_git_oid oid;
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, "");
	hx_refused_one(two, hx_put_file("a", 1), "commit.sha256");
	hx_refused_one(one, hx_put_file("a", 3), "commit.sha256");
	ck_assert(hx_committed_one(one, "main", hx_put_file("a", 1)));
	hx_refused_one(two, hx_put_file("b", 2), "commit.sha256"); /* only the operator has the file */
	struct cairn_index_commit commit = hx_head(one, "main");
	struct cairn_hash hash = fx_hash("file", 1);
	ck_assert(hx_is_there(&commit, "a", &entry));
	ck_assert_int_eq(entry.kind, CAIRN_INDEX_XET);
	ck_assert(entry.has_file);
	ck_assert_mem_eq(&entry.file, &hash, sizeof(hash));
	size_t len = cairn_lfs_pointer(pointer, entry.sha256, entry.size_bytes);
	ck_assert_int_eq(cairn_git_blob(&oid, pointer, len), CAIRN_OK);
	ck_assert(cairn_git_oid_equal(&oid, &entry.oid));
	ck_assert_uint_eq(commit.bytes, 17 + entry.size_bytes);
	/* A file that the operator forgets keeps its entry. Uploading the file again restores it without a commit. */
	struct cairn_index_forget_file forget = {.hash = hash};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert(hx_is_there(&commit, "a", &entry));
	ck_assert(!entry.has_file);
	ck_assert_uint_gt(entry.size_bytes, 0);
	hx_uploaded(1, hx_owner_of(one));
	ck_assert(!hx_committed_one(one, "main", hx_put_file("a", 1)));
	ck_assert(hx_is_there(&commit, "a", &entry));
	ck_assert(entry.has_file);
}
END_TEST

START_TEST(impossible_operations_are_refused)
{
	int64_t one = hx_model("one");
	char deep[2 * (CAIRN_INDEX_PATH_DEPTH_MAX + 1)], path[CAIRN_INDEX_PATH_MAX + 2];
	ck_assert(hx_committed_one(one, "main", hx_put("a/b", "1")));
	hx_refused_one(one, hx_put("a", "1"), "commit.path");
	hx_refused_one(one, hx_put("a/b/c", "1"), "commit.path");
	hx_refused_one(one, hx_drop("c"), "entry.unknown");
	hx_refused_one(one, hx_drop_folder("a/b"), "entry.unknown");
	const struct cairn_index_operation late[] = {hx_put("n/e/w", "1"), hx_put("n/e", "1")};
	hx_refused(one, "main", late, 2, "commit.path");
	/* Removing a folder makes room for a file, and removing a file makes room for a folder. */
	const struct cairn_index_operation room[] = {hx_drop_folder("a"), hx_put("a", "1")};
	ck_assert(hx_committed(one, "main", room, 2));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a ");
	const struct cairn_index_operation again[] = {hx_drop("a"), hx_put("a/b", "1"), hx_put("a/c", "1")};
	ck_assert(hx_committed(one, "main", again, 3));
	const struct cairn_index_operation emptied[] = {hx_drop("a/b"), hx_drop("a/c"), hx_put("a", "1")};
	ck_assert(hx_committed(one, "main", emptied, 3));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a ");
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 == 0 ? 'd' : '/';
	deep[sizeof(deep) - 1] = '\0';
	hx_refused_one(one, hx_put(deep, "1"), "commit.depth");
	ck_assert(hx_committed_one(one, "main", hx_put(deep + 2, "1")));
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	hx_refused_one(one, hx_put(path, "1"), "commit.depth");
	ck_assert(hx_committed_one(one, "main", hx_put(path + 1, "1")));
	hx_refused(one, "none", room, 1, "revision.unknown");
	hx_refused(99, "main", room, 1, "repo.unknown");
}
END_TEST

/* The same for a folder with nothing but emptied folders. A later operation sees that they are gone. */
START_TEST(emptied_folders_make_room_for_a_file)
{
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("f/a/b", "1")));
	const struct cairn_index_operation half[] = {hx_drop("f/a/b"), hx_put("f/c/d", "1"), hx_put("f", "2")};
	hx_refused(one, "main", half, 3, "commit.path");
	const struct cairn_index_operation below[] = {hx_drop("f/a/b"), hx_put("f", "2"), hx_put("f/a/c", "3")};
	hx_refused(one, "main", below, 3, "commit.path");
	ck_assert(hx_committed(one, "main", below, 2));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes f ");
	const struct cairn_index_operation back[] = {hx_drop("f"),        hx_put("f/a/b", "1"), hx_drop("f/a/b"),
						     hx_put("f", "2"),    hx_drop("f"),         hx_put("f/a/c", "3"),
						     hx_put("f/e/g", "4")};
	ck_assert(hx_committed(one, "main", back, 7));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes f/ f/a/ f/e/ f/a/c f/e/g ");
	ck_assert_uint_eq(hx_head(one, "main").n_files, 3);
}
END_TEST

/* The writer's work for one commit has further limits than the number of operations. */
START_TEST(a_commit_of_too_much_work_is_refused)
{
	enum { N_DEEP = CAIRN_INDEX_COMMIT_FOLDERS_MAX / 60 + 1, N_FILES = 2000, N_AGAIN = 2200 };
	int64_t one = hx_model("one");
	static char paths[N_DEEP][160], names[N_FILES][16];
	static struct cairn_index_operation deep[N_DEEP], again[N_AGAIN], files[N_FILES];
	for (size_t i = 0; i < N_DEEP; i++) {
		size_t len = (size_t)snprintf(paths[i], sizeof(paths[i]), "%zu/", i);
		for (unsigned k = 0; k < 59; k++, len += 2)
			memcpy(paths[i] + len, "d/", 2);
		memcpy(paths[i] + len, "f", 2);
		deep[i] = hx_put(paths[i], "1");
	}
	hx_refused(one, "main", deep, N_DEEP, "commit.rows");
	for (size_t i = 0; i < N_FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "F/%zu", i);
		files[i] = hx_put(names[i], "1");
	}
	ck_assert(hx_committed(one, "main", files, N_FILES));
	for (size_t i = 0; i < N_AGAIN; i++)
		again[i] = i % 2 == 0 ? hx_put("F/x", "1") : hx_drop_folder("F");
	hx_refused(one, "main", again, N_AGAIN, "commit.rows");
	ck_assert(hx_committed(one, "main", again, 100));
}
END_TEST

START_TEST(a_folder_goes_with_all_in_it)
{
	int64_t one = hx_model("one");
	const struct cairn_index_operation some[] = {hx_put("a/b", "1"),   hx_put("a/c/d", "2"), hx_put("a/c/e/f", "3"),
						     hx_put("a.b/c", "4"), hx_put("a0", "5"),    hx_put("a!/x", "6")};
	ck_assert(hx_committed(one, "main", some, 6));
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert(hx_committed_one(one, "main", hx_drop("a/c")));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a/ a!/ a.b/ a0 a/b a!/x a.b/c ");
	ck_assert(hx_committed_one(one, "main", hx_drop_folder("a")));
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes a!/ a.b/ a0 a!/x a.b/c ");
	ck_assert_uint_eq(hx_head(one, "main").n_files, 4);
	ck_assert_str_eq(hx_listed(&before, "a", true, ""), "a/b a/c/ a/c/d a/c/e/ a/c/e/f ");
}
END_TEST

START_TEST(listed_by_folders_and_names)
{
	int64_t one = hx_model("one");
	const struct cairn_index_operation some[] = {hx_put("a/b", "1"), hx_put("a/c/d", "2"), hx_put("a-b/x", "3"),
						     hx_put("stop", "4"), hx_put("z", "5")};
	ck_assert(hx_committed(one, "main", some, 5));
	struct cairn_index_commit commit = hx_head(one, "main");
	ck_assert_str_eq(hx_listed(&commit, "", false, ""), ".gitattributes a/ a-b/ stop ");
	ck_assert_str_eq(hx_listed(&commit, "", false, "a"), "a-b/ stop ");
	ck_assert_str_eq(hx_listed(&commit, "", false, "stop"), "z ");
	ck_assert_str_eq(hx_listed(&commit, "a", false, ""), "a/b a/c/ ");
	ck_assert_str_eq(hx_listed(&commit, "a", true, ""), "a/b a/c/ a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "a", true, "a/b"), "a/c/ a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "a", true, "a/c"), "a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "a", true, "a/c/d"), "");
	ck_assert_str_eq(hx_listed(&commit, "", true, "z"), "a/b a/c/ a-b/x a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "", true, "a/c"), "a-b/x a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "", true, "a-b/x"), "a/c/d ");
	ck_assert_str_eq(hx_listed(&commit, "none", true, ""), "");
	ck_assert_str_eq(hx_listed(&commit, "z", false, ""), "");
}
END_TEST

/* A listing skips older rows of a path: a few one by one, many with a lookup. */
START_TEST(listed_at_any_of_many_commits)
{
	int64_t one = hx_model("one");
	char text[16];
	struct cairn_index_commit middle = {0};
	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		const struct cairn_index_operation some[] = {hx_put("a", text), hx_put("m/b", text), hx_put(text, "")};
		ck_assert(hx_committed(one, "main", some, 3));
		if (i == 2)
			middle = hx_head(one, "main");
	}
	ck_assert_str_eq(hx_listed(&middle, "", true, ""), ".gitattributes 0 1 2 a m/ m/b ");
	hx_text_is(&middle, "a", "2");
	struct cairn_index_commit last = hx_head(one, "main");
	ck_assert_str_eq(hx_listed(&last, "", true, "9"), "a m/ m/b ");
	hx_text_is(&last, "m/b", "39");
	ck_assert_uint_eq(last.n_files, 43);
}
END_TEST

/* Returns the one line that a command prints. */
static void git_says(char *out, size_t size, const char *fmt, ...) CAIRN_PRINTF(3, 4);
static void git_says(char *out, size_t size, const char *fmt, ...)
{
	char command[HX_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	FILE *pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_ptr_nonnull(fgets(out, (int)size, pipe));
	ck_assert_int_eq(pclose(pipe), 0);
	out[strcspn(out, "\n")] = '\0';
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	char in[HX_TEXT_MAX];
	for (const char *slash = strchr(path + strlen(hx_folder()) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(in, sizeof(in), "%.*s", (int)(slash - path), path);
		(void)mkdir(in, 0700);
	}
	FILE *file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

static bool check_out(void *ctx, const struct cairn_index_entry *entry)
{
	struct cairn_index_entry *all_entries = ctx;
	char path[HX_TEXT_MAX], pointer[CAIRN_LFS_POINTER_BYTES_MAX];
	(void)snprintf(path, sizeof(path), "%s/work/%s%s%s", hx_folder(), entry->folder, entry->folder[0] ? "/" : "",
		       entry->name);
	if (entry->kind == CAIRN_INDEX_XET)
		write_file(path, pointer, cairn_lfs_pointer(pointer, entry->sha256, entry->size_bytes));
	else if (entry->kind == CAIRN_INDEX_INLINE)
		write_file(path, entry->name, strlen(entry->name));
	(void)all_entries;
	return true;
}

/* git computes the same ids for the files of a checkout, and for the commit. */
START_TEST(ids_are_those_of_git)
{
	static const char *const PATHS[] = {"a",     "a.b/a", "a-b",    "A",          "f/a/x",
					    "f/a.x", "f/a-",  "f/ax/y", "\xc3\xa4/z", "z z"};
	enum { N = sizeof(PATHS) / sizeof(PATHS[0]) };
	struct cairn_index_operation operations[N + 1];
	char got[64], ours[CAIRN_GIT_OID_CHARS + 1], parent[CAIRN_GIT_OID_CHARS + 1];
	int64_t one = hx_model("one");
	hx_uploaded(1, hx_owner_of(one));
	for (size_t i = 0; i < N; i++) {
		const char *slash = strrchr(PATHS[i], '/');
		operations[i] = hx_put(PATHS[i], slash ? slash + 1 : PATHS[i]);
	}
	operations[N] = hx_put_file("f/xet", 1);
	ck_assert(hx_committed_one(one, "main", hx_drop(".gitattributes")));
	struct cairn_index_commit before = hx_head(one, "main");
	ck_assert(hx_committed(one, "main", operations, N + 1));
	struct cairn_index_commit commit = hx_head(one, "main");
	const struct cairn_index_listing listing = {.folder = "", .recursive = true, .after = ""};
	ck_assert_int_eq(cairn_index_each_entry(hx_index, &commit, &listing, check_out, NULL), CAIRN_OK);
	git_says(got, sizeof(got),
		 "cd %s/work && git init -q . && git -c core.autocrlf=false add -A . && git write-tree", hx_folder());
	hx_oid_is(&commit.root, got);
	cairn_git_oid_text(ours, &commit.root);
	cairn_git_oid_text(parent, &before.oid);
	/* git's folder lacks the parent commit, so the text of the commit is hashed as it stands. */
	git_says(got, sizeof(got),
		 "cd %s/work && printf 'tree %s\\nparent %s\\nauthor ann <ann@users.noreply.invalid> %" PRId64
		 " +0000\\ncommitter ann <ann@users.noreply.invalid> %" PRId64
		 " +0000\\n\\nA change\\n' | git hash-object -t commit --stdin",
		 hx_folder(), ours, parent, commit.at_unix_s, commit.at_unix_s);
	hx_oid_is(&commit.oid, got);
}
END_TEST

/* Commits in a child process that dies at this step, if this build has such steps. @return true: it died */
static bool killed(const char *step, int64_t repo)
{
	char path[512];
	int state = 0;
	(void)snprintf(path, sizeof(path), "%s/step", hx_folder());
	write_file(path, step, strlen(step));
	cairn_index_free(hx_index);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)setenv("CAIRND_CRASH_FILE", path, 1);
		hx_index = fx_open(hx_folder());
		const struct cairn_index_operation some[] = {hx_put("a", "new"), hx_put("f/b", "1"), hx_drop("c")};
		struct cairn_index_add_commit request = hx_request(repo, "main", some, 3);
		_exit(cairn_index_add_commit(hx_index, &request) == CAIRN_OK ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	hx_index = fx_open(hx_folder());
#ifdef CAIRN_CRASH_POINTS
	ck_assert(WIFSIGNALED(state));
#else
	ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
#endif
	return WIFSIGNALED(state);
}

START_TEST(a_kill_leaves_the_old_head_or_the_new_one)
{
	static const struct {
		const char *step;
		bool durable;
	} STEPS[] = {
		{"index-begun", false}, {"commit-edited", false}, {"index-applied", false}, {"index-committed", true}};
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		int64_t one = hx_model(STEPS[i].step);
		const struct cairn_index_operation before[] = {hx_put("a", "old"), hx_put("c", "1")};
		ck_assert(hx_committed(one, "main", before, 2));
		int64_t old = hx_head(one, "main").id;
		bool made = !killed(STEPS[i].step, one) || STEPS[i].durable;
		struct cairn_index_commit head = hx_head(one, "main");
		ck_assert_msg((head.id != old) == made, "%s", STEPS[i].step);
		hx_text_is(&head, "a", made ? "new" : "old");
		ck_assert_str_eq(hx_all(one, "main"), made ? ".gitattributes a f/ f/b " : ".gitattributes a c ");
		/* wherever the process died, the repository accepts the next commit */
		ck_assert(hx_committed_one(one, "main", hx_put("d", "1")));
	}
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_history");
	TCase *t = tcase_create("index_history");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_new_repository_has_a_first_commit);
	tcase_add_test(t, each_commit_keeps_its_files);
	tcase_add_test(t, nothing_new_is_no_commit);
	tcase_add_test(t, a_commit_is_made_on_its_parent);
	tcase_add_test(t, a_commit_keeps_the_id_that_it_is_given);
	tcase_add_test(t, changed_bytes_are_reported_and_healed_by_a_commit);
	tcase_add_test(t, a_commit_names_only_files_of_its_repository);
	tcase_add_test(t, impossible_operations_are_refused);
	tcase_add_test(t, emptied_folders_make_room_for_a_file);
	tcase_add_test(t, a_commit_of_too_much_work_is_refused);
	tcase_add_test(t, a_folder_goes_with_all_in_it);
	tcase_add_test(t, listed_by_folders_and_names);
	tcase_add_test(t, listed_at_any_of_many_commits);
	tcase_add_test(t, ids_are_those_of_git);
	tcase_add_test(t, a_kill_leaves_the_old_head_or_the_new_one);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
