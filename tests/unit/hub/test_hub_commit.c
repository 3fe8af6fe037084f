#include "hub/commit.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                                         \
	"{\"key\":\"header\",\"value\":{\"summary\":\"Add\",\"description\":\"more\",\"parentCommit\":\"abcd\"}}\n"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static struct cairn_hub_commit commit;
static struct cairn_diag diag;

static enum cairn_status read_text(const char *text)
{
	cairn_hub_commit_fini(&commit);
	diag = (struct cairn_diag){0};
	return cairn_hub_commit_read(&commit, text, strlen(text), &diag);
}

static void refused(const char *text, enum cairn_status status, const char *rule)
{
	ck_assert_int_eq(read_text(text), status);
	ck_assert_str_eq(diag.rule, rule);
	ck_assert_uint_eq(commit.n, 0);
	ck_assert_ptr_null(commit.operations);
}

START_TEST(commit_of_each_kind)
{
	struct cairn_git_oid oid;
	ck_assert_int_eq(
		read_text(HEADER
			  "\n{\"key\":\"file\",\"value\":{\"path\":\"a\",\"content\":\"aGVsbG8K\","
			  "\"encoding\":\"base64\",\"new\":1}}\r\n"
			  "{\"key\":\"file\",\"value\":{\"path\":\"b/c\",\"content\":\"a=b\",\"encoding\":\"utf-8\"}}\n"
			  "{\"key\":\"file\",\"value\":{\"path\":\"e\",\"content\":\"\"}}\n"
			  "{\"key\":\"lfsFile\",\"value\":{\"path\":\"d\",\"algo\":\"sha256\",\"oid\":\"" ZEROS
			  "\",\"size\":4}}\n"
			  "{\"key\":\"deletedFile\",\"value\":{\"path\":\"x\"}}\n"
			  "{\"key\":\"deletedFolder\",\"value\":{\"path\":\"y/z/\"}}"),
		CAIRN_OK);
	ck_assert_str_eq(commit.title, "Add");
	ck_assert_str_eq(commit.message, "more");
	ck_assert_str_eq(commit.parent, "abcd");
	ck_assert_uint_eq(commit.n, 6);
	const struct cairn_index_operation *o = commit.operations;
	ck_assert_int_eq(o[0].kind, CAIRN_INDEX_PUT_INLINE);
	ck_assert_str_eq(o[0].path, "a");
	ck_assert_uint_eq(o[0].len, 6);
	ck_assert_mem_eq(o[0].bytes, "hello\n", 6);
	ck_assert(cairn_git_oid_parse("ce013625030ba8dba906f756967f9e9ca394464a", &oid));
	ck_assert(cairn_git_oid_equal(&o[0].oid, &oid));
	ck_assert_mem_eq(o[1].bytes, "a=b", 3);
	ck_assert_uint_eq(o[2].len, 0);
	ck_assert_int_eq(o[3].kind, CAIRN_INDEX_PUT_FILE);
	ck_assert_int_eq(o[4].kind, CAIRN_INDEX_DELETE);
	ck_assert_int_eq(o[5].kind, CAIRN_INDEX_DELETE_FOLDER);
	ck_assert_str_eq(o[5].path, "y/z");
	cairn_hub_commit_fini(&commit);
	ck_assert_int_eq(read_text("{\"key\":\"header\",\"value\":{\"summary\":\"Add\"}}"), CAIRN_OK);
	ck_assert_str_eq(commit.message, "");
	ck_assert_ptr_null(commit.parent);
	cairn_hub_commit_fini(&commit);
}
END_TEST

START_TEST(commit_of_a_pointer_is_one_of_its_file)
{
	char text[1024], pointer[CAIRN_LFS_POINTER_BYTES_MAX], escaped[512] = "";
	uint8_t sha256[32];
	memset(sha256, 0xa5, sizeof(sha256));
	(void)cairn_lfs_pointer(pointer, sha256, 77);
	for (const char *p = pointer; *p; p++) {
		size_t at = strlen(escaped);
		(void)snprintf(escaped + at, sizeof(escaped) - at, *p == '\n' ? "\\n" : "%c", *p);
	}
	(void)snprintf(text, sizeof(text),
		       HEADER "{\"key\":\"file\",\"value\":{\"path\":\"p\",\"content\":\"%s\",\"encoding\":\"utf-8\"}}",
		       escaped);
	ck_assert_int_eq(read_text(text), CAIRN_OK);
	ck_assert_int_eq(commit.operations[0].kind, CAIRN_INDEX_PUT_FILE);
	ck_assert_mem_eq(commit.operations[0].sha256, sha256, 32);
	cairn_hub_commit_fini(&commit);
}
END_TEST

START_TEST(commit_refused)
{
	refused("", CAIRN_E_FORMAT, "commit.header");
	refused("{}", CAIRN_E_FORMAT, "commit.line");
	refused(HEADER "nothing", CAIRN_E_FORMAT, "commit.line");
	refused(HEADER HEADER, CAIRN_E_FORMAT, "commit.header");
	refused("{\"key\":\"header\",\"value\":{\"summary\":\"\"}}", CAIRN_E_FORMAT, "commit.header");
	refused("{\"key\":\"deletedFile\",\"value\":{\"path\":\"x\"}}\n" HEADER, CAIRN_E_FORMAT, "commit.header");
	refused("{\"key\":\"header\",\"value\":{\"summary\":\"a\",\"commitId\":\"abcd\"}}", CAIRN_E_FORMAT,
		"commit.id_text");
	refused(HEADER "{\"key\":\"renamed\",\"value\":{\"path\":\"x\"}}", CAIRN_E_FORMAT, "commit.line");
	refused(HEADER "{\"key\":\"file\",\"value\":{\"content\":\"\"}}", CAIRN_E_FORMAT, "commit.line");
	refused(HEADER "{\"key\":\"deletedFile\",\"value\":{\"path\":\"a/../b\"}}", CAIRN_E_FORMAT, "commit.name");
	refused(HEADER "{\"key\":\"deletedFile\",\"value\":{\"path\":\"a//\"}}", CAIRN_E_FORMAT, "commit.name");
	refused(HEADER "{\"key\":\"file\",\"value\":{\"path\":\"a/\",\"content\":\"\"}}", CAIRN_E_FORMAT,
		"commit.name");
	refused(HEADER "{\"key\":\"file\",\"value\":{\"path\":\"a\"}}", CAIRN_E_FORMAT, "commit.content");
	refused(HEADER "{\"key\":\"file\",\"value\":{\"path\":\"a\",\"content\":\"a!\"}}", CAIRN_E_FORMAT,
		"commit.content");
	refused(HEADER "{\"key\":\"file\",\"value\":{\"path\":\"a\",\"content\":\"\",\"encoding\":\"rot13\"}}",
		CAIRN_E_FORMAT, "commit.content");
	refused(HEADER "{\"key\":\"lfsFile\",\"value\":{\"path\":\"a\",\"oid\":\"00\"}}", CAIRN_E_FORMAT,
		"commit.sha256_text");
	refused(HEADER "{\"key\":\"lfsFile\",\"value\":{\"path\":\"a\",\"algo\":\"md5\",\"oid\":\"" ZEROS "\"}}",
		CAIRN_E_FORMAT, "commit.sha256_text");
}
END_TEST

/* Reads a commit with a file of n bytes, in base64 or plain. */
static enum cairn_status read_file(size_t n, bool plain)
{
	static char text[2 * CAIRN_INDEX_INLINE_MAX];
	int at = snprintf(text, sizeof(text),
			  HEADER "{\"key\":\"file\",\"value\":{\"path\":\"a\",\"encoding\":\"%s\","
				 "\"content\":\"",
			  plain ? "utf-8" : "base64");
	size_t chars = plain ? n : (n + 2) / 3 * 4, padding = plain ? 0 : (3 - n % 3) % 3;
	memset(text + at, 'A', chars);
	memset(text + at + chars - padding, '=', padding);
	(void)snprintf(text + at + chars, sizeof(text) - (size_t)at - chars, "\"}}");
	return read_text(text);
}

START_TEST(commit_of_the_longest_file)
{
	for (int plain = 0; plain < 2; plain++) {
		ck_assert_int_eq(read_file(CAIRN_INDEX_INLINE_MAX, plain), CAIRN_OK);
		ck_assert_uint_eq(commit.operations[0].len, CAIRN_INDEX_INLINE_MAX);
		ck_assert_int_eq(read_file(CAIRN_INDEX_INLINE_MAX + 1, plain), CAIRN_E_LIMIT);
		ck_assert_str_eq(diag.rule, "commit.inline");
		ck_assert_int_eq(read_file(CAIRN_INDEX_INLINE_MAX + 100, plain), CAIRN_E_LIMIT);
	}
	for (size_t n = 1; n < 8; n++) {
		ck_assert_int_eq(read_file(n, false), CAIRN_OK);
		ck_assert_uint_eq(commit.operations[0].len, n);
	}
	cairn_hub_commit_fini(&commit);
}
END_TEST

START_TEST(commit_of_the_most_operations)
{
	static const char LINE[] = "{\"key\":\"deletedFile\",\"value\":{\"path\":\"x\"}}\n";
	const size_t len = sizeof(LINE) - 1, header_len = sizeof(HEADER) - 1;
	char *text = malloc(header_len + (CAIRN_INDEX_OPERATIONS_MAX + 1) * len + 1);
	ck_assert_ptr_nonnull(text);
	memcpy(text, HEADER, header_len);
	for (size_t i = 0; i <= CAIRN_INDEX_OPERATIONS_MAX; i++)
		memcpy(text + header_len + i * len, LINE, len + 1);
	refused(text, CAIRN_E_LIMIT, "commit.lines");
	text[header_len + CAIRN_INDEX_OPERATIONS_MAX * len] = '\0';
	ck_assert_int_eq(read_text(text), CAIRN_OK);
	ck_assert_uint_eq(commit.n, CAIRN_INDEX_OPERATIONS_MAX);
	cairn_hub_commit_fini(&commit);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hub_commit");
	TCase *tcase = tcase_create("hub_commit");
	tcase_add_test(tcase, commit_of_each_kind);
	tcase_add_test(tcase, commit_of_a_pointer_is_one_of_its_file);
	tcase_add_test(tcase, commit_refused);
	tcase_add_test(tcase, commit_of_the_longest_file);
	tcase_add_test(tcase, commit_of_the_most_operations);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
