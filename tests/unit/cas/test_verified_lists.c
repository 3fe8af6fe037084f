/* Verified chunk lists: for which object each is kept, which are evicted, and that readers may keep an evicted one. */
#include "cas/stats.h"
#include "cas/verified_lists.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SAME_BUCKET = 4096 }; /* identities this far apart share a bucket */

static struct cas_verified_lists *cache;

static void open_cache(uint64_t bytes_max)
{
	cache = cas_verified_lists_new(bytes_max);
	ck_assert_ptr_nonnull(cache);
}

static void close_cache(void)
{
	cas_verified_lists_free(cache);
	cache = NULL;
}

static struct cairn_hash hash_of(uint32_t i)
{
	struct cairn_hash h;
	cairn_hash_chunk(&h, (const uint8_t *)&i, sizeof(i));
	return h;
}

static void put(const struct cairn_hash *xorb, uint64_t identity, uint32_t n, uint32_t fill)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_hash chunk = hash_of(fill + i);
		ck_assert_int_eq(cairn_chunk_list_add(&list, &chunk, (struct cairn_span){fill, i}), CAIRN_OK);
	}
	cas_verified_lists_put(cache, xorb, identity, &list);
}

/* Returns the value that fills the list; UINT32_MAX: the list is not cached. */
static uint32_t got(const struct cairn_hash *xorb, uint64_t identity)
{
	CLEANUP(cas_verified_list_unrefp)
	const struct cairn_chunk_list *list = cas_verified_lists_get(cache, xorb, identity);
	if (!list)
		return UINT32_MAX;
	uint32_t fill = list->spans[0].unpacked_bytes;
	for (uint32_t i = 0; i < list->n; i++) {
		struct cairn_hash chunk = hash_of(fill + i);
		ck_assert(cairn_hash_equal(&list->hashes[i], &chunk));
		ck_assert_uint_eq(list->spans[i].unpacked_bytes, fill);
		ck_assert_uint_eq(list->spans[i].end, i);
	}
	return fill;
}

static struct cairn_cas_stats stats(void)
{
	struct cairn_cas_stats out = {0};
	cas_verified_lists_stats(cache, &out);
	return out;
}

START_TEST(a_list_is_that_of_one_object)
{
	struct cairn_hash xorb = hash_of(1), other = hash_of(2);
	open_cache(1 << 20);
	ck_assert_uint_eq(got(&xorb, 7), UINT32_MAX);
	put(&xorb, 7, 100, 50);
	ck_assert_uint_eq(got(&xorb, 7), 50);
	ck_assert_uint_eq(got(&xorb, 8), UINT32_MAX);
	ck_assert_uint_eq(got(&xorb, 7 + SAME_BUCKET), UINT32_MAX);
	ck_assert_uint_eq(got(&other, 7), UINT32_MAX);
	put(&xorb, 7 + SAME_BUCKET, 100, 60);
	put(&other, 7, 100, 70);
	ck_assert_uint_eq(got(&xorb, 7), 50);
	ck_assert_uint_eq(got(&xorb, 7 + SAME_BUCKET), 60);
	ck_assert_uint_eq(got(&other, 7), 70);
	ck_assert_uint_eq(stats().verified_lists, 3);
	ck_assert_uint_eq(stats().verified_lists_hits, 4);
	ck_assert_uint_eq(stats().verified_lists_added, 3);
	close_cache();
}
END_TEST

START_TEST(a_newer_list_replaces)
{
	struct cairn_hash xorb = hash_of(1);
	open_cache(1 << 20);
	put(&xorb, 7, 10, 50);
	uint64_t bytes = stats().verified_lists_bytes;
	put(&xorb, 7, 10, 60);
	ck_assert_uint_eq(got(&xorb, 7), 60);
	ck_assert_uint_eq(stats().verified_lists, 1);
	ck_assert_uint_eq(stats().verified_lists_bytes, bytes);
	close_cache();
}
END_TEST

static uint64_t bytes_of_one(uint32_t n)
{
	struct cairn_hash xorb = hash_of(0);
	open_cache(1 << 20);
	put(&xorb, 0, n, 0);
	uint64_t bytes = stats().verified_lists_bytes;
	close_cache();
	ck_assert_uint_gt(bytes, n * (sizeof(struct cairn_hash) + sizeof(struct cairn_span)));
	return bytes;
}

/* The cache has room for three lists, in one bucket or each in its own. */
START_TEST(the_least_recently_used_goes_first)
{
	uint64_t step = _i == 0 ? 1 : SAME_BUCKET, bytes = bytes_of_one(100);
	struct cairn_hash xorb = hash_of(1);
	open_cache(3 * bytes + bytes - 1);
	for (uint32_t i = 0; i < 3; i++)
		put(&xorb, i * step, 100, i);
	ck_assert_uint_eq(got(&xorb, 0), 0);
	put(&xorb, 3 * step, 100, 3);
	ck_assert_uint_eq(got(&xorb, 0), 0);
	ck_assert_uint_eq(got(&xorb, step), UINT32_MAX);
	ck_assert_uint_eq(got(&xorb, 2 * step), 2);
	ck_assert_uint_eq(got(&xorb, 3 * step), 3);
	ck_assert_uint_eq(stats().verified_lists, 3);
	ck_assert_uint_eq(stats().verified_lists_bytes, 3 * bytes);
	put(&xorb, 4 * step, 300, 4);
	ck_assert_uint_eq(got(&xorb, 4 * step), 4);
	ck_assert_uint_le(stats().verified_lists_bytes, 4 * bytes - 1);
	close_cache();
}
END_TEST

START_TEST(a_list_larger_than_the_cache_is_not_kept)
{
	uint64_t bytes = bytes_of_one(100);
	struct cairn_hash xorb = hash_of(1), other = hash_of(2);
	open_cache(bytes);
	put(&xorb, 7, 100, 50);
	put(&other, 8, 101, 60);
	ck_assert_uint_eq(got(&other, 8), UINT32_MAX);
	ck_assert_uint_eq(got(&xorb, 7), 50);
	close_cache();
}
END_TEST

START_TEST(a_held_list_outlives_the_cache)
{
	uint64_t bytes = bytes_of_one(100);
	struct cairn_hash xorb = hash_of(1);
	open_cache(bytes);
	put(&xorb, 7, 100, 50);
	const struct cairn_chunk_list *held = cas_verified_lists_get(cache, &xorb, 7);
	put(&xorb, 8, 100, 60);
	ck_assert_uint_eq(got(&xorb, 7), UINT32_MAX);
	close_cache();
	ck_assert_uint_eq(held->n, 100);
	ck_assert_uint_eq(held->spans[99].end, 99);
	cas_verified_list_unrefp(&held);
	ck_assert_ptr_null(held);
	cas_verified_list_unrefp(&held);
	cas_verified_lists_free(NULL);
}
END_TEST

static Suite *verified_lists_suite(void)
{
	Suite *s = suite_create("verified_lists");
	TCase *t = tcase_create("verified_lists");
	tcase_add_test(t, a_list_is_that_of_one_object);
	tcase_add_test(t, a_newer_list_replaces);
	tcase_add_loop_test(t, the_least_recently_used_goes_first, 0, 2);
	tcase_add_test(t, a_list_larger_than_the_cache_is_not_kept);
	tcase_add_test(t, a_held_list_outlives_the_cache);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(verified_lists_suite());
}
