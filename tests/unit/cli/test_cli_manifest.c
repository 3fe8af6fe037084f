/* Manifests are written and read back. A manifest from a stranger may not contain everything. */
#include "cli/common/manifest.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define H "1111111111111111111111111111111111111111111111111111111111111111"

static enum cairn_status add(struct manifest *m, const char *path, unsigned mode)
{
	char copy[64];
	(void)snprintf(copy, sizeof(copy), "%s", path);
	const struct manifest_file file = {
		.path = copy, .hash = {{1, 2, 3}}, .size_bytes = 1 + strlen(path), .sha256 = {9}, .mode = mode};
	return manifest_add(m, &file, NULL);
}

START_TEST(written_and_read_back)
{
	CLEANUP(manifest_fini) struct manifest m = {0}, back = {0};
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(MANIFEST_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf again = cairn_buf_init(MANIFEST_BYTES_MAX);
	static const char *const paths[] = {"z", "a/b", "a", "a.txt", "\xc3\xa4 \"x\"\n\x01"};
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(add(&m, paths[i], 0640 + (unsigned)i), CAIRN_OK);
	manifest_sort(&m);
	ck_assert_str_eq(m.files[0].path, "a");
	ck_assert_str_eq(m.files[1].path, "a.txt"); /* sorted as bytes: "." comes before "/" */
	ck_assert_str_eq(m.files[2].path, "a/b");
	manifest_write(&text, &m);
	ck_assert_int_eq(text.status, CAIRN_OK);
	ck_assert_int_eq(manifest_read(&back, text.bytes, text.len, NULL), CAIRN_OK);
	ck_assert_uint_eq(back.n, 5);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_str_eq(back.files[i].path, m.files[i].path);
		ck_assert(cairn_hash_equal(&back.files[i].hash, &m.files[i].hash));
		ck_assert_mem_eq(back.files[i].sha256, m.files[i].sha256, sizeof(m.files[i].sha256));
		ck_assert_uint_eq(back.files[i].size_bytes, m.files[i].size_bytes);
		ck_assert_uint_eq(back.files[i].mode, m.files[i].mode);
	}
	manifest_write(&again, &back);
	ck_assert_uint_eq(again.len, text.len);
	ck_assert_mem_eq(again.bytes, text.bytes, text.len);
	manifest_fini(&back);
}
END_TEST

static const struct {
	const char *path;
	bool safe, writable;
} PATHS[] = {
	{"a", true, true},
	{"a/b/c", true, true},
	{"...", true, true},
	{".a", true, true},
	/* one name; several where backslashes separate */
	{"a..", true, true},
	{"a\\..\\b", true, true},
	{"\xc3\xa4", true, true},
	{"\xe4", true, false},
	{"\xed\xa0\x80", true, false},
	{"", false, false},
	{"/", false, false},
	{"/a", false, false},
	{"a/", false, false},
	{"a//b", false, false},
	{".", false, false},
	{"..", false, false},
	{"../a", false, false},
	{"a/..", false, false},
	{"a/../b", false, false},
	{"./a", false, false},
	{"a/.", false, false},
};

START_TEST(paths)
{
	ck_assert_msg(manifest_path_is_safe(PATHS[_i].path) == PATHS[_i].safe, "safe: %s", PATHS[_i].path);
	ck_assert_msg(manifest_path_is_writable(PATHS[_i].path) == PATHS[_i].writable, "writable: %s", PATHS[_i].path);
}
END_TEST

START_TEST(long_paths)
{
	char path[MANIFEST_PATH_BYTES_MAX + 2] = {0};
	memset(path, 'n', MANIFEST_NAME_BYTES_MAX);
	ck_assert(manifest_path_is_safe(path));
	path[MANIFEST_NAME_BYTES_MAX] = 'n';
	ck_assert(!manifest_path_is_safe(path));
	for (size_t i = 0; i < MANIFEST_PATH_BYTES_MAX; i++)
		path[i] = i % 2 ? '/' : 'n';
	path[MANIFEST_PATH_BYTES_MAX - 1] = 'n';
	ck_assert(manifest_path_is_writable(path));
	path[MANIFEST_PATH_BYTES_MAX] = 'n';
	ck_assert(!manifest_path_is_safe(path));
}
END_TEST

#define FILE_OF(path, hash, size, sha256, mode)                                                                        \
	"{\"path\":" path ",\"hash\":" hash ",\"size\":" size ",\"sha256\":" sha256 ",\"mode\":" mode "}"
#define GOOD(path)      FILE_OF("\"" path "\"", "\"" H "\"", "1", "\"" H "\"", "\"0644\"")
#define MANIFEST(files) "{\"version\":1,\"files\":[" files "]}"

static const struct {
	const char *json, *rule;
} CASES[] = {
	{MANIFEST(""), NULL},
	{MANIFEST(GOOD("a") "," GOOD("b")), NULL},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "0", "\"" H "\"", "\"0777\"")), NULL},
	{"", "manifest.json"},
	{"[]", "manifest.json"},
	{"{\"version\":1}", "manifest.json"},
	{"{\"version\":1,\"files\":{}}", "manifest.json"},
	{"{\"version\":1,\"version\":1,\"files\":[]}", "manifest.json"},
	{"{\"version\":2,\"files\":[]}", "manifest.version"},
	{MANIFEST("7"), "manifest.path"},
	{MANIFEST(GOOD("../a")), "manifest.path"},
	{MANIFEST(FILE_OF("7", "\"" H "\"", "1", "\"" H "\"", "\"0644\"")), "manifest.path"},
	{MANIFEST(GOOD("b") "," GOOD("a")), "manifest.order"},
	{MANIFEST(GOOD("a") "," GOOD("a")), "manifest.order"},
	{MANIFEST(FILE_OF("\"a\"", "\"1\"", "1", "\"" H "\"", "\"0644\"")), "manifest.hash"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "1", "null", "\"0644\"")), "manifest.hash"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "-1", "\"" H "\"", "\"0644\"")), "manifest.size"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "\"1\"", "\"" H "\"", "\"0644\"")), "manifest.size"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "1", "\"" H "\"", "\"1777\"")), "manifest.mode"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "1", "\"" H "\"", "\"00644\"")), "manifest.mode"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "1", "\"" H "\"", "\"648\"")), "manifest.mode"},
	{MANIFEST(FILE_OF("\"a\"", "\"" H "\"", "1", "\"" H "\"", "420")), "manifest.mode"},
};

START_TEST(valid_and_invalid_manifests)
{
	struct manifest m;
	struct cairn_diag diag = {0};
	const char *json = CASES[_i].json;
	enum cairn_status status = manifest_read(&m, (const uint8_t *)json, strlen(json), &diag);
	ck_assert_msg(status == (CASES[_i].rule ? CAIRN_E_FORMAT : CAIRN_OK), "%s", json);
	if (CASES[_i].rule)
		ck_assert_str_eq(diag.rule, CASES[_i].rule);
	manifest_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_manifest");
	TCase *t = tcase_create("manifests");
	tcase_add_test(t, written_and_read_back);
	tcase_add_loop_test(t, paths, 0, sizeof(PATHS) / sizeof(PATHS[0]));
	tcase_add_test(t, long_paths);
	tcase_add_loop_test(t, valid_and_invalid_manifests, 0, sizeof(CASES) / sizeof(CASES[0]));
	suite_add_tcase(s, t);
	return run_suite(s);
}
