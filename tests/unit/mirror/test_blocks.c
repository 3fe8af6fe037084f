/* The order in which the blocks of a long file are requested. */
#include "mirror/blocks.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MB (UINT64_C(1) << 20)

static struct mirror_blocks blocks;

/* Asks for the next block. @return its number */
static unsigned ask(uint64_t front, uint64_t ahead, uint64_t length, const uint64_t *wanted, size_t n, uint64_t first,
		    uint64_t end)
{
	struct mirror_run run = {0};
	ck_assert(mirror_blocks_next(&blocks, front, ahead, length, wanted, n, &run));
	ck_assert_uint_eq(run.first, first);
	ck_assert_uint_eq(run.end, end);
	unsigned number = 0;
	while (number < MIRROR_BLOCKS_AT_ONCE && blocks.asked[number].first < blocks.asked[number].end)
		number++;
	ck_assert_uint_lt(number, MIRROR_BLOCKS_AT_ONCE);
	mirror_blocks_ask(&blocks, number, &run);
	return number;
}

static bool has_next(uint64_t front, uint64_t ahead)
{
	struct mirror_run run;
	return mirror_blocks_next(&blocks, front, ahead, MB, NULL, 0, &run);
}

START_TEST(blocks_come_in_order)
{
	mirror_blocks_init(&blocks, 3 * MB + 1);
	for (uint64_t i = 0; i < 3; i++)
		ck_assert_uint_eq(ask(0, 99 * MB, MB, NULL, 0, i * MB, (i + 1) * MB), i);
	ask(0, 99 * MB, MB, NULL, 0, 3 * MB, 3 * MB + 1);
	ck_assert(!has_next(0, 99 * MB));
	ck_assert(!mirror_blocks_take(&blocks, 1, 10));
	ck_assert_uint_eq(mirror_blocks_reach(&blocks, MB), MB + 10);
	ck_assert_uint_eq(mirror_blocks_reach(&blocks, 0), 0);
	ck_assert(mirror_blocks_is_asked(&blocks, MB + 10) && !mirror_blocks_is_asked(&blocks, MB + 9));
	ck_assert(mirror_blocks_take(&blocks, 0, MB));
	ck_assert_uint_eq(mirror_blocks_reach(&blocks, 5), MB + 10);
	ck_assert(mirror_blocks_take(&blocks, 3, 1));
	ck_assert(mirror_blocks_take(&blocks, 1, MB - 10));
	ck_assert_uint_eq(blocks.n_came, 2);
	ck_assert(mirror_blocks_take(&blocks, 2, MB));
	ck_assert_uint_eq(mirror_blocks_reach(&blocks, 0), 3 * MB + 1);
	ck_assert_uint_eq(blocks.n_came, 1);
}
END_TEST

START_TEST(no_block_begins_too_far_before_the_front)
{
	mirror_blocks_init(&blocks, 100 * MB);
	ask(0, 2 * MB, MB, NULL, 0, 0, MB);
	ask(0, 2 * MB, MB, NULL, 0, MB, 2 * MB);
	ck_assert(!has_next(0, 2 * MB));
	ck_assert(has_next(1, 2 * MB));
}
END_TEST

START_TEST(the_nearest_awaited_block_is_fetched_first)
{
	const uint64_t wanted[] = {50 * MB, 20 * MB, 5};
	mirror_blocks_init(&blocks, 100 * MB);
	ask(10 * MB, MB, MB, wanted, 3, 20 * MB, 21 * MB);
	ask(10 * MB, MB, MB, wanted, 3, 50 * MB, 51 * MB);
	ask(10 * MB, MB, MB, wanted, 3, 10 * MB, 11 * MB); /* both were requested before */
	ck_assert(!has_next(10 * MB, MB));
	/* a block ends where the next one begins */
	ask(19 * MB + 1, MB, 4 * MB, NULL, 0, 19 * MB + 1, 20 * MB);
	ck_assert(mirror_blocks_take(&blocks, 0, MB));
	ask(20 * MB, 99 * MB, 64 * MB, NULL, 0, 21 * MB, 50 * MB);
}
END_TEST

/* Clients read at any places, and bytes come in any order. No byte is requested twice, and all bytes come. */
START_TEST(any_order)
{
	enum { SIZE = 4000, STEP = 7 };
	static bool asked[SIZE];
	srand(1);
	for (int round = 0; round < 10; round++) {
		uint64_t front = 0;
		memset(asked, 0, sizeof(asked));
		mirror_blocks_init(&blocks, SIZE);
		while (front < SIZE) {
			struct mirror_run run;
			uint64_t wanted[4];
			for (size_t i = 0; i < 4; i++)
				wanted[i] = (uint64_t)rand() % SIZE;
			unsigned n = (unsigned)rand() % MIRROR_BLOCKS_AT_ONCE;
			if (blocks.asked[n].first < blocks.asked[n].end)
				mirror_blocks_take(&blocks, n,
						   1 + (uint64_t)rand() %
								   (blocks.asked[n].end - blocks.asked[n].first));
			else if (mirror_blocks_next(&blocks, front, 500, 1 + (uint64_t)rand() % STEP, wanted, 4,
						    &run)) {
				for (uint64_t at = run.first; at < run.end; at++)
					if (asked[at])
						ck_abort_msg("asked for twice");
					else
						asked[at] = true;
				mirror_blocks_ask(&blocks, n, &run);
			}
			ck_assert_uint_le(blocks.n_came, MIRROR_RUNS_MAX);
			front = mirror_blocks_reach(&blocks, front);
		}
		ck_assert_uint_eq(blocks.n_came, 1);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("blocks");
	TCase *tcase = tcase_create("blocks");
	tcase_add_test(tcase, blocks_come_in_order);
	tcase_add_test(tcase, no_block_begins_too_far_before_the_front);
	tcase_add_test(tcase, the_nearest_awaited_block_is_fetched_first);
	tcase_add_test(tcase, any_order);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
