/* Sums over values of damaged rows stop at their limits. The values are at the limits of 64 bits; with
 * -fsanitize=undefined a sum that overflows ends the test. Answers of the index are not checked. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include "base/sum.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const int64_t LIMITS[] = {INT64_MAX, INT64_MIN};
enum { N_LIMITS = sizeof(LIMITS) / sizeof(LIMITS[0]) };

#define EDGE "(SELECT n FROM edge)"

/* Damages rows. @param statement  sets columns to the limit, (SELECT n FROM edge) */
static void damage(const char *statement, int64_t limit)
{
	char text[512];
	(void)snprintf(text, sizeof(text), "CREATE TEMP TABLE edge(n); INSERT INTO edge VALUES(%s); %s",
		       limit < 0 ? "-9223372036854775807 - 1" : "9223372036854775807", statement);
	fx_sql(hx_folder(), text);
}

/* Opens the index again, because counts are read when it is opened. */
static void reopen(void)
{
	cairn_index_free(hx_index);
	hx_index = fx_open(hx_folder());
}

static void upload(uint64_t number, const char *owner)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, number);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 2, 1, 2);
	fx_shard_file(&s, number, &x, 0, 4);
	(void)!fx_shard_put(hx_index, &s);
	fx_xorb_fini(&x);
}

static void forget(uint64_t number, const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", number), .owner = owner};
	(void)!cairn_index_forget_file(hx_index, &request);
}

static void commit(int64_t repo, struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_index_add_commit add = hx_request(repo, "main", operations, n);
	(void)!cairn_index_add_commit(hx_index, &add);
}

static void collect(void)
{
	struct cairn_hash swept[8];
	struct cairn_index_gc_mark mark = {.now_unix_s = INT64_C(1) << 40};
	struct cairn_index_gc_sweep sweep = {.now_unix_s = INT64_C(1) << 41, .swept = swept, .n_max = 8};
	(void)!cairn_index_gc_mark(hx_index, &mark);
	(void)!cairn_index_gc_sweep(hx_index, &sweep);
}

START_TEST(heads)
{
	int64_t repo = hx_model("one");
	struct cairn_index_operation more = hx_put("a", "text"), less = hx_drop("a");
	damage("UPDATE commit_ SET number = " EDGE ", files = " EDGE ", bytes = " EDGE, LIMITS[_i]);
	commit(repo, &more, 1);
	damage("UPDATE commit_ SET files = " EDGE ", bytes = " EDGE, LIMITS[_i]);
	commit(repo, &less, 1);
}
END_TEST

START_TEST(sizes_of_entries)
{
	int64_t repo = hx_model("one");
	struct cairn_index_operation some[] = {hx_put("a", "1"), hx_put("b", "2"), hx_put("c", "3")};
	struct cairn_index_operation other[] = {hx_put("a", "4"), hx_put("b", "5"), hx_drop("c")};
	struct cairn_index_operation drops[] = {hx_drop("a"), hx_drop("b")};
	commit(repo, some, 3);
	damage("UPDATE content SET size = " EDGE, LIMITS[_i]);
	commit(repo, other, 3);
	damage("UPDATE content SET size = " EDGE, LIMITS[_i]);
	commit(repo, drops, 2);
}
END_TEST

/* Each file gets an owner and then another, and objects are added and removed. */
START_TEST(sizes_of_files)
{
	int64_t bucket = hx_bucket("one"), other = hx_bucket("two");
	struct cairn_index_change changes[4] = {{0}};
	upload(1, hx_owner_of(bucket));
	upload(2, hx_owner_of(bucket));
	for (unsigned i = 0; i < 4; i++) {
		changes[i] = (struct cairn_index_change){.kind = CAIRN_INDEX_OBJECT_SET,
							 .path = (const char *const[]){"a", "b", "c", "d"}[i],
							 .type = "",
							 .file = fx_hash("file", 1 + i % 2)};
	}
	damage("UPDATE file SET size = " EDGE, LIMITS[_i]);
	struct cairn_index_change_objects set = {.repo = bucket, .changes = changes, .n = 4};
	(void)!cairn_index_change_objects(hx_index, &set);
	for (unsigned i = 0; i < 4; i++) {
		changes[i].kind = CAIRN_INDEX_OBJECT_COPY;
		changes[i].source = bucket;
	}
	struct cairn_index_change_objects copy = {.repo = other, .changes = changes, .n = 4};
	(void)!cairn_index_change_objects(hx_index, &copy);
	for (unsigned i = 0; i < 4; i++)
		changes[i].kind = CAIRN_INDEX_OBJECT_DROP;
	struct cairn_index_change_objects drop = {.repo = bucket, .changes = changes, .n = 4};
	(void)!cairn_index_change_objects(hx_index, &drop);
	forget(1, hx_owner_of(other));
}
END_TEST

START_TEST(counts)
{
	upload(1, "");
	damage("UPDATE state SET collection = " EDGE ", files = " EDGE ", xorbs = " EDGE ", shards = " EDGE
	       ", eligible = " EDGE ","
	       " stored_bytes = " EDGE,
	       LIMITS[_i]);
	reopen();
	forget(1, NULL);
	collect();
	upload(2, "");
	upload(3, "");
	forget(2, NULL);
	collect();
}
END_TEST

/* Files of one shard get their numbers together. */
START_TEST(numbers_of_files)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(9, 4);
	upload(1, "");
	damage("UPDATE file SET id = " EDGE "; UPDATE sqlite_sequence SET seq = " EDGE " WHERE name = 'file'",
	       LIMITS[_i]);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, 9);
	fx_shard_xorb(&s, &x, 0);
	for (uint64_t i = 0; i < FX_FILES_MAX; i++)
		fx_shard_file(&s, 100 + i, &x, 0, 4);
	(void)!fx_shard_put(hx_index, &s);
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(sums)
{
	int64_t count = INT64_MAX - 1;
	cairn_add(&count, 1);
	cairn_add(&count, 1);
	ck_assert_int_eq(count, INT64_MAX);
	cairn_add(&count, -1);
	ck_assert_int_eq(count, INT64_MAX - 1);
	cairn_advance(&count);
	cairn_advance(&count);
	ck_assert_int_eq(count, INT64_MIN);
	ck_assert_int_eq(cairn_sum(INT64_MIN, -1), INT64_MIN);
	ck_assert_int_eq(cairn_difference(0, INT64_MIN), INT64_MAX);
	ck_assert_int_eq(cairn_difference(-2, INT64_MAX), INT64_MIN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index_sums");
	TCase *t = tcase_create("index_sums");
	tcase_add_checked_fixture(t, hx_set_up, hx_end);
	tcase_add_loop_test(t, heads, 0, N_LIMITS);
	tcase_add_loop_test(t, sizes_of_entries, 0, N_LIMITS);
	tcase_add_loop_test(t, sizes_of_files, 0, N_LIMITS);
	tcase_add_loop_test(t, counts, 0, N_LIMITS);
	tcase_add_loop_test(t, numbers_of_files, 0, N_LIMITS);
	tcase_add_test(t, sums);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
