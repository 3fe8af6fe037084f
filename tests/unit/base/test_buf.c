#include "base/buf.h"
#include "base/bytes.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(buf_appends)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(1000);
	ck_assert_ptr_null(b.bytes);
	ck_assert_ptr_nonnull(cairn_buf_extend(&b, 0)); /* because NULL means a failure */
	cairn_buf_add(&b, "ab", 2);
	cairn_buf_add(&b, NULL, 0);
	cairn_buf_u32le(&b, 0x04030201);
	cairn_buf_u64le(&b, 0x0c0b0a0908070605u);
	cairn_buf_fill(&b, 'z', 3);
	cairn_buf_fill(&b, 'z', 0);
	cairn_buf_printf(&b, "%d%s", 42, "!");
	memcpy(cairn_buf_extend(&b, 1), "e", 1);
	static const char EXPECTED[] = "ab\1\2\3\4\5\6\7\10\11\12\13\14zzz42!e";
	ck_assert_uint_eq(b.len, sizeof(EXPECTED) - 1);
	ck_assert_int_eq(memcmp(b.bytes, EXPECTED, b.len), 0);
	ck_assert_int_eq(b.status, CAIRN_OK);
}
END_TEST

/* A buffer can be filled to the last byte. A further byte is refused and changes nothing. Later writes are, too. */
START_TEST(buf_limit)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(1000);
	cairn_buf_fill(&b, 'x', 999);
	cairn_buf_add(&b, "y", 1);
	ck_assert_int_eq(b.status, CAIRN_OK);
	ck_assert_uint_eq(b.len, 1000);
	ck_assert_uint_le(b.cap, 1000);
	ck_assert_ptr_null(cairn_buf_extend(&b, 1));
	ck_assert_int_eq(b.status, CAIRN_E_LIMIT);
	b.len = 10;
	cairn_buf_add(&b, "y", 1);
	cairn_buf_u32le(&b, 1);
	cairn_buf_u64le(&b, 1);
	cairn_buf_fill(&b, 1, 1);
	cairn_buf_printf(&b, "x");
	ck_assert_uint_eq(b.len, 10);
}
END_TEST

START_TEST(buf_huge_requests)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(1000);
	cairn_buf_fill(&b, 'x', 10);
	ck_assert_ptr_null(cairn_buf_extend(&b, SIZE_MAX));
	ck_assert_int_eq(b.status, CAIRN_E_LIMIT);
	ck_assert_uint_eq(b.len, 10);
	struct cairn_buf none = cairn_buf_init(0);
	cairn_buf_add(&none, "x", 1);
	ck_assert_int_eq(none.status, CAIRN_E_LIMIT);
}
END_TEST

/* Grows step by step, and keeps its contents. */
START_TEST(buf_grows)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(1 << 20);
	for (uint32_t i = 0; i < 1 << 18; i++)
		cairn_buf_u32le(&b, i);
	ck_assert_int_eq(b.status, CAIRN_OK);
	for (uint32_t i = 0; i < 1 << 18; i++)
		ck_assert_uint_eq(cairn_get_u32le(b.bytes + 4 * (size_t)i), i);
	cairn_buf_fini(&b);
	ck_assert_uint_eq(b.len, 0);
	cairn_buf_add(&b, "again", 5);
	ck_assert_int_eq(memcmp(b.bytes, "again", 5), 0);
}
END_TEST

START_TEST(buf_integers)
{
	uint8_t bytes[8];
	cairn_put_u16le(bytes, 0xfedc);
	ck_assert_uint_eq(cairn_get_u16le(bytes), 0xfedc);
	ck_assert_uint_eq(bytes[0], 0xdc);
	cairn_put_u24le(bytes, 0xfedcba);
	ck_assert_uint_eq(cairn_get_u24le(bytes), 0xfedcba);
	ck_assert_uint_eq(bytes[2], 0xfe);
	cairn_put_u32le(bytes, 0xfedcba98);
	ck_assert_uint_eq(cairn_get_u32le(bytes), 0xfedcba98);
	cairn_put_u64le(bytes, 0xfedcba9876543210u);
	ck_assert_uint_eq(cairn_get_u64le(bytes), 0xfedcba9876543210u);
	ck_assert_uint_eq(bytes[0], 0x10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buf");
	TCase *tcase = tcase_create("buf");
	tcase_add_test(tcase, buf_appends);
	tcase_add_test(tcase, buf_limit);
	tcase_add_test(tcase, buf_huge_requests);
	tcase_add_test(tcase, buf_grows);
	tcase_add_test(tcase, buf_integers);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
