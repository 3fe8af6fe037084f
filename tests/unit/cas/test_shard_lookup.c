/* Lookups before a shard is verified: which xorbs and files they ask for. The index of these tests answers only single
 * questions, so these lookups find nothing. For results of a server see tests/contract/postgres_lookup_contract.c. */
#include "cas/put/shard_lookup.h"
#include "support/index_fixture.h"
#include "support/made.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>

static const uint32_t WITH_ALL = CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA;

static struct tempdir folder;
static struct cairn_index *ix;
static struct cairn_shard_writer w;
static struct made_xorb x[4];
static struct cas_shard_lookup lookup;

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	cairn_shard_writer_init(&w, 64 * 1024 * 1024);
	for (unsigned i = 0; i < 4; i++)
		made_xorb_init(&x[i], i + 1, 10, 1000);
	lookup = (struct cas_shard_lookup){.asked = {.scope = "", .owner = ""}};
}

static void tear_down(void)
{
	cas_shard_lookup_fini(&lookup);
	for (unsigned i = 0; i < 4; i++)
		made_xorb_fini(&x[i]);
	cairn_shard_writer_fini(&w);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static void look_at(size_t bytes_fewer)
{
	ck_assert_int_eq(cas_look_up_shard(ix, &lookup, true, w.buf.bytes, w.buf.len - bytes_fewer), CAIRN_OK);
	ck_assert(!lookup.asked.known && !lookup.asked.seen.plain);
}

static void assert_nothing_is_named(void)
{
	ck_assert_uint_eq(lookup.asked.n_xorbs, 0);
	ck_assert_uint_eq(lookup.asked.n_described, 0);
	ck_assert_uint_eq(lookup.asked.n_files, 0);
	ck_assert_ptr_null(cas_shard_lookup_find(&lookup, &x[0].hash));
}

static bool is_asked(const struct made_xorb *xorb, uint32_t place)
{
	return cairn_hash_equal(&lookup.asked.xorbs[place], &xorb->hash);
}

/* Described xorbs come first, in their order. Xorbs that only terms name follow, once each. */
START_TEST(test_names_described_xorbs_first)
{
	const struct made_term first[] = {{&x[2], 0, 3}, {&x[0], 0, 2}, {&x[2], 4, 5}}, second[] = {{&x[3], 1, 2}};
	made_write_file(&w, first, 3, WITH_ALL);
	made_write_file(&w, second, 1, WITH_ALL);
	made_write_xorb(&w, &x[1]);
	made_write_xorb(&w, &x[0]);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	look_at(0);
	ck_assert_uint_eq(lookup.asked.n_xorbs, 4);
	ck_assert_uint_eq(lookup.asked.n_described, 2);
	ck_assert(is_asked(&x[1], 0) && is_asked(&x[0], 1) && is_asked(&x[2], 2) && is_asked(&x[3], 3));
	ck_assert_uint_eq(lookup.asked.n_files, 2);
	struct cairn_hash files[] = {made_file_hash(first, 3), made_file_hash(second, 1)};
	ck_assert(cairn_hash_equal(&lookup.asked.files[0], &files[0]));
	ck_assert(cairn_hash_equal(&lookup.asked.files[1], &files[1]));
	/* Only found xorbs are returned. */
	ck_assert_ptr_null(cas_shard_lookup_find(&lookup, &x[0].hash));
	lookup.asked.found[1].id = 7;
	ck_assert_ptr_eq(cas_shard_lookup_find(&lookup, &x[0].hash), &lookup.asked.found[1]);
	ck_assert_ptr_null(cas_shard_lookup_find(&lookup, &x[1].hash));
}
END_TEST

/* Each xorb is asked for once. */
START_TEST(test_a_xorb_described_twice)
{
	const struct made_term term = {&x[0], 0, 3};
	unsigned n = _i == 0 ? CAIRN_INDEX_LOOKUP_XORBS_MAX : CAIRN_INDEX_LOOKUP_XORBS_MAX + 1;
	made_write_file(&w, &term, 1, WITH_ALL);
	for (unsigned i = 0; i < n; i++)
		made_write_xorb(&w, &x[i % 2]);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	look_at(0);
	if (_i == 1) {
		assert_nothing_is_named();
		return;
	}
	ck_assert_uint_eq(lookup.asked.n_xorbs, 2);
	ck_assert_uint_eq(lookup.asked.n_described, 2);
	ck_assert(is_asked(&x[0], 0) && is_asked(&x[1], 1));
}
END_TEST

/* A truncated shard is left to the verifier. */
START_TEST(test_a_truncated_shard)
{
	const struct made_term term = {&x[0], 0, 3};
	made_write_file(&w, &term, 1, WITH_ALL);
	made_write_xorb(&w, &x[0]);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	look_at(w.buf.len - 48 - 48 * 2);
	assert_nothing_is_named();
}
END_TEST

/* A shard with one xorb or one file more than fit. */
START_TEST(test_a_shard_above_the_limits)
{
	enum { XORBS = CAIRN_INDEX_LOOKUP_XORBS_MAX, FILES = CAIRN_INDEX_LOOKUP_FILES_MAX };
	bool of_files = _i < 2, fits = _i % 2 == 0;
	uint32_t n_files = !of_files ? 1 : fits ? FILES : FILES + 1;
	uint32_t n_xorbs = of_files ? 1 : fits ? XORBS : XORBS + 1;
	const struct made_term term = {&x[0], 0, 3};
	for (uint32_t i = 0; i < n_files; i++)
		made_write_file(&w, &term, 1, WITH_ALL);
	made_write_xorb(&w, &x[0]);
	for (uint32_t i = 1; i < n_xorbs; i++) {
		struct made_xorb one;
		made_xorb_init(&one, 100 + i, 1, 500);
		made_write_xorb(&w, &one);
		made_xorb_fini(&one);
	}
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	look_at(0);
	if (!fits) {
		assert_nothing_is_named();
		return;
	}
	ck_assert_uint_eq(lookup.asked.n_xorbs, n_xorbs);
	ck_assert_uint_eq(lookup.asked.n_files, n_files);
}
END_TEST

/* Xorbs that only terms name count, too. */
START_TEST(test_too_many_outside)
{
	enum { XORBS = CAIRN_INDEX_LOOKUP_XORBS_MAX };
	static struct made_xorb many[XORBS];
	struct made_term terms[XORBS];
	for (uint32_t i = 0; i < XORBS; i++) {
		made_xorb_init(&many[i], 100 + i, 1, 500);
		terms[i] = (struct made_term){&many[i], 0, 1};
	}
	made_write_file(&w, terms, XORBS, WITH_ALL);
	if (_i == 1)
		made_write_xorb(&w, &x[0]);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	look_at(0);
	if (_i == 1)
		assert_nothing_is_named();
	else
		ck_assert_uint_eq(lookup.asked.n_xorbs, XORBS);
	for (uint32_t i = 0; i < XORBS; i++)
		made_xorb_fini(&many[i]);
}
END_TEST

START_TEST(test_without_names)
{
	ck_assert_int_eq(cas_look_up_shard(ix, &lookup, false, NULL, 0), CAIRN_OK);
	ck_assert(!lookup.asked.known && !lookup.asked.seen.plain);
	ck_assert_ptr_null(cas_shard_lookup_find(&lookup, &x[0].hash));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shard_lookup");
	TCase *t = tcase_create("shard_lookup");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, test_names_described_xorbs_first);
	tcase_add_loop_test(t, test_a_xorb_described_twice, 0, 2);
	tcase_add_test(t, test_a_truncated_shard);
	tcase_add_loop_test(t, test_a_shard_above_the_limits, 0, 4);
	tcase_add_loop_test(t, test_too_many_outside, 0, 2);
	tcase_add_test(t, test_without_names);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
