/* Collecting from a SQLite index that is damaged or was written by an earlier version. */
#include "support/index_gc_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include "index/needs.h"

#include <check.h>
#include <stdlib.h>

static bool stop_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

/* A xorb in the terms of a file is neither retired nor swept, whatever the table reference contains. */
START_TEST(two_witnesses)
{
	CLEANUP(cairn_index_needs_freep) struct cairn_index_needs *needs = NULL;
	struct cairn_hash swept[2];
	gx_put();
	ck_assert(gx_agree());
	ck_assert_int_eq(cairn_index_needs_new(&needs, fx_index, NULL, stop_at_once, NULL), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_index_needs_new(&needs, fx_index, NULL, NULL, NULL), CAIRN_OK);
	ck_assert(cairn_index_needs_has(needs, gx_row_of(&fx_a).id) &&
		  cairn_index_needs_has(needs, gx_row_of(&fx_b).id));
	ck_assert(!cairn_index_needs_has(needs, 0) && !cairn_index_needs_has(NULL, gx_row_of(&fx_a).id));
	fx_sql(fx_folder.path, "DELETE FROM reference WHERE xorb = 1");
	ck_assert(!gx_agree());
	struct cairn_index_gc_mark request = {
		.needs = needs, .now_unix_s = gx_now + GX_GRACE_S + 1, .grace_s = GX_GRACE_S};
	ck_assert_int_eq(cairn_index_gc_mark(fx_index, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_retired, 0);
	ck_assert_uint_eq(request.n_doubted, 1);
	ck_assert(!gx_row_of(&fx_a).retired);
	request.needs = NULL;
	ck_assert_int_eq(cairn_index_gc_mark(fx_index, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_retired, 1); /* with one of the two records, the xorb is retired */
	struct cairn_index_gc_sweep next = {
		.needs = needs,
		.now_unix_s = gx_now + 9 * GX_GRACE_S,
		.grace_s = GX_GRACE_S,
		.swept = swept,
		.n_max = 2,
	};
	ck_assert_int_eq(cairn_index_gc_sweep(fx_index, &next), CAIRN_OK);
	ck_assert_uint_eq(next.n, 0);
	ck_assert_uint_eq(next.n_doubted, 1);
	ck_assert(!gx_row_of(&fx_a).retired);
}
END_TEST

/* An earlier version retired the xorbs, but left the shard known. */
START_TEST(described_and_swept)
{
	struct cairn_hash gone[4];
	gx_shard.n_files = 0;
	gx_put();
	fx_sql(fx_folder.path, "UPDATE xorb SET retired = at");
	ck_assert(gx_known());
	struct cairn_index_gc_sweep sweep = {
		.now_unix_s = gx_now + 3 * GX_GRACE_S, .grace_s = GX_GRACE_S, .swept = gone, .n_max = 4};
	ck_assert_int_eq(cairn_index_gc_sweep(fx_index, &sweep), CAIRN_OK);
	ck_assert_uint_eq(sweep.n, 2);
	ck_assert(!gx_known());
}
END_TEST

static const char SHORTEN_TERMS[] = "UPDATE file SET terms = substr(terms, 1, 15) WHERE id = 1";

/* A row that cannot be read can still be removed, and does not stop the collector. */
/* The lengths in these rows overflow a sum, in either direction. */
START_TEST(damaged_lengths_are_swept)
{
	struct cairn_hash gone[4];
	const char *const damage = _i ? "UPDATE xorb SET retired = at, stored = -9223372036854775807 - 1"
				      : "UPDATE xorb SET retired = at, stored = 9223372036854775807";
	gx_shard.n_files = 0;
	gx_put();
	fx_sql(fx_folder.path, damage);
	struct cairn_index_gc_sweep sweep = {
		.now_unix_s = gx_now + 3 * GX_GRACE_S, .grace_s = GX_GRACE_S, .swept = gone, .n_max = 4};
	ck_assert_int_eq(cairn_index_gc_sweep(fx_index, &sweep), CAIRN_OK);
	ck_assert_uint_eq(sweep.n, 2);
}
END_TEST

START_TEST(a_file_with_damaged_terms_can_be_forgotten)
{
	gx_put();
	fx_sql(fx_folder.path, SHORTEN_TERMS);
	ck_assert(fx_forget(fx_index, 1, NULL));
	ck_assert(!fx_sees(fx_index, NULL, 1));
	ck_assert(!gx_row_of(&fx_a).referenced);
	ck_assert(gx_row_of(&fx_b).referenced);
	gx_put();
	ck_assert(fx_sees(fx_index, NULL, 1));
	ck_assert(gx_row_of(&fx_a).referenced);
}
END_TEST

START_TEST(a_file_with_damaged_terms_can_be_uploaded_again)
{
	gx_put();
	fx_sql(fx_folder.path, SHORTEN_TERMS);
	struct fx_xorb other = fx_xorb_new(78, 20);
	struct fx_shard again;
	struct cairn_index_file got;
	ck_assert(fx_xorb_put(fx_index, &other));
	fx_shard_init(&again, 2);
	fx_shard_file(&again, 1, &other, 0, 20);
	ck_assert_int_eq(fx_shard_put(fx_index, &again), CAIRN_OK);
	ck_assert(again.added);
	ck_assert_int_eq(cairn_index_file(fx_index, &again.files[0].file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert_int_eq(got.terms[0].xorb_id, gx_row_of(&other).id);
	ck_assert(gx_row_of(&other).referenced && gx_row_of(&fx_b).referenced);
	ck_assert(!gx_row_of(&fx_a).referenced);
	cairn_index_file_fini(&got);
	fx_xorb_fini(&other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index_gc");
	TCase *t = tcase_create("gc");
	tcase_add_checked_fixture(t, gx_set_up, fx_tear_down);
	tcase_add_test(t, described_and_swept);
	tcase_add_loop_test(t, damaged_lengths_are_swept, 0, 2);
	tcase_add_test(t, a_file_with_damaged_terms_can_be_forgotten);
	tcase_add_test(t, a_file_with_damaged_terms_can_be_uploaded_again);
	tcase_add_test(t, two_witnesses);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
