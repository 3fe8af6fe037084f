/* Files cut and hashed as the reference client does it, whatever their place in the window. */
#include "cli/common/options.h"
#include "cli/common/scan.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	size_t n;
	struct cairn_hash *hashes;
	uint64_t *lengths;
	size_t n_want;
	enum cairn_status answer_at_2;
};

static enum cairn_status see_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				   struct cairn_diag *diag)
{
	struct seen *seen = ctx;
	struct cairn_hash again;
	(void)diag;
	ck_assert_uint_lt(seen->n, seen->n_want);
	ck_assert(cairn_hash_equal(hash, &seen->hashes[seen->n]));
	ck_assert_uint_eq(len, seen->lengths[seen->n]);
	cairn_hash_chunk(&again, raw, len);
	ck_assert(cairn_hash_equal(hash, &again));
	seen->n++;
	return seen->n == 2 ? seen->answer_at_2 : CAIRN_OK;
}

START_TEST(files_of_the_reference_client)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "file");
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	size_t n_done = 0;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *f = json_array_get(files, i);
		if (vec_u64(f, "size") > 10 * 1000 * 1000)
			continue; /* the chunker's own test has them */
		CLEANUP(vec_bytes_fini) struct vec_bytes bytes = vec_make(vec_get(f, "spec"));
		tempdir_write(&dir, "file", bytes.bytes, bytes.len);
		struct seen seen = {0};
		struct cairn_cutter_file result;
		seen.n_want = vec_pairs(vec_get(f, "chunks"), &seen.hashes, &seen.lengths);
		ck_assert_int_eq(scan_file(path, see_chunk, &seen, &result, NULL), CAIRN_OK);
		struct cairn_hash want = vec_hash(f, "file_hash");
		char sha256[2 * CAIRN_SHA256_BYTES + 1];
		cairn_hex_text(sha256, result.sha256, CAIRN_SHA256_BYTES);
		ck_assert_uint_eq(seen.n, seen.n_want);
		ck_assert_uint_eq(result.n_chunks, seen.n_want);
		ck_assert_uint_eq(result.bytes, vec_u64(f, "size"));
		ck_assert_str_eq(sha256, vec_string(f, "sha256"));
		ck_assert(cairn_hash_equal(&result.hash, &want));
		free(seen.hashes);
		free(seen.lengths);
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
	struct seen seen = {.answer_at_2 = CAIRN_E_BUSY};
	struct cairn_cutter_file result;
	tempdir_write(&dir, "file", bytes.bytes, bytes.len);
	seen.n_want = vec_pairs(vec_get(f, "chunks"), &seen.hashes, &seen.lengths);
	ck_assert_int_eq(scan_file(path, see_chunk, &seen, &result, NULL), CAIRN_E_BUSY);
	ck_assert_uint_eq(seen.n, 2);
	free(seen.hashes);
	free(seen.lengths);
}
END_TEST

START_TEST(what_cannot_be_read)
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
		int64_t s; /* 0: refused */
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
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, files_of_the_reference_client);
	tcase_add_test(tc, a_visitor_can_end_it);
	tcase_add_test(tc, what_cannot_be_read);
	tcase_add_test(tc, times_with_units);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
