/* Collecting from an index of SQLite's that is damaged, or was written by an earlier version. */
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/tempdir.h"

#include "base/clock.h"
#include "index/needs.h"

#include <check.h>
#include <stdlib.h>

enum { GRACE_S = 1000 };

static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb a, b;
static struct fx_shard s; /* describes a and b; file 1 of a's chunks, file 2 of b's */
static int64_t now;

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	a = fx_xorb_new(1, 20);
	b = fx_xorb_new(2, 30);
	fx_xorb_put(ix, &a);
	fx_xorb_put(ix, &b);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	fx_shard_xorb(&s, &b, 1, 6);
	fx_shard_file(&s, 1, &a, 0, 20);
	fx_shard_file(&s, 2, &b, 0, 30);
	now = cairn_clock_unix_s();
}

static void tear_down(void)
{
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static void put(void)
{
	enum cairn_status status = fx_shard_put(ix, &s);
	ck_assert_msg(status == CAIRN_OK, "%s", s.diag.text);
}

static struct cairn_index_xorb row_of(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x->hash, &row), CAIRN_OK);
	return row;
}

static bool known(void)
{
	bool yes;
	struct cairn_index_registered registered;
	ck_assert_int_eq(fx_shard_known(ix, &s.body, s.scope, s.owner, &yes, &registered), CAIRN_OK);
	return yes;
}

static bool agree(void)
{
	bool yes;
	ck_assert_int_eq(cairn_index_needs_agree(ix, &yes), CAIRN_OK);
	return yes;
}

static bool stop_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

/* What terms name is neither retired nor swept, whatever reference says. */
START_TEST(two_witnesses)
{
	CLEANUP(cairn_index_needs_freep) struct cairn_index_needs *needs = NULL;
	struct cairn_hash swept[2];
	put();
	ck_assert(agree());
	ck_assert_int_eq(cairn_index_needs_new(&needs, ix, NULL, stop_at_once, NULL), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_index_needs_new(&needs, ix, NULL, NULL, NULL), CAIRN_OK);
	ck_assert(cairn_index_needs_has(needs, row_of(&a).id) && cairn_index_needs_has(needs, row_of(&b).id));
	ck_assert(!cairn_index_needs_has(needs, 0) && !cairn_index_needs_has(NULL, row_of(&a).id));
	fx_sql(folder.path, "DELETE FROM reference WHERE xorb = 1");
	ck_assert(!agree());
	struct cairn_index_gc_mark request = {.needs = needs, .now_unix_s = now + GRACE_S + 1, .grace_s = GRACE_S};
	ck_assert_int_eq(cairn_index_gc_mark(ix, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_retired, 0);
	ck_assert_uint_eq(request.n_doubted, 1);
	ck_assert(!row_of(&a).retired);
	request.needs = NULL;
	ck_assert_int_eq(cairn_index_gc_mark(ix, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_retired, 1); /* by one witness it is */
	struct cairn_index_gc_sweep next = {
		.needs = needs, .now_unix_s = now + 9 * GRACE_S, .grace_s = GRACE_S, .swept = swept, .n_max = 2};
	ck_assert_int_eq(cairn_index_gc_sweep(ix, &next), CAIRN_OK);
	ck_assert_uint_eq(next.n, 0);
	ck_assert_uint_eq(next.n_doubted, 1);
	ck_assert(!row_of(&a).retired);
}
END_TEST

/* Retired by an earlier version, which did not tell. */
START_TEST(described_and_swept)
{
	struct cairn_hash gone[4];
	s.n_files = 0;
	put();
	fx_sql(folder.path, "UPDATE xorb SET retired = at");
	ck_assert(known());
	struct cairn_index_gc_sweep sweep = {
		.now_unix_s = now + 3 * GRACE_S, .grace_s = GRACE_S, .swept = gone, .n_max = 4};
	ck_assert_int_eq(cairn_index_gc_sweep(ix, &sweep), CAIRN_OK);
	ck_assert_uint_eq(sweep.n, 2);
	ck_assert(!known());
}
END_TEST

static const char SHORTEN_TERMS[] = "UPDATE file SET terms = substr(terms, 1, 15) WHERE id = 1";

/* What cannot be read can be removed all the same, and keeps nothing from the collector. */
START_TEST(a_file_with_damaged_terms_can_be_forgotten)
{
	put();
	fx_sql(folder.path, SHORTEN_TERMS);
	ck_assert(fx_forget(ix, 1, NULL));
	ck_assert(!fx_sees(ix, NULL, 1));
	ck_assert(!row_of(&a).referenced);
	ck_assert(row_of(&b).referenced);
	put();
	ck_assert(fx_sees(ix, NULL, 1));
	ck_assert(row_of(&a).referenced);
}
END_TEST

START_TEST(a_file_with_damaged_terms_can_be_uploaded_again)
{
	put();
	fx_sql(folder.path, SHORTEN_TERMS);
	struct fx_xorb other = fx_xorb_new(78, 20);
	struct fx_shard again;
	struct cairn_index_file got;
	ck_assert(fx_xorb_put(ix, &other));
	fx_shard_init(&again, 2);
	fx_shard_file(&again, 1, &other, 0, 20);
	ck_assert_int_eq(fx_shard_put(ix, &again), CAIRN_OK);
	ck_assert(again.added);
	ck_assert_int_eq(cairn_index_file(ix, &again.files[0].file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert_int_eq(got.terms[0].xorb_id, row_of(&other).id);
	ck_assert(row_of(&other).referenced && row_of(&b).referenced);
	ck_assert(!row_of(&a).referenced);
	cairn_index_file_fini(&got);
	fx_xorb_fini(&other);
}
END_TEST

enum { UPLOADERS = 4, UPLOADS = 60 };

int main(void)
{
	Suite *suite = suite_create("index_gc");
	TCase *t = tcase_create("gc");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, described_and_swept);
	tcase_add_test(t, a_file_with_damaged_terms_can_be_forgotten);
	tcase_add_test(t, a_file_with_damaged_terms_can_be_uploaded_again);
	tcase_add_test(t, two_witnesses);
	suite_add_tcase(suite, t);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
