#include "hub/usage.h"

#include "hub/usage_sets.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_XORBS = 12, N_CHUNKS = 30, N_OWNERS = 20, N_FILES = 6, N_TERMS = 8, PIECES_MANY = 1 << 16 };

static uint32_t next_number(uint32_t below)
{
	static uint32_t state = 7;
	state = state * 1103515245 + 12345;
	return (state >> 16) % below;
}

/* Makes files of many owners over a few xorbs, so that terms overlap in every way. */
static void fill(struct fx_xorb xorbs[static N_XORBS])
{
	for (uint32_t i = 0; i < N_XORBS; i++) {
		xorbs[i] = fx_xorb_new(100 + i, N_CHUNKS);
		ck_assert(fx_xorb_put(fx_index, &xorbs[i]));
	}
	for (uint32_t o = 0; o < N_OWNERS; o++) {
		struct fx_shard shard;
		char owner[16];
		(void)snprintf(owner, sizeof(owner), "models/a/%u", o);
		fx_shard_init(&shard, o);
		shard.owner = owner;
		for (uint32_t f = 0; f < N_FILES; f++) {
			uint32_t start = next_number(N_CHUNKS);
			struct fx_file *file = fx_shard_file(&shard, o * N_FILES + f, &xorbs[next_number(N_XORBS)],
							     start, start + 1 + next_number(N_CHUNKS - start));
			for (uint32_t t = 1; t < N_TERMS; t++) {
				start = next_number(N_CHUNKS);
				fx_shard_term(file, &xorbs[next_number(N_XORBS)], start,
					      start + 1 + next_number(N_CHUNKS - start));
			}
		}
		ck_assert_int_eq(fx_shard_put(fx_index, &shard), CAIRN_OK);
	}
}

static const struct cairn_usage_room WHOLE = {PIECES_MANY, PIECES_MANY, N_OWNERS};

static struct cairn_usage *computed(uint32_t pieces_max, uint32_t members_max)
{
	const struct cairn_usage_room room = {pieces_max, members_max, N_OWNERS};
	struct cairn_usage *usage;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_usage_compute(&usage, fx_index, &room, NULL, NULL, &diag), CAIRN_OK);
	return usage;
}

static void are_same(const struct cairn_usage *a, const struct cairn_usage *b)
{
	ck_assert_uint_eq(a->held_bytes, b->held_bytes);
	ck_assert_uint_eq(a->n_owners, b->n_owners);
	ck_assert_uint_eq(a->n_pairs, b->n_pairs);
	for (uint32_t i = 0; i < a->n_owners; i++) {
		const struct cairn_usage_owner *x = &a->owners[i], *y = &b->owners[i];
		ck_assert_str_eq(x->name, y->name);
		ck_assert_uint_eq(x->n_files, y->n_files);
		ck_assert_uint_eq(x->seen_bytes, y->seen_bytes);
		ck_assert_uint_eq(x->only_bytes, y->only_bytes);
		ck_assert_uint_eq(x->shared_bytes, y->shared_bytes);
		ck_assert_uint_eq(x->frees_bytes, y->frees_bytes);
	}
	for (uint32_t i = 0; i < a->n_pairs; i++)
		ck_assert_mem_eq(&a->pairs[i], &b->pairs[i], sizeof(a->pairs[i]));
}

static bool stop_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

/* The figures do not depend on the memory limit. (test_usage.py checks that they are right.) */
START_TEST(in_rounds)
{
	struct fx_xorb xorbs[N_XORBS];
	struct cairn_usage *none = (struct cairn_usage *)1;
	struct cairn_diag diag = {0};
	fill(xorbs);
	CLEANUP(cairn_usage_freep) struct cairn_usage *whole = computed(PIECES_MANY, PIECES_MANY);
	ck_assert_uint_eq(whole->n_owners, N_OWNERS);
	ck_assert_uint_gt(whole->n_pairs, N_OWNERS);
	static const uint32_t ROOMS[] = {900, 500, 300, 257, 200};
	for (size_t i = 0; i < sizeof(ROOMS) / sizeof(ROOMS[0]); i++) {
		CLEANUP(cairn_usage_freep) struct cairn_usage *rounds = computed(ROOMS[i], PIECES_MANY);
		are_same(whole, rounds);
	}
	static const struct cairn_usage_room SHORT[] = {
		{10, PIECES_MANY, N_OWNERS}, {PIECES_MANY, 30, N_OWNERS}, {PIECES_MANY, PIECES_MANY, N_OWNERS - 1}};
	for (size_t i = 0; i < sizeof(SHORT) / sizeof(SHORT[0]); i++) {
		ck_assert_int_eq(cairn_usage_compute(&none, fx_index, &SHORT[i], NULL, NULL, &diag), CAIRN_E_LIMIT);
		ck_assert_ptr_null(none);
		ck_assert_str_eq(diag.rule, "usage.limit");
	}
	ck_assert_int_eq(cairn_usage_compute(&none, fx_index, &WHOLE, stop_at_once, NULL, &diag), CAIRN_E_BUSY);
	for (uint32_t i = 0; i < N_XORBS; i++)
		fx_xorb_fini(&xorbs[i]);
}
END_TEST

/* Unrelated owners are not all in memory at once. */
START_TEST(in_rounds_for_their_owners)
{
	enum { N_SETS_AT_ONCE = 4 };
	struct fx_xorb xorbs[N_XORBS];
	for (uint32_t i = 0; i < N_XORBS; i++) {
		struct fx_shard shard;
		char owner[16];
		xorbs[i] = fx_xorb_new(100 + i, N_CHUNKS);
		ck_assert(fx_xorb_put(fx_index, &xorbs[i]));
		(void)snprintf(owner, sizeof(owner), "models/a/%u", i);
		fx_shard_init(&shard, i);
		shard.owner = owner;
		for (uint32_t f = 0; f < N_FILES; f++) {
			struct fx_file *file = fx_shard_file(&shard, i * N_FILES + f, &xorbs[i], f, f + 1);
			for (uint32_t t = 1; t < N_TERMS; t++)
				fx_shard_term(file, &xorbs[i], f, f + t + 1);
		}
		ck_assert_int_eq(fx_shard_put(fx_index, &shard), CAIRN_OK);
	}
	CLEANUP(cairn_usage_freep) struct cairn_usage *whole = computed(PIECES_MANY, PIECES_MANY);
	CLEANUP(cairn_usage_freep) struct cairn_usage *rounds = computed(PIECES_MANY, 2 * N_SETS_AT_ONCE);
	ck_assert_uint_eq(whole->n_owners, N_XORBS);
	ck_assert_uint_gt(whole->owners[0].only_bytes, 0);
	are_same(whole, rounds);
	for (uint32_t i = 0; i < N_XORBS; i++)
		fx_xorb_fini(&xorbs[i]);
}
END_TEST

START_TEST(of_nothing)
{
	CLEANUP(cairn_usage_freep) struct cairn_usage *usage = computed(2, 2);
	ck_assert_uint_eq(usage->n_owners + usage->n_pairs + usage->held_bytes, 0);
	ck_assert_ptr_null(cairn_usage_of_repo(usage, 1));
	cairn_usage_free(NULL);
}
END_TEST

START_TEST(each_set_once)
{
	CLEANUP(usage_sets_fini) struct usage_sets sets = {.members_max = 15000 + 5000};
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t number, members[3] = {i, i + 1, i + 7};
			ck_assert_int_eq(usage_sets_find(&sets, members, 1 + i % 3, &number), CAIRN_OK);
			ck_assert_uint_eq(number, i);
			for (uint32_t k = 0; k < 1 + i % 3; k++)
				ck_assert_uint_eq(sets.members[sets.all[number].at + k], members[k]);
		}
	}
	ck_assert_uint_eq(sets.n, 5000);
	uint32_t number, one_more = 6000;
	sets.members_max = sets.n_members + sets.n + 2;
	ck_assert_int_eq(usage_sets_find(&sets, &one_more, 1, &number), CAIRN_OK);
	one_more++;
	ck_assert_int_eq(usage_sets_find(&sets, &one_more, 1, &number), CAIRN_E_LIMIT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("usage");
	TCase *c = tcase_create("usage");
	tcase_add_checked_fixture(c, fx_set_up, fx_tear_down);
	tcase_add_test(c, in_rounds);
	tcase_add_test(c, in_rounds_for_their_owners);
	tcase_add_test(c, of_nothing);
	tcase_add_test(c, each_set_once);
	suite_add_tcase(s, c);
	return run_suite(s);
}
