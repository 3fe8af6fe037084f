/* Files are cut and hashed as the reference client does, wherever they lie in the window. */
#include "cli/common/options.h"
#include "cli/common/scan.h"
#include "support/cut_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(files_of_the_reference_client)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "file");
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	size_t n_done = 0;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *f = json_array_get(files, i);
		if (vec_u64(f, "size") > 10 * 1000 * 1000)
			continue; /* the chunker's test covers this file */
		CLEANUP(vec_bytes_fini) struct vec_bytes bytes = vec_make(vec_get(f, "spec"));
		tempdir_write(&dir, "file", bytes.bytes, bytes.len);
		CLEANUP(cut_seen_fini) struct cut_seen seen = cut_seen_new(f);
		struct cairn_cutter_file result;
		ck_assert_int_eq(scan_file(path, cut_see_chunk, &seen, &result, NULL), CAIRN_OK);
		cut_file_is(f, &seen, &result);
		n_done++;
	}
	ck_assert_uint_gt(n_done, 15);
}
END_TEST

START_TEST(a_visitor_can_end_it)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "file");
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	const json_t *f = vec_find(files, "name", "mixed");
	CLEANUP(vec_bytes_fini) struct vec_bytes bytes = vec_make(vec_get(f, "spec"));
	CLEANUP(cut_seen_fini) struct cut_seen seen = cut_seen_new(f);
	struct cairn_cutter_file result;
	tempdir_write(&dir, "file", bytes.bytes, bytes.len);
	seen.answer_at_2 = CAIRN_E_BUSY;
	ck_assert_int_eq(scan_file(path, cut_see_chunk, &seen, &result, NULL), CAIRN_E_BUSY);
	ck_assert_uint_eq(seen.n, 2);
}
END_TEST

START_TEST(unreadable_paths_are_refused)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	struct cairn_cutter_file result;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(scan_file("/nowhere/file", NULL, NULL, &result, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(diag.text, "No such file"));
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(scan_file(dir.path, NULL, NULL, &result, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(diag.text, "folder"));
}
END_TEST

START_TEST(times_with_units)
{
	static const struct {
		const char *text;
		int64_t s; /* expected seconds; 0: refused */
	} cases[] = {{"1", 1},      {"90s", 90},      {"15m", 900},
		     {"1h", 3600},  {"30d", 2592000}, {"36600d", INT64_C(3162240000)},
		     {"36601d", 0}, {"0", 0},         {"-1h", 0},
		     {"", 0},       {"h", 0},         {"1hh", 0},
		     {"1w", 0},     {"1 h", 0},       {"99999999999999999999", 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t s = 0;
		bool ok = cli_parse_seconds(cases[i].text, &s);
		ck_assert_msg(ok == (cases[i].s != 0) && (!ok || s == cases[i].s), "%s", cases[i].text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_scan");
	TCase *tc = tcase_create("cli_scan");
	tcase_add_test(tc, files_of_the_reference_client);
	tcase_add_test(tc, a_visitor_can_end_it);
	tcase_add_test(tc, unreadable_paths_are_refused);
	tcase_add_test(tc, times_with_units);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
