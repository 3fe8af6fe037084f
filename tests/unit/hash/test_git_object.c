/* Ids as git computes them. The expected ids come from git 2.47 (hash-object, mktree, commit-tree). */
#include "hash/git_object.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

#define HELLO    "ce013625030ba8dba906f756967f9e9ca394464a"
#define EMPTY    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define FOLDER   "e31a96220fbfbe7601ecc086a36b96dc27a8867e" /* folder with x: hello */
#define UNSORTED "6ac8dea1ebb26bafbdec3ce2c087a7389e8bc53c" /* folder with a-b, a.b, a/, a0 */
#define FIRST    "f564b47b8866336e4814f183051c736b49276b31"
#define POINTER                                                                                                        \
	"version https://git-lfs.github.com/spec/v1\n"                                                                 \
	"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

static struct cairn_git_oid oid_of(const char *text)
{
	struct cairn_git_oid oid;
	ck_assert(cairn_git_oid_parse(text, &oid));
	return oid;
}

static void oid_is(const struct cairn_git_oid *oid, const char *text)
{
	char got[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(got, oid);
	ck_assert_str_eq(got, text);
}

/* Reads the next bytes of a text, and nothing at its end. */
static enum cairn_status read_text(void *ctx, uint8_t *out, size_t len)
{
	const char **text = ctx;
	if (strlen(*text) < len)
		return CAIRN_E_IO;
	memcpy(out, *text, len);
	*text += len;
	return CAIRN_OK;
}

START_TEST(git_blobs_that_are_read)
{
	static char large[200001];
	const char *text = "hello\n", *cut = "hell", *at = large;
	struct cairn_git_oid oid, whole;
	memset(large, 'x', sizeof(large) - 1);
	ck_assert_int_eq(cairn_git_blob(&whole, "hello\n", 6), CAIRN_OK);
	ck_assert_int_eq(cairn_git_blob_read(&oid, read_text, &text, 6), CAIRN_OK);
	ck_assert(cairn_git_oid_equal(&oid, &whole));
	ck_assert_int_eq(cairn_git_blob_read(&oid, read_text, &cut, 6), CAIRN_E_IO);
	ck_assert_int_eq(cairn_git_blob(&whole, large, 200000), CAIRN_OK);
	ck_assert_int_eq(cairn_git_blob_read(&oid, read_text, &at, 200000), CAIRN_OK);
	ck_assert(cairn_git_oid_equal(&oid, &whole));
}
END_TEST

START_TEST(git_blobs)
{
	struct cairn_git_oid oid;
	ck_assert_int_eq(cairn_git_blob(&oid, "hello\n", 6), CAIRN_OK);
	oid_is(&oid, HELLO);
	ck_assert_int_eq(cairn_git_blob(&oid, "", 0), CAIRN_OK);
	oid_is(&oid, EMPTY);
	ck_assert_int_eq(cairn_git_blob(&oid, POINTER, strlen(POINTER)), CAIRN_OK);
	oid_is(&oid, "60c8d8ab2adcf57a391163a7eeb0cdb8bf348e44");
}
END_TEST

START_TEST(git_text_of_an_id)
{
	struct cairn_git_oid oid, other = oid_of(EMPTY);
	ck_assert(cairn_git_oid_parse(HELLO, &oid));
	ck_assert(!cairn_git_oid_equal(&oid, &other));
	ck_assert(!cairn_git_oid_parse("", &oid));
	ck_assert(!cairn_git_oid_parse(HELLO "0", &oid));
	ck_assert(!cairn_git_oid_parse("CE013625030ba8dba906f756967f9e9ca394464a", &oid));
	ck_assert(!cairn_git_oid_parse("ce013625030ba8dba906f756967f9e9ca39446", &oid));
}
END_TEST

START_TEST(git_folders)
{
	struct cairn_git_oid oid, hello = oid_of(HELLO), empty = oid_of(EMPTY), folder = oid_of(FOLDER);
	struct cairn_git_tree *tree = cairn_git_tree_new();
	ck_assert_ptr_nonnull(tree);
	ck_assert_int_eq(cairn_git_tree_end(tree, &oid), CAIRN_OK);
	oid_is(&oid, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
	cairn_git_tree_begin(tree);
	cairn_git_tree_add(tree, "x", false, &hello);
	ck_assert_int_eq(cairn_git_tree_end(tree, &oid), CAIRN_OK);
	oid_is(&oid, FOLDER);
	/* in byte order "a" comes first, but git sorts a folder "a" after "a.b" */
	cairn_git_tree_begin(tree);
	cairn_git_tree_add(tree, "a", true, &folder);
	cairn_git_tree_add(tree, "a-b", false, &hello);
	cairn_git_tree_add(tree, "a.b", false, &empty);
	cairn_git_tree_add(tree, "a0", false, &empty);
	ck_assert_int_eq(cairn_git_tree_end(tree, &oid), CAIRN_OK);
	oid_is(&oid, UNSORTED);
	/* the same in git's order */
	cairn_git_tree_begin(tree);
	cairn_git_tree_add(tree, "a-b", false, &hello);
	cairn_git_tree_add(tree, "a.b", false, &empty);
	cairn_git_tree_add(tree, "a", true, &folder);
	cairn_git_tree_add(tree, "a0", false, &empty);
	ck_assert_int_eq(cairn_git_tree_end(tree, &oid), CAIRN_OK);
	oid_is(&oid, UNSORTED);
	cairn_git_tree_freep(&tree);
}
END_TEST

START_TEST(git_commits)
{
	struct cairn_git_oid oid, first = oid_of(FIRST);
	struct cairn_git_commit commit = {.root = oid_of(UNSORTED),
					  .author = "ann",
					  .email = "<ann@x>\n",
					  .at_unix_s = 1700000000,
					  .title = "One",
					  .message = ""};
	ck_assert_int_eq(cairn_git_commit(&oid, &commit), CAIRN_OK);
	oid_is(&oid, FIRST);
	commit.root = oid_of(FOLDER);
	commit.parent = &first;
	commit.at_unix_s++;
	commit.title = "Two";
	commit.message = "More words";
	ck_assert_int_eq(cairn_git_commit(&oid, &commit), CAIRN_OK);
	oid_is(&oid, "9d734f0ff4c0e258e412d82031a7e9550a51cbbd");
}
END_TEST

START_TEST(git_pointers)
{
	char text[CAIRN_LFS_POINTER_BYTES_MAX], changed[CAIRN_LFS_POINTER_BYTES_MAX + 1];
	uint8_t sha256[32];
	uint64_t size;
	size_t len = strlen(POINTER);
	ck_assert(cairn_lfs_pointer_parse(POINTER, len, sha256, &size));
	ck_assert_uint_eq(size, 12345);
	ck_assert_uint_eq(cairn_lfs_pointer(text, sha256, size), len);
	ck_assert_str_eq(text, POINTER);
	ck_assert_uint_lt(cairn_lfs_pointer(text, sha256, UINT64_MAX), sizeof(text));
	/* no byte may differ or be missing, except within the digits */
	for (size_t i = 0; i <= len; i++) {
		uint8_t other[32];
		ck_assert(i == len || !cairn_lfs_pointer_parse(POINTER, i, other, &size));
		memcpy(changed, POINTER, len + 1);
		changed[i] = '~';
		ck_assert(!cairn_lfs_pointer_parse(changed, i == len ? len + 1 : len, other, &size));
	}
	memset(changed, '9', sizeof(changed));
	memcpy(changed, POINTER, len - 6);
	ck_assert(!cairn_lfs_pointer_parse(changed, CAIRN_LFS_POINTER_BYTES_MAX, sha256, &size));
	ck_assert(!cairn_lfs_pointer_parse(changed, CAIRN_LFS_POINTER_BYTES_MAX - 1, sha256, &size));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("git_object");
	TCase *tcase = tcase_create("git_object");
	tcase_add_test(tcase, git_blobs);
	tcase_add_test(tcase, git_blobs_that_are_read);
	tcase_add_test(tcase, git_text_of_an_id);
	tcase_add_test(tcase, git_folders);
	tcase_add_test(tcase, git_commits);
	tcase_add_test(tcase, git_pointers);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
