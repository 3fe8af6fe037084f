#include "base/cursor.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdlib.h>

static const uint8_t BYTES[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
				0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};

START_TEST(cursor_reads_in_order)
{
	struct cairn_cur c = cairn_cur_init(BYTES, sizeof(BYTES));
	ck_assert_uint_eq(cairn_cur_u8(&c), 0x01);
	ck_assert_uint_eq(cairn_cur_u32le(&c), 0x05040302);
	ck_assert_uint_eq(cairn_cur_u64le(&c), 0x0d0c0b0a09080706u);
	ck_assert_uint_eq(cairn_cur_offset(&c), 13);
	ck_assert_ptr_eq(cairn_cur_take(&c, 11), BYTES + 13);
	ck_assert_uint_eq(c.left, 0);
	ck_assert(!c.bad);
	ck_assert_ptr_eq(cairn_cur_take(&c, 0), BYTES + 24);
}
END_TEST

/* Reads succeed with just enough bytes. With one byte too few the cursor stays bad, and later reads return nothing. */
START_TEST(cursor_is_sticky)
{
	for (size_t have = 0; have <= 8; have++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_copy(BYTES, have);
		const struct cairn_cur fresh = cairn_cur_init(b.bytes, b.len);
		struct cairn_cur c = fresh;
		(void)cairn_cur_u8(&c);
		ck_assert(c.bad == (have < 1));
		c = fresh;
		ck_assert_uint_eq(cairn_cur_u32le(&c), have < 4 ? 0 : 0x04030201);
		ck_assert(c.bad == (have < 4));
		c = fresh;
		ck_assert_uint_eq(cairn_cur_u64le(&c), have < 8 ? 0 : 0x0807060504030201u);
		ck_assert(c.bad == (have < 8));
		if (!c.bad)
			continue;
		ck_assert_uint_eq(cairn_cur_offset(&c), 0);
		ck_assert_uint_eq(cairn_cur_u8(&c), 0);
		ck_assert_ptr_null(cairn_cur_take(&c, 0));
		ck_assert_ptr_null(cairn_cur_array(&c, 0, 1));
	}
}
END_TEST

START_TEST(cursor_huge_lengths)
{
	struct cairn_cur c = cairn_cur_init(BYTES, sizeof(BYTES));
	ck_assert_ptr_null(cairn_cur_take(&c, SIZE_MAX));
	ck_assert(c.bad);
}
END_TEST

START_TEST(cursor_array_is_bounded)
{
	static const struct {
		size_t n, elem_bytes;
		bool fits;
	} CASES[] = {
		{0, 48, true}, {24, 1, true},        {25, 1, false},        {3, 8, true},
		{4, 8, false}, {SIZE_MAX, 1, false}, {SIZE_MAX, 48, false}, {SIZE_MAX / 8 + 2, 8, false},
		{1, 24, true}, {1, SIZE_MAX, false},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		struct cairn_cur c = cairn_cur_init(BYTES, sizeof(BYTES));
		const uint8_t *at = cairn_cur_array(&c, CASES[i].n, CASES[i].elem_bytes);
		ck_assert_msg((at != NULL) == CASES[i].fits, "case %zu", i);
		ck_assert(c.bad != CASES[i].fits);
		if (at)
			ck_assert_uint_eq(cairn_cur_offset(&c), CASES[i].n * CASES[i].elem_bytes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cursor");
	TCase *tcase = tcase_create("cursor");
	tcase_add_test(tcase, cursor_reads_in_order);
	tcase_add_test(tcase, cursor_is_sticky);
	tcase_add_test(tcase, cursor_huge_lengths);
	tcase_add_test(tcase, cursor_array_is_bounded);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
