#include "hub/revision.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

static void name_is(const char *revision, enum cairn_index_ref_kind kind, const char *name, bool sure)
{
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	ck_assert_int_eq(ref.kind, kind);
	ck_assert_str_eq(ref.name, name);
	ck_assert_int_eq(ref.sure, sure);
}

START_TEST(revision_names)
{
	name_is("main", CAIRN_INDEX_BRANCH, "main", false);
	name_is("HEAD", CAIRN_INDEX_BRANCH, "main", true);
	name_is("refs/heads/feat/x", CAIRN_INDEX_BRANCH, "feat/x", true);
	name_is("refs/tags/v1", CAIRN_INDEX_TAG, "v1", true);
	name_is("refs/pr/12", CAIRN_INDEX_PULL, "12", true);
	name_is("refs/other/1", CAIRN_INDEX_BRANCH, "refs/other/1", false);
	name_is("", CAIRN_INDEX_BRANCH, "", false);
}
END_TEST

START_TEST(revision_names_that_git_takes)
{
	static const char *const GOOD[] = {"main", "feat/x", "v1.0", "a-b_c", "x@y", "\xc3\xa4", "abcdef0", "a{b"};
	static const char *const BAD[] = {"",
					  "HEAD",
					  "@",
					  "refs/heads/x",
					  ".a",
					  "a/.b",
					  "a.",
					  "a..b",
					  "a b",
					  "a~1",
					  "a^",
					  "a:b",
					  "a?b",
					  "a*b",
					  "a[b",
					  "a\\b",
					  "a@{b",
					  "a.lock",
					  "a.lock/b",
					  "/a",
					  "a/",
					  "a//b",
					  "-a",
					  "a\tb",
					  "\xff",
					  "0123456789abcdef0123456789abcdef01234567",
					  "0123456789abcdef0123456789abcdef01234567/a"};
	char name[CAIRN_INDEX_REF_NAME_MAX + 2];
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		ck_assert_msg(cairn_hub_ref_is_good(GOOD[i]), "%s", GOOD[i]);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(!cairn_hub_ref_is_good(BAD[i]), "%s", BAD[i]);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert(!cairn_hub_ref_is_good(name));
	ck_assert(cairn_hub_ref_is_good(name + 1));
}
END_TEST

static bool split(const char *raw, unsigned n, const char *revision, const char *path)
{
	static char got[CAIRN_HUB_REVISION_MAX + 1], rest[CAIRN_INDEX_PATH_MAX + 1];
	if (!cairn_hub_split_revision(raw, n, got, rest))
		return false;
	ck_assert_str_eq(got, revision);
	ck_assert_str_eq(rest, path);
	return true;
}

START_TEST(revision_and_path)
{
	char raw[3 * CAIRN_HUB_REVISION_MAX + 8];
	ck_assert(split("main", 1, "main", ""));
	ck_assert(split("main/", 1, "main", ""));
	ck_assert(split("main/a/b%20c", 1, "main", "a/b c"));
	ck_assert(split("feat%2Fx/a", 1, "feat/x", "a"));
	ck_assert(split("feat/x/a", 2, "feat/x", "a"));
	ck_assert(split("refs%2Fpr%2F1/a%2Fb", 1, "refs/pr/1", "a/b"));
	ck_assert(split("a/b", 2, "a/b", ""));
	ck_assert(!split("a/b", 3, "", ""));
	ck_assert(!split("", 1, "", ""));
	ck_assert(!split("/a", 1, "", ""));
	ck_assert(!split("a%2", 1, "", ""));
	ck_assert(!split("a/b%zz", 1, "", ""));
	ck_assert(!split("a%00/b", 1, "", ""));
	memset(raw, 'r', sizeof(raw));
	raw[CAIRN_HUB_REVISION_MAX + 1] = '\0';
	ck_assert(!split(raw, 1, "", ""));
	raw[CAIRN_HUB_REVISION_MAX] = '\0';
	ck_assert(split(raw, 1, raw, ""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hub_revision");
	TCase *tcase = tcase_create("hub_revision");
	tcase_add_test(tcase, revision_names);
	tcase_add_test(tcase, revision_names_that_git_takes);
	tcase_add_test(tcase, revision_and_path);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
