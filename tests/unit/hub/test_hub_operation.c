/* Lines of a batch of operations, and the paths in them. */
#include "hub/operation.h"
#include "hub/path.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct cairn_hub_operations all;
static struct cairn_diag diag;

static enum cairn_status read_text(const char *text)
{
	cairn_hub_operations_fini(&all);
	diag = (struct cairn_diag){0};
	return cairn_hub_operations_read(&all, text, strlen(text), &diag);
}

static void tear_down(void)
{
	cairn_hub_operations_fini(&all);
}

START_TEST(the_three_kinds)
{
	ck_assert_int_eq(read_text("{\"type\":\"addFile\",\"path\":\"a/b\",\"xetHash\":\"" HASH
				   "\",\"mtime\":1700000000123,"
				   "\"contentType\":\"text/plain\",\"other\":[1]}\n\r\n\n"
				   "{\"type\":\"copyFile\",\"path\":\"c\",\"xetHash\":\"" HASH
				   "\",\"sourceRepoType\":\"bucket\","
				   "\"sourceRepoId\":\"ann/data\",\"mtime\":null}\r\n"
				   "{\"type\":\"deleteFile\",\"path\":\"d\"}"),
			 CAIRN_OK);
	ck_assert_uint_eq(all.n, 3);
	const struct cairn_hub_operation *o = all.all;
	char text[CAIRN_HASH_TEXT_BYTES];
	ck_assert_int_eq(o[0].change.kind, CAIRN_INDEX_OBJECT_SET);
	ck_assert_str_eq(o[0].change.path, "a/b");
	cairn_hash_text(text, &o[0].change.file);
	ck_assert_str_eq(text, HASH);
	ck_assert(o[0].change.has_mtime);
	ck_assert_int_eq(o[0].change.mtime_unix_ms, 1700000000123);
	ck_assert_str_eq(o[0].change.type, "text/plain");
	ck_assert_int_eq(o[1].change.kind, CAIRN_INDEX_OBJECT_COPY);
	ck_assert_str_eq(o[1].source_id, "ann/data");
	ck_assert_int_eq(o[1].source_kind, CAIRN_INDEX_BUCKET);
	ck_assert(!o[1].change.has_mtime);
	ck_assert_str_eq(o[1].change.type, "");
	ck_assert_int_eq(o[2].change.kind, CAIRN_INDEX_OBJECT_DROP);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_null(o[i].fault);
	ck_assert_int_eq(read_text(""), CAIRN_OK);
	ck_assert_uint_eq(all.n, 0);
	ck_assert_int_eq(read_text("\n\n"), CAIRN_OK);
	ck_assert_uint_eq(all.n, 0);
}
END_TEST

START_TEST(a_value_that_is_wrong_is_the_fault_of_its_line)
{
	static const char *const LINES[] = {
		"{\"type\":\"addFile\",\"path\":\"a\"}",
		"{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":\"12\"}",
		"{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":7}",
		"{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\",\"mtime\":253402300800000}",
		"{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\",\"mtime\":-62135596800001}",
		"{\"type\":\"addFile\",\"path\":\"a/../b\",\"xetHash\":\"" HASH "\"}",
		"{\"type\":\"copyFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\"}",
		"{\"type\":\"copyFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\",\"sourceRepoType\":\"bucket\"}",
		"{\"type\":\"copyFile\",\"path\":\"a\",\"xetHash\":\"" HASH
		"\",\"sourceRepoType\":\"models\",\"sourceRepoId\":\"ann/data\"}",
		"{\"type\":\"deleteFile\",\"path\":\"/a\"}",
	};
	for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
		ck_assert_int_eq(read_text(LINES[i]), CAIRN_OK);
		ck_assert_uint_eq(all.n, 1);
		ck_assert_msg(all.all[0].fault, "%s", LINES[i]);
	}
}
END_TEST

START_TEST(a_type_that_cannot_be_a_header_was_not_said)
{
	static const char *const TYPES[] = {"plain", "text/\\u0007", "text/pl\\u00e4in", "a/\\r\\nX: y"};
	char line[512];
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\",\"contentType\":\"%s\"}",
			       TYPES[i]);
		ck_assert_int_eq(read_text(line), CAIRN_OK);
		ck_assert_str_eq(all.all[0].change.type, "");
		ck_assert_ptr_null(all.all[0].fault);
	}
}
END_TEST

START_TEST(invalid_batches_are_refused)
{
	static const char *const BAD[] = {"x",
					  "[]",
					  "7",
					  "{}",
					  "{\"type\":\"addFile\"}",
					  "{\"path\":\"a\"}",
					  "null",
					  "{\"type\":\"move\",\"path\":\"a\"}",
					  "{\"type\":7,\"path\":\"a\"}",
					  "{\"type\":\"deleteFile\",\"path\":\"\"}",
					  "{\"type\":\"deleteFile\",\"path\":[]}",
					  "{\"type\":\"deleteFile\",\"path\":\"a\\u0000b\"}"};
	char text[256];
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		(void)snprintf(text, sizeof(text), "{\"type\":\"deleteFile\",\"path\":\"a\"}\n%s\n", BAD[i]);
		ck_assert_int_eq(read_text(text), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "batch.line");
		ck_assert_ptr_nonnull(strstr(diag.text, "line 2"));
		ck_assert_uint_eq(all.n, 0);
	}
}
END_TEST

START_TEST(limits)
{
	static const char LINE[] = "{\"type\":\"deleteFile\",\"path\":\"a\"}\n";
	size_t len = sizeof(LINE) - 1, n = CAIRN_HUB_OPERATIONS_MAX + 1;
	char *text = malloc(n * len);
	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, LINE, len);
	ck_assert_int_eq(cairn_hub_operations_read(&all, text, (n - 1) * len, &diag), CAIRN_OK);
	ck_assert_uint_eq(all.n, CAIRN_HUB_OPERATIONS_MAX);
	cairn_hub_operations_fini(&all);
	ck_assert_int_eq(cairn_hub_operations_read(&all, text, n * len, &diag), CAIRN_E_LIMIT);
	free(text);
	char path[CAIRN_INDEX_PATH_MAX + 2], line[CAIRN_INDEX_PATH_MAX + 64];
	memset(path, 'p', sizeof(path));
	path[CAIRN_INDEX_PATH_MAX + 1] = '\0';
	(void)snprintf(line, sizeof(line), "{\"type\":\"deleteFile\",\"path\":\"%s\"}", path);
	ck_assert_int_eq(read_text(line), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "batch.path");
	(void)snprintf(line, sizeof(line), "{\"type\":\"deleteFile\",\"path\":\"%s\"}", path + 1);
	ck_assert_int_eq(read_text(line), CAIRN_OK);
	ck_assert_ptr_null(all.all[0].fault);
}
END_TEST

START_TEST(cut_anywhere)
{
	static const char TEXT[] = "{\"type\":\"addFile\",\"path\":\"a\",\"xetHash\":\"" HASH "\",\"mtime\":1}\n"
				   "{\"type\":\"deleteFile\",\"path\":\"d\"}\n";
	for (size_t len = 0; len < sizeof(TEXT); len++) {
		char *copy = malloc(len + 1);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, TEXT, len);
		enum cairn_status status = cairn_hub_operations_read(&all, copy, len, &diag);
		ck_assert(status == CAIRN_OK || status == CAIRN_E_FORMAT);
		cairn_hub_operations_fini(&all);
		free(copy);
	}
}
END_TEST

START_TEST(paths)
{
	static const char *const GOOD[] = {"a",       "a/b", "...",      "..a",  "a..",
					   ".hidden", " ",   "\xc3\xbc", "a\\b", "folder/..\\..\\file"};
	static const char *const BAD[] = {"",     "/",    "/a",    "a/",   "a//b", ".",    "..",   "a/.",
					  "a/..", "../a", "..\\a", "a\nb", "\x7f", "\xff", "\xc3", "a/\x01"};
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		ck_assert_msg(!cairn_hub_path_fault(GOOD[i]), "%s", GOOD[i]);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(cairn_hub_path_fault(BAD[i]), "%s", BAD[i]);
}
END_TEST

/* A new path must also be valid on Windows. An existing path may have any of these names. */
START_TEST(new_paths)
{
	static const char *const GOOD[] = {"a",    "a\\b", "10:00", "a/10:00:00.json",   "...",
					   "x..y", "a\\",  "CON",   "\xc3\xbc\xc3\xbc:", ":x"};
	static const char *const BAD[] = {
		"C:\\x", "C:/x",  "D:x",        "\\\\host\\x", "\\x",     "a\\..\\..\\x", "a:b",     "d/C:\\x",
		"d/c:x", "d/\\x", "d/\\\\h\\x", "a\\..",       "a/b\\..", "\xc3\xbc:x",   "a/..\\x", "a\\../x"};
	char name[258];
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		ck_assert_msg(!cairn_hub_new_path_fault(GOOD[i]), "%s", GOOD[i]);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		ck_assert_msg(cairn_hub_new_path_fault(BAD[i]), "%s", BAD[i]);
		ck_assert_msg(cairn_hub_file_fault(BAD[i]), "%s", BAD[i]);
		ck_assert_msg(!cairn_hub_path_fault(BAD[i]), "%s", BAD[i]);
	}
	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	ck_assert(!cairn_hub_new_path_fault(name));
	name[255] = 'x';
	name[256] = '\0';
	ck_assert(cairn_hub_new_path_fault(name) && !cairn_hub_path_fault(name));
	memcpy(name, "a/", 2);
	ck_assert(!cairn_hub_new_path_fault(name));
}
END_TEST

/* Paths that git refuses on every system, because files may be checked out anywhere. */
START_TEST(files_of_repositories)
{
	static const char *const GOOD[] = {"a",     ".gitattributes", ".github/x", "x.git/y",       "git",
					   ".gi/t", "a/.gitx",        "git~2",     "git~10",        ".git-/x",
					   "a.git", "..git",          ".g/it",     "g\xe2\x80\x8b", ".git\xe2\x80\x8b"};
	static const char *const BAD[] = {".git",
					  ".git/config",
					  ".GIT/config",
					  "sub/.giT/x",
					  "a/.git",
					  "git~1/x",
					  "a/GIT~1",
					  ".git./x",
					  ".git .. /x",
					  ".git::$INDEX_ALLOCATION/x",
					  "a\\.git\\config",
					  ".git\\config",
					  ".g\xe2\x80\x8cit/config",
					  "\xef\xbb\xbf.git",
					  ".git\xe2\x80\x8e\xe2\x81\xaf/x",
					  "a/git\xe2\x80\xaa~1",
					  "",
					  "../a"};
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		ck_assert_msg(!cairn_hub_file_fault(GOOD[i]), "%s", GOOD[i]);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(cairn_hub_file_fault(BAD[i]), "%s", BAD[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hub_operation");
	TCase *t = tcase_create("operation");
	tcase_add_checked_fixture(t, NULL, tear_down);
	tcase_add_test(t, the_three_kinds);
	tcase_add_test(t, a_value_that_is_wrong_is_the_fault_of_its_line);
	tcase_add_test(t, a_type_that_cannot_be_a_header_was_not_said);
	tcase_add_test(t, invalid_batches_are_refused);
	tcase_add_test(t, limits);
	tcase_add_test(t, cut_anywhere);
	tcase_add_test(t, paths);
	tcase_add_test(t, new_paths);
	tcase_add_test(t, files_of_repositories);
	suite_add_tcase(s, t);
	return run_suite(s);
}
