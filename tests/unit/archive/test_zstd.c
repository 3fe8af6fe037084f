#include "archive/zstd.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* "hello" as a frame with its length, and as a frame without it (from a stream). */
static const uint8_t SIZED[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, 'h', 'e', 'l', 'l', 'o'};
static const uint8_t UNSIZED[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x29, 0x00, 0x00, 'h', 'e', 'l', 'l', 'o'};
/* A frame without content, which readers skip. */
static const uint8_t SKIPPED[] = {0x50, 0x2a, 0x4d, 0x18, 0x00, 0x00, 0x00, 0x00};

static enum cairn_status zstd_try(const uint8_t *bytes, size_t len, size_t n_out, struct cairn_diag *diag)
{
	CLEANUP(cairn_zstd_freep) struct cairn_zstd *z = cairn_zstd_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes in = vec_copy(bytes, len);
	CLEANUP(vec_bytes_fini) struct vec_bytes out = vec_copy((const uint8_t[64]){0}, n_out);
	*diag = (struct cairn_diag){0};
	enum cairn_status status = cairn_zstd_decompress(z, out.bytes, n_out, in.bytes, in.len, diag);
	ck_assert_int_eq(status != CAIRN_OK, diag->rule != NULL);
	if (status == CAIRN_OK && n_out == 5)
		ck_assert_mem_eq(out.bytes, "hello", 5);
	return status;
}

START_TEST(zstd_refuses_all_but_one_sized_frame)
{
	struct cairn_diag diag;
	ck_assert_int_eq(zstd_try(SIZED, sizeof(SIZED), 5, &diag), CAIRN_OK);
	ck_assert_int_eq(zstd_try(UNSIZED, sizeof(UNSIZED), 5, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "zstd.frame");
	ck_assert_int_eq(zstd_try(SKIPPED, sizeof(SKIPPED), 5, &diag), CAIRN_E_FORMAT);
	uint8_t two[2 * sizeof(SIZED)];
	memcpy(two, SIZED, sizeof(SIZED));
	memcpy(two + sizeof(SIZED), SIZED, sizeof(SIZED));
	ck_assert_int_eq(zstd_try(two, sizeof(two), 10, &diag), CAIRN_E_FORMAT);
	ck_assert_int_eq(zstd_try(two, sizeof(SIZED) + 1, 5, &diag), CAIRN_E_FORMAT);
}
END_TEST

START_TEST(zstd_refuses_other_lengths)
{
	struct cairn_diag diag;
	for (size_t n_out = 0; n_out < 8; n_out++) {
		if (n_out == 5)
			continue;
		ck_assert_int_eq(zstd_try(SIZED, sizeof(SIZED), n_out, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "zstd.length");
	}
}
END_TEST

START_TEST(zstd_refuses_short_frames)
{
	struct cairn_diag diag;
	for (size_t len = 0; len < sizeof(SIZED); len++)
		ck_assert_int_eq(zstd_try(SIZED, len, 5, &diag), CAIRN_E_FORMAT);
}
END_TEST

START_TEST(zstd_round_trips)
{
	CLEANUP(cairn_zstd_freep) struct cairn_zstd *z = cairn_zstd_new();
	static uint8_t raw[100000], packed[110000], back[100000];
	uint64_t state = 1;
	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(vec_splitmix64(&state) & 15);
	for (size_t len = 0; len <= sizeof(raw); len = len * 3 + 1) {
		for (int level = CAIRN_ZSTD_LEVEL_MIN; level <= CAIRN_ZSTD_LEVEL_MAX; level += 6) {
			size_t n = 0, none = 0;
			ck_assert_uint_le(cairn_zstd_bound(len), sizeof(packed));
			ck_assert_int_eq(cairn_zstd_compress(z, packed, cairn_zstd_bound(len), &n, raw, len, level),
					 CAIRN_OK);
			ck_assert_int_eq(cairn_zstd_compress(z, back, n - 1, &none, raw, len, level), CAIRN_E_LIMIT);
			ck_assert_int_eq(cairn_zstd_decompress(z, back, len, packed, n, NULL), CAIRN_OK);
			ck_assert_mem_eq(back, raw, len);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("zstd");
	TCase *tcase = tcase_create("zstd");
	tcase_add_test(tcase, zstd_refuses_all_but_one_sized_frame);
	tcase_add_test(tcase, zstd_refuses_other_lengths);
	tcase_add_test(tcase, zstd_refuses_short_frames);
	tcase_add_test(tcase, zstd_round_trips);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
