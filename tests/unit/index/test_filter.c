#include "index/sqlite/filter.h"

#include "support/run.h"
#include "support/vectors.h"

#include <check.h>

static void add_many(struct cairn_filter *f, uint64_t seed, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		cairn_filter_add(f, vec_splitmix64(&seed));
}

START_TEST(nothing_is_ruled_out_before_it_is_complete)
{
	struct cairn_filter f = {0};
	ck_assert(cairn_filter_maybe(&f, 1));
	cairn_filter_init(&f, 0);
	ck_assert(cairn_filter_maybe(&f, 1));
	cairn_filter_complete(&f);
	ck_assert(!cairn_filter_maybe(&f, 1));
	cairn_filter_fini(&f);
}
END_TEST

/* A filter of several layers finds every added prefix, and few others. */
START_TEST(added_prefixes_are_found_and_few_others)
{
	enum { N = 700000 };
	struct cairn_filter f;
	cairn_filter_init(&f, 0);
	add_many(&f, 1, N);
	cairn_filter_complete(&f);
	ck_assert_uint_gt(atomic_load(&f.n_layers), 2);
	for (unsigned i = 0; i < atomic_load(&f.n_layers); i++)
		ck_assert_uint_eq((uintptr_t)f.layer[i].words % 64, 0); /* no block spans two cache lines */
	uint64_t in = 1, out = 2;
	unsigned n_false = 0;
	for (unsigned i = 0; i < N; i++) {
		ck_assert(cairn_filter_maybe(&f, vec_splitmix64(&in)));
		n_false += cairn_filter_maybe(&f, vec_splitmix64(&out));
	}
	ck_assert_uint_lt(n_false, N / 200);
	cairn_filter_fini(&f);
}
END_TEST

START_TEST(a_full_layer_is_wrong_once_in_five_hundred_at_most)
{
	enum { N = 500000 };
	struct cairn_filter f;
	cairn_filter_init(&f, N);
	add_many(&f, 1, N);
	cairn_filter_complete(&f);
	ck_assert_uint_eq(atomic_load(&f.n_layers), 1);
	uint64_t out = 2;
	unsigned n_false = 0;
	for (unsigned i = 0; i < N; i++)
		n_false += cairn_filter_maybe(&f, vec_splitmix64(&out));
	ck_assert_uint_lt(n_false, N / 500);
	cairn_filter_fini(&f);
}
END_TEST

START_TEST(past_its_memory_the_last_layer_takes_all)
{
	enum { LEFT_BYTES = 65536, N = LEFT_BYTES };
	struct cairn_filter f;
	cairn_filter_init(&f, 0);
	atomic_store(&f.bytes, CAIRN_FILTER_BYTES_MAX - LEFT_BYTES);
	f.room = 0;
	add_many(&f, 1, N);
	cairn_filter_complete(&f);
	ck_assert_uint_eq(atomic_load(&f.n_layers), 2);
	ck_assert_uint_eq(f.bytes, CAIRN_FILTER_BYTES_MAX);
	uint64_t in = 1, out = 2;
	unsigned n_false = 0;
	for (unsigned i = 0; i < N; i++) {
		ck_assert(cairn_filter_maybe(&f, vec_splitmix64(&in)));
		n_false += cairn_filter_maybe(&f, vec_splitmix64(&out));
	}
	ck_assert_uint_lt(n_false, N / 20);
	cairn_filter_fini(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("filter");
	TCase *t = tcase_create("filter");
	tcase_add_test(t, nothing_is_ruled_out_before_it_is_complete);
	tcase_add_test(t, added_prefixes_are_found_and_few_others);
	tcase_add_test(t, a_full_layer_is_wrong_once_in_five_hundred_at_most);
	tcase_add_test(t, past_its_memory_the_last_layer_takes_all);
	suite_add_tcase(s, t);
	return run_suite(s);
}
