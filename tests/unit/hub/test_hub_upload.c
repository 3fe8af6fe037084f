/* Rules of .gitattributes and .gitignore, how a file is uploaded, and faults of a README.md. */
#include "hub/card.h"
#include "hub/upload.h"

#include "index/hub/history.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cairn_hub_patterns patterns(const char *text)
{
	return (struct cairn_hub_patterns){.text = text, .len = strlen(text), .steps_left = CAIRN_HUB_PATTERN_STEPS};
}

static bool lfs(const char *text, const char *path)
{
	struct cairn_hub_patterns p = patterns(text);
	return cairn_hub_pattern_is_lfs(&p, path);
}

static bool ignored(const char *text, const char *path)
{
	struct cairn_hub_patterns p = patterns(text);
	return cairn_hub_pattern_is_ignored(&p, path);
}

START_TEST(attributes_name_files_for_lfs)
{
	static const char TEXT[] = "# *.txt filter=lfs\n"
				   "*.bin filter=lfs diff=lfs merge=lfs -text\r\n"
				   "  saved_model/**/* filter=lfs\n"
				   "*tfevents* filter=lfs\n"
				   "\"with space.x\" filter=lfs\n"
				   "/top.y filter=lfs\n"
				   "small.bin -filter\n"
				   "other.bin filter=other\n"
				   "!no.z filter=lfs\n"
				   "folder/ filter=lfs\n"
				   "*.zip diff=lfs";
	ck_assert(lfs(TEXT, "a.bin") && lfs(TEXT, "x/y/a.bin"));
	ck_assert(!lfs(TEXT, "a.binx") && !lfs(TEXT, "a.txt") && !lfs(TEXT, "a.zip") && !lfs(TEXT, ""));
	ck_assert(lfs(TEXT, "saved_model/a") && lfs(TEXT, "saved_model/a/b/c") && !lfs(TEXT, "x/saved_model/a"));
	ck_assert(lfs(TEXT, "run/events.out.tfevents.1"));
	ck_assert(lfs(TEXT, "with space.x") && lfs(TEXT, "top.y") && !lfs(TEXT, "x/top.y"));
	ck_assert(!lfs(TEXT, "small.bin") && !lfs(TEXT, "x/other.bin"));
	ck_assert(!lfs(TEXT, "no.z") && !lfs(TEXT, "!no.z") && !lfs(TEXT, "folder/a"));
	ck_assert(lfs("* !filter\n* filter=lfs", "a") && !lfs("* filter=lfs\n* !filter", "a") && !lfs("* filter", "a"));
}
END_TEST

START_TEST(ignore_leaves_files_and_folders_out)
{
	static const char TEXT[] = "# a comment\n\n"
				   "*.log  \n"
				   "!keep.log\n"
				   "build/\n"
				   "/only-top\n"
				   "doc/*.txt\n"
				   "**/cache\n"
				   "a/**/z\n"
				   "\\#literal\n"
				   "trailing\\ \n"
				   "all/**\n";
	ck_assert(ignored(TEXT, "x.log") && ignored(TEXT, "d/x.log") && !ignored(TEXT, "keep.log"));
	ck_assert(!ignored(TEXT, "d/keep.log"));
	ck_assert(ignored(TEXT, "build/x") && ignored(TEXT, "d/build/x/y") && !ignored(TEXT, "build"));
	ck_assert(ignored(TEXT, "build/keep.log")); /* a file in an ignored folder cannot be included again */
	ck_assert(ignored(TEXT, "only-top") && !ignored(TEXT, "d/only-top"));
	ck_assert(ignored(TEXT, "doc/a.txt") && !ignored(TEXT, "doc/d/a.txt") && !ignored(TEXT, "d/doc/a.txt"));
	ck_assert(ignored(TEXT, "cache") && ignored(TEXT, "x/cache") && ignored(TEXT, "x/cache/f"));
	ck_assert(ignored(TEXT, "a/z") && ignored(TEXT, "a/b/z") && ignored(TEXT, "a/b/c/z") &&
		  !ignored(TEXT, "b/a/z"));
	ck_assert(ignored(TEXT, "#literal") && !ignored(TEXT, "# a comment"));
	ck_assert(ignored(TEXT, "trailing ") && !ignored(TEXT, "trailing"));
	ck_assert(ignored(TEXT, "all/x") && !ignored(TEXT, "all"));
	ck_assert(!ignored("", "a") && !ignored("!", "a") && !ignored("/", "a") && !ignored("\n\r\n", "a"));
}
END_TEST

START_TEST(wild_cards)
{
	ck_assert(ignored("a?c", "abc") && !ignored("a?c", "ac") && !ignored("a?c", "a/c") && !ignored("/a?c", "a/c"));
	ck_assert(ignored("[a-c]x", "bx") && !ignored("[a-c]x", "dx") && ignored("[!a-c]x", "dx") &&
		  ignored("[]]", "]"));
	ck_assert(ignored("[^a]", "b") && ignored("[a\\]]", "]") && ignored("[a-", "[a-") && !ignored("[a-", "a"));
	ck_assert(ignored("\\*", "*") && !ignored("\\*", "x") && ignored("a\\", "a\\"));
	ck_assert(ignored("*a*b*c", "xxaxxbxxc") && !ignored("*a*b*c", "xxaxxbxx") && ignored("***", "x"));
	ck_assert(ignored("a/**/b/**/c", "a/b/c") && ignored("a/**/b/**/c", "a/x/b/y/z/c"));
	ck_assert(!ignored("a/**/b/**/c", "a/x/y/c") && !ignored("/**/b/c", "b/x/c") && ignored("/**/b/c", "x/b/c"));
	ck_assert(ignored("x**y", "xy") && ignored("x**y", "xaay") && !ignored("/x**y", "x/y"));
}
END_TEST

/* Returns a text that repeats `what` n times. */
static char *repeat(const char *what, size_t n)
{
	size_t len = strlen(what);
	char *text = malloc(n * len + 1);
	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, what, len);
	text[n * len] = '\0';
	return text;
}

static uint64_t steps_of(const char *text, const char *path)
{
	struct cairn_hub_patterns p = patterns(text);
	(void)cairn_hub_pattern_is_ignored(&p, path);
	return CAIRN_HUB_PATTERN_STEPS - p.steps_left;
}

/* Lines that match nothing, long lines, folders and classes all use up steps. */
START_TEST(all_that_is_read_costs_steps)
{
	char *lines = repeat("\n", 1000), *comment = repeat("#", 8000), *class = repeat("b", 1000);
	char *folders = repeat("a/", 100), *stars = repeat("**/", 100), text[1200];
	ck_assert_uint_ge(steps_of(lines, "a"), 1000);
	ck_assert_uint_ge(steps_of(lines, "a/b/c"), 3000);
	ck_assert_uint_ge(steps_of(comment, "a"), 1000);
	(void)snprintf(text, sizeof(text), "*[%s]x", class);
	ck_assert_uint_ge(steps_of(text, "aaaa"), 4000);
	(void)snprintf(text, sizeof(text), "*[%s", class);
	ck_assert_uint_ge(steps_of(text, "aaaa"), 4000);
	(void)snprintf(text, sizeof(text), "%sx", stars);
	ck_assert_uint_ge(steps_of(text, "a"), 100);
	struct cairn_hub_patterns spent = {.text = "*", .len = 1};
	ck_assert(!cairn_hub_pattern_is_ignored(&spent, folders) && !cairn_hub_pattern_is_lfs(&spent, folders));
	free(lines);
	free(comment);
	free(class);
	free(folders);
	free(stars);
}
END_TEST

/* A match that needs more steps than the limit ends at the limit, however long it would take. */
START_TEST(steps_are_bounded)
{
	static const char LINE[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab\n";
	char path[1001], text[40 * sizeof(LINE)];
	memset(path, 'a', 1000);
	path[1000] = '\0';
	for (size_t i = 0; i < 40; i++)
		memcpy(text + i * (sizeof(LINE) - 1), LINE, sizeof(LINE));
	struct cairn_hub_patterns p = {.text = text, .len = strlen(text), .steps_left = 5000};
	ck_assert(!cairn_hub_pattern_is_ignored(&p, path));
	ck_assert_uint_eq(p.steps_left, 0);
	ck_assert(!cairn_hub_pattern_is_lfs(&p, path));
}
END_TEST

static bool is_inline(const char *path, uint64_t size, const char *sample)
{
	struct cairn_hub_patterns p = patterns("*.bin filter=lfs\n");
	return cairn_hub_upload_is_inline(
		&(struct cairn_hub_upload){.path = path, .size_bytes = size, .sample = sample}, &p);
}

START_TEST(small_text_comes_with_the_commit)
{
	ck_assert(is_inline("a.txt", 5, "aGVsbG8="));
	ck_assert(is_inline("a.txt", CAIRN_INDEX_INLINE_MAX, "aGVsbG8="));
	ck_assert(!is_inline("a.txt", CAIRN_INDEX_INLINE_MAX + 1, "aGVsbG8="));
	ck_assert(!is_inline("a.bin", 5, "aGVsbG8=") && is_inline("a.bin", 0, "") && is_inline("x", 0, NULL));
	ck_assert(!is_inline("x", 5, NULL) && !is_inline("x", 5, "!!!!"));
	ck_assert(!is_inline("x", 5, "aGUAbG8="));   /* contains a zero byte */
	ck_assert(is_inline("x", 6, "w7/Dvw=="));    /* UTF-8, with "/" in base64 */
	ck_assert(is_inline("x", 600, "YWHDvMM="));  /* cut within a character */
	ck_assert(!is_inline("x", 600, "YWH/YWE=")); /* not UTF-8 */
	ck_assert(!is_inline("x", 600, "YWGAgIA=")); /* this does not start a character, either */
	char sample[2049];
	for (int i = 0; i < 2048; i += 4)
		memcpy(sample + i, "YWFh", 4);
	sample[2048] = '\0';
	ck_assert(is_inline("x", 1536, sample)); /* only the start of the sample is checked */
}
END_TEST

static const char *error_of(const char *text)
{
	struct cairn_hub_card card;
	cairn_hub_card_judge(&card, text);
	return card.error;
}

static bool is_warned(const char *text)
{
	struct cairn_hub_card card;
	cairn_hub_card_judge(&card, text);
	ck_assert_ptr_null(card.error);
	return card.warning != NULL;
}

START_TEST(a_readme_is_judged)
{
	ck_assert(is_warned("") && is_warned("# Title\n") && is_warned("---\n---\n") &&
		  is_warned("---\n# only\n\n---\nx"));
	ck_assert(!is_warned("---\nlicense: mit\n---\n") &&
		  !is_warned("---\r\nlicense: 'apache-2.0' # yes\r\n---\r\n"));
	ck_assert(!is_warned("---\nlicense:\n- mit\n  - \"gpl-3.0\"\nx: y\n---") &&
		  !is_warned("---\nlicense: [mit, other]\n---"));
	ck_assert(!is_warned("---\nmodel-index:\n- name: x\n---") && !is_warned("---\nmodel-index: []\n---"));
	ck_assert(!is_warned("---\nmodel-index:\n  - name: x\n---") &&
		  !is_warned("---\ntags: [x]\n---\nlicense: asdf\n"));
	ck_assert_ptr_nonnull(strstr(error_of("---\nlicense: asdf\n---\n"), "\"license\" must be one of"));
	ck_assert_ptr_nonnull(error_of("---\nlicense: [mit, asdf]\n---\n"));
	ck_assert_ptr_nonnull(error_of("---\nlicense:\n- mit\n- asdf\n---\n"));
	ck_assert_ptr_nonnull(strstr(error_of("---\nmodel-index: foo\n---"), "\"model-index\" must be an array"));
	ck_assert_ptr_nonnull(error_of("---\nmodel-index:\n  name: x\n---"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hub_upload");
	TCase *tc = tcase_create("core");
	tcase_add_test(tc, attributes_name_files_for_lfs);
	tcase_add_test(tc, ignore_leaves_files_and_folders_out);
	tcase_add_test(tc, wild_cards);
	tcase_add_test(tc, steps_are_bounded);
	tcase_add_test(tc, all_that_is_read_costs_steps);
	tcase_add_test(tc, small_text_comes_with_the_commit);
	tcase_add_test(tc, a_readme_is_judged);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
