/* Chunk queries of the SQLite engine: its filter, its query plans, damaged rows. */
#include "base/bytes.h"
#include "index/sqlite/engine.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Damage of one neighbour affects neither the requested xorb nor other neighbours. */
START_TEST(a_damaged_neighbour_is_left_out)
{
	static const char *const damages[] = {
		"UPDATE list SET hashes = substr(hashes, 1, 33) WHERE xorb = 2",
		"PRAGMA ignore_check_constraints = ON; UPDATE xorb SET hash = x'00' WHERE id = 2",
	};
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 1);
	fx_shard_xorb(&s, &fx_b, 0);
	fx_shard_xorb(&s, &fx_c, 0);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_sql(fx_folder.path, damages[_i]);
	struct fx_answer got = fx_assert_hit(fx_index, "", &fx_a.list.hashes[1], &fx_a);
	ck_assert_uint_eq(got.n, 2);
	ck_assert(cairn_hash_equal(&got.xorb[1], &fx_c.hash));
}
END_TEST

/* For the filter, a chunk of another scope is like an absent one: neither costs further work. */
START_TEST(a_foreign_chunk_is_ruled_out_like_an_absent_one)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.scope = "me";
	fx_shard_xorb(&s, &fx_a, 1, 1);
	for (int reopened = 0; reopened < 2; reopened++) {
		if (reopened == 0)
			ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
		cairn_index_free(reopened ? fx_index : NULL);
		fx_index = reopened ? fx_open(fx_folder.path) : fx_index;
		ck_assert_int_eq(cairn_index_writable(fx_index), CAIRN_OK);
		ck_assert_int_eq(cairn_index_writable(fx_index), CAIRN_OK);
		struct cairn_filter *f = &cairn_sqlite(fx_index)->tx.filter;
		uint64_t prefix = cairn_get_u64le(fx_a.list.hashes[1].b);
		ck_assert(cairn_filter_maybe(f, cairn_filter_key(prefix, "me")));
		ck_assert(!cairn_filter_maybe(f, cairn_filter_key(prefix, "you")));
		ck_assert(!cairn_filter_maybe(f, cairn_filter_key(prefix, "")));
		fx_assert_hit(fx_index, "me", &fx_a.list.hashes[1], &fx_a);
		fx_assert_miss(fx_index, "you", &fx_a.list.hashes[1]);
	}
}
END_TEST

static bool ignore(void *ctx, const struct cairn_index_dedupe_xorb *xorb)
{
	(void)ctx;
	(void)xorb;
	return false;
}

enum { COST_BLOCKS = 101, COST_QUERIES = 200 };

static int cost_order(const void *pa, const void *pb)
{
	const int64_t *x = pa, *y = pb;
	return (*x > *y) - (*x < *y);
}

/* Measures the processor time of a lookup by "you", in nanoseconds: the median of blocks, which alternate between two
 * kinds. @param[out] ns  for a chunk that only "me" has, and for chunks that nobody has */
static void cost_measure(const struct cairn_hash *foreign, int64_t ns[2])
{
	static int64_t blocks[2][COST_BLOCKS];
	uint64_t seed = 1;
	for (unsigned i = 0; i < 2 * COST_BLOCKS; i++) {
		struct cairn_hash hash = *foreign;
		struct timespec from, to;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (unsigned k = 0; k < COST_QUERIES; k++) {
			uint64_t random = vec_splitmix64(&seed);
			if (i % 2)
				cairn_put_u64le(hash.b, random);
			if (cairn_index_may_dedupe(fx_index, "you", &hash))
				ck_assert_int_eq(cairn_index_dedupe(fx_index, "you", &hash, false, ignore, NULL),
						 CAIRN_E_NOT_FOUND);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		blocks[i % 2][i / 2] =
			((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec) / COST_QUERIES;
	}
	for (unsigned kind = 0; kind < 2; kind++) {
		qsort(blocks[kind], COST_BLOCKS, sizeof(int64_t), cost_order);
		ns[kind] = blocks[kind][COST_BLOCKS / 2];
	}
}

/* This must be so with the filter, and also while the filter is being built and every lookup reads the tree. */
START_TEST(a_foreign_chunk_costs_as_much_as_an_absent_one)
{
	struct fx_shard s;
	int64_t ns[2];
	fx_shard_init(&s, 1);
	s.scope = "me";
	fx_shard_xorb(&s, &fx_a, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_shard_init(&s, 2);
	s.scope = "you";
	fx_shard_xorb(&s, &fx_b, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	for (int filtered = 1; filtered >= 0; filtered--) {
		atomic_store(&cairn_sqlite(fx_index)->tx.filter.complete, filtered);
		cost_measure(&fx_a.list.hashes[1], ns);
		(void)printf("%s the filter: foreign %lld ns, absent %lld ns\n", filtered ? "with" : "without",
			     (long long)ns[0], (long long)ns[1]);
		ck_assert_int_lt(llabs(ns[0] - ns[1]), ns[1] / 10 + 200);
	}
}
END_TEST

/* In a large index, a page of the table dedupe for each chunk would mean a disk read for each. */
START_TEST(eligible_chunks_of_a_xorb_are_found_in_one_place)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	ck_assert_int_eq(cairn_sqlite_take(fx_index, &r), CAIRN_OK);
	const struct cairn_statement_list reads = cairn_reads();
	const struct cairn_statement *eligible = NULL;
	for (size_t i = 0; i < reads.n; i++)
		if (strcmp(reads.first[i].name, "READ_ELIGIBLE") == 0)
			eligible = &reads.first[i];
	ck_assert_ptr_nonnull(eligible);
	char sql[512];
	(void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", eligible->text);
	sqlite3_stmt *plan = NULL;
	ck_assert_int_eq(sqlite3_prepare_v2(r->db, sql, -1, &plan, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(plan), SQLITE_ROW);
	const char *detail = (const char *)sqlite3_column_text(plan, 3);
	ck_assert_msg(strstr(detail, "USING COVERING INDEX dedupe_xorb (xorb=?)"), "%s", detail);
	ck_assert_int_eq(sqlite3_step(plan), SQLITE_DONE);
	(void)sqlite3_finalize(plan);
}
END_TEST

static const uint32_t ROW_STEP = 4294967291; /* spreads the rows over all possible numbers */

/* Adds rows between those of the test, so that the filter is built in many pieces. */
static void add_rows(unsigned n)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	char path[4200], sql[512];
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", fx_folder.path);
	(void)snprintf(sql, sizeof(sql),
		       "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < %u)"
		       " INSERT INTO dedupe SELECT i * %u << 17, i %% 3, 1, 0, 1 FROM n",
		       n, ROW_STEP);
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_exec(db, sql), CAIRN_OK);
}

/* Waits until the filter is built. Each write is followed by at least one piece. */
static void await_filter(unsigned pieces)
{
	struct cairn_index_stats stats;
	for (unsigned i = 0; i <= pieces; i++)
		ck_assert_int_eq(cairn_index_writable(fx_index), CAIRN_OK);
	cairn_index_stats(fx_index, &stats);
	ck_assert(stats.filter_complete);
	ck_assert_uint_gt(stats.filter_bytes, 0);
}

/* Chunks at both ends of the numbers and in between. Chunks that are added while the filter is built are in it, too. */
START_TEST(the_filter_of_an_existing_index_is_built)
{
	enum { PIECES = 4, ROWS_OF_A_PIECE = 8192 };
	struct fx_xorb x = fx_xorb_new(9, 4);
	struct fx_shard s;
	memcpy(x.list.hashes[0].b, "\0\0\0\0\0\0\0\x80", 8);
	memcpy(x.list.hashes[1].b, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
	cairn_chunk_list_root(&x.list, &x.hash);
	fx_xorb_put(fx_index, &x);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &x, 3, 0, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	cairn_index_free(fx_index);
	add_rows(PIECES * ROWS_OF_A_PIECE);
	fx_index = fx_open(fx_folder.path);
	fx_shard_init(&s, 2);
	fx_shard_xorb(&s, &fx_a, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_assert_hit(fx_index, "", &x.list.hashes[2], &x);
	await_filter(PIECES);
	for (unsigned i = 0; i < 3; i++)
		fx_assert_hit(fx_index, "", &x.list.hashes[i], &x);
	fx_assert_hit(fx_index, "", &fx_a.list.hashes[1], &fx_a);
	for (uint64_t i = 1; i <= PIECES * ROWS_OF_A_PIECE; i++)
		ck_assert(cairn_filter_maybe(&cairn_sqlite(fx_index)->tx.filter, i * ROW_STEP << 17));
	fx_assert_miss(fx_index, "", &x.list.hashes[3]);
	fx_xorb_fini(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index_dedupe");
	TCase *t = tcase_create("dedupe");
	tcase_add_checked_fixture(t, fx_set_up_three, fx_tear_down);
	tcase_add_loop_test(t, a_damaged_neighbour_is_left_out, 0, 2);
	tcase_add_test(t, a_foreign_chunk_is_ruled_out_like_an_absent_one);
	tcase_add_test(t, a_foreign_chunk_costs_as_much_as_an_absent_one);
	tcase_add_test(t, the_filter_of_an_existing_index_is_built);
	tcase_add_test(t, eligible_chunks_of_a_xorb_are_found_in_one_place);
	suite_add_tcase(s, t);
	return run_suite(s);
}
