/* Snapshots of a SQLite database: older versions, refusals, damage. */
#include "index/snapshot.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>

/* Adds a xorb, and a file of two terms on it. */
static void put(void)
{
	struct fx_xorb x = fx_xorb_new(1, 5);
	struct fx_shard s;
	ck_assert(fx_xorb_put(fx_index, &x));
	fx_shard_init(&s, 1);
	fx_shard_term(fx_shard_file(&s, 1, &x, 0, 1), &x, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

struct seen {
	unsigned n;
	int sha256; /* first byte of the file's SHA-256; -1: no SHA-256 */
};

static enum cairn_status see_xorb(void *ctx, const struct cairn_index_xorb *xorb, const struct cairn_chunk_list *list)
{
	struct seen *seen = ctx;
	ck_assert_uint_eq(list->n, xorb->n_chunks);
	seen->n++;
	return CAIRN_OK;
}

static enum cairn_status see_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
				  const struct cairn_index_file *file)
{
	struct seen *seen = ctx;
	(void)number, (void)at_unix_s;
	ck_assert_uint_eq(file->n_terms, 2);
	ck_assert_uint_eq(file->terms[1].start, 1);
	seen->n++;
	seen->sha256 = sha256 ? sha256[0] : -1;
	return CAIRN_OK;
}

static void assert_sha256(int digit)
{
	CLEANUP(cairn_index_snapshot_freep) struct cairn_index_snapshot *snapshot = NULL;
	struct seen seen = {0};
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(fx_folder.path).text, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_index_snapshot_xorbs(snapshot, 0, see_xorb, &seen, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_index_snapshot_files(snapshot, 0, see_file, &seen, NULL), CAIRN_OK);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_int_eq(seen.sha256, digit);
}

/* An older version can be read, and is not changed by that. */
START_TEST(older_version)
{
	put();
	cairn_index_freep(&fx_index);
	fx_sql(fx_folder.path,
	       "CREATE TABLE claim(scope, sha256, file);"
	       "INSERT INTO claim SELECT scope, CAST(x'06' || zeroblob(31) AS BLOB), file FROM file_owner;"
	       "DROP TABLE file_owner; PRAGMA user_version = 8");
	assert_sha256(6);
	fx_sql(fx_folder.path,
	       "DELETE FROM claim; UPDATE file SET terms = CAST(substr(terms, 1, 16) || substr(terms, 25, 16) AS BLOB);"
	       "ALTER TABLE xorb DROP COLUMN repacked; PRAGMA user_version = 4");
	assert_sha256(-1);
	fx_sql(fx_folder.path,
	       "ALTER TABLE file ADD COLUMN sha256 BLOB; UPDATE file SET sha256 = CAST(x'05' || zeroblob(31) AS BLOB);"
	       "DROP TABLE claim; PRAGMA user_version = 3");
	assert_sha256(5);
	assert_sha256(5);
}
END_TEST

START_TEST(refused)
{
	struct cairn_index_snapshot *snapshot;
	CLEANUP(tempdir_fini) struct tempdir other = tempdir_new();
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(other.path).text, &diag), CAIRN_E_IO);
	ck_assert_int_eq(tempdir_count(&other, "."), 0); /* no file was made */
	tempdir_write(&other, "index.sqlite", "", 0);
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(other.path).text, NULL), CAIRN_E_CONFLICT);
	ck_assert_ptr_null(snapshot);
}
END_TEST

START_TEST(damaged_row)
{
	CLEANUP(cairn_index_snapshot_freep) struct cairn_index_snapshot *snapshot = NULL;
	struct cairn_diag diag = {0};
	put();
	fx_sql(fx_folder.path, "UPDATE list SET spans = x'00'; UPDATE file SET terms = x'00'");
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(fx_folder.path).text, NULL), CAIRN_OK);
	struct seen seen = {0};
	ck_assert_int_eq(cairn_index_snapshot_xorbs(snapshot, 0, see_xorb, &seen, &diag), CAIRN_E_DAMAGED);
	ck_assert_str_eq(diag.rule, "index.row");
	ck_assert_int_eq(cairn_index_snapshot_files(snapshot, 0, see_file, &seen, NULL), CAIRN_E_DAMAGED);
	ck_assert_uint_eq(seen.n, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index_snapshot");
	TCase *t = tcase_create("all");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, older_version);
	tcase_add_test(t, refused);
	tcase_add_test(t, damaged_row);
	suite_add_tcase(s, t);
	return run_suite(s);
}
