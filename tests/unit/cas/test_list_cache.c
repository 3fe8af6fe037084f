#include "cas/list_cache.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Returns a hash. Hashes with the same chain number fall into one chain, others do not. */
static struct cairn_hash hash_of(uint8_t chain, uint32_t number)
{
	struct cairn_hash hash = {{chain}};
	memcpy(hash.b + 1, &number, sizeof(number));
	return hash;
}

/* Puts a list of n chunks, allocated to exactly that size. The first chunk has the hash of the xorb. */
static void put(struct cairn_list_cache *c, const struct cairn_hash *xorb, uint32_t n)
{
	const struct cairn_chunk_list *kept;
	struct cairn_chunk_list list = {
		.n = n,
		.cap = n,
		.hashes = calloc(n, sizeof(*list.hashes)),
		.spans = calloc(n, sizeof(*list.spans)),
	};
	list.hashes[0] = *xorb;
	ck_assert_int_eq(cairn_list_cache_put(c, xorb, 7, &list, &kept), CAIRN_OK);
	ck_assert_ptr_null(list.hashes);
	ck_assert_ptr_eq(kept, cairn_list_cache_find(c, xorb, NULL));
	ck_assert_uint_eq(kept->n, n);
}

static bool has(const struct cairn_list_cache *c, const struct cairn_hash *xorb)
{
	const struct cairn_chunk_list *list = cairn_list_cache_find(c, xorb, NULL);
	ck_assert(!list || cairn_hash_equal(&list->hashes[0], xorb));
	return list != NULL;
}

/* Puts lists one after the other, each in its own chain or all in one. The last `keeps` of them must stay. */
static void last_ones_stay(bool one_chain, uint32_t n_chunks, uint32_t keeps)
{
	CLEANUP(cairn_list_cache_fini) struct cairn_list_cache c = {0};
	for (uint32_t i = 0; i < 3 * keeps; i++) {
		struct cairn_hash xorb = hash_of(one_chain ? 7 : (uint8_t)i, i);
		ck_assert(!has(&c, &xorb));
		put(&c, &xorb, n_chunks);
		for (uint32_t k = 0; k <= i; k++) {
			xorb = hash_of(one_chain ? 7 : (uint8_t)k, k);
			ck_assert(has(&c, &xorb) == (k + keeps > i));
		}
	}
}

START_TEST(so_many_lists)
{
	last_ones_stay(_i, 1, CAIRN_LIST_CACHE_LISTS);
}
END_TEST

START_TEST(so_many_bytes)
{
	last_ones_stay(_i, CAIRN_XORB_CHUNKS_MAX, 25);
}
END_TEST

/* A list larger than the limit is kept alone. */
START_TEST(so_many_bytes_as_wanted)
{
	CLEANUP(cairn_list_cache_fini)
	struct cairn_list_cache c = {.bytes_max = 100 * (sizeof(struct cairn_hash) + sizeof(struct cairn_span))};
	struct cairn_hash a = hash_of(1, 0), b = hash_of(2, 0), large = hash_of(3, 0);
	put(&c, &a, 50);
	put(&c, &b, 50);
	ck_assert(has(&c, &a) && has(&c, &b));
	put(&c, &large, 101);
	ck_assert(!has(&c, &a) && !has(&c, &b) && has(&c, &large));
}
END_TEST

START_TEST(the_newer_of_two)
{
	CLEANUP(cairn_list_cache_fini) struct cairn_list_cache c = {0};
	struct cairn_hash xorb = hash_of(0, 0);
	put(&c, &xorb, 3);
	put(&c, &xorb, 4);
	ck_assert_uint_eq(cairn_list_cache_find(&c, &xorb, NULL)->n, 4);
}
END_TEST

START_TEST(empty)
{
	CLEANUP(cairn_list_cache_fini) struct cairn_list_cache c = {0};
	struct cairn_hash xorb = hash_of(0, 0);
	ck_assert(!has(&c, &xorb));
	put(&c, &xorb, 3);
	cairn_list_cache_fini(&c);
	ck_assert(!has(&c, &xorb));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list_cache");
	TCase *t = tcase_create("list_cache");
	tcase_add_loop_test(t, so_many_lists, 0, 2);
	tcase_add_loop_test(t, so_many_bytes, 0, 2);
	tcase_add_test(t, so_many_bytes_as_wanted);
	tcase_add_test(t, the_newer_of_two);
	tcase_add_test(t, empty);
	suite_add_tcase(s, t);
	return run_suite(s);
}
