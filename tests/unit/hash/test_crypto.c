#include "hash/blake2b.h"
#include "hash/crc32c.h"
#include "hash/crypto.h"
#include "hash/hash.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Example of FIPS 180, in one piece and in three. */
START_TEST(crypto_sha256)
{
	uint8_t sum[CAIRN_SHA256_BYTES];
	char text[2 * CAIRN_SHA256_BYTES + 1];
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *whole = cairn_sha256_new();
	cairn_sha256_add(whole, "abc", 3);
	cairn_sha256_end(whole, sum);
	cairn_hex_text(text, sum, sizeof(sum));
	ck_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *pieces = cairn_sha256_new();
	for (size_t i = 0; i < 3; i++)
		cairn_sha256_add(pieces, &"abc"[i], 1);
	cairn_sha256_end(pieces, sum);
	cairn_hex_text(text, sum, sizeof(sum));
	ck_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	cairn_sha256_free(NULL);
}
END_TEST

/* Examples of RFC 1321. */
START_TEST(crypto_md5)
{
	uint8_t sum[CAIRN_MD5_BYTES];
	char text[2 * CAIRN_MD5_BYTES + 1];
	ck_assert_int_eq(cairn_md5(sum, "message digest", 14), CAIRN_OK);
	cairn_hex_text(text, sum, sizeof(sum));
	ck_assert_str_eq(text, "f96b697d7cb7938d525a2f31aaf161d0");
}
END_TEST

/* Test case 3 of RFC 5869: no salt, no info. */
START_TEST(crypto_hkdf)
{
	uint8_t secret[22], out[42], other[42];
	char text[2 * sizeof(out) + 1];
	memset(secret, 0x0b, sizeof(secret));
	ck_assert_int_eq(cairn_hkdf_sha256(out, sizeof(out), secret, sizeof(secret), "", 0), CAIRN_OK);
	cairn_hex_text(text, out, sizeof(out));
	ck_assert_str_eq(text, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
			       "9d201395faa4b61a96c8");
	ck_assert_int_eq(cairn_hkdf_sha256(other, sizeof(other), secret, sizeof(secret), "x", 1), CAIRN_OK);
	ck_assert_int_ne(memcmp(out, other, sizeof(out)), 0);
}
END_TEST

START_TEST(crypto_random)
{
	uint8_t a[32] = {0}, b[32] = {0};
	ck_assert_int_eq(cairn_random(a, sizeof(a)), CAIRN_OK);
	ck_assert_int_eq(cairn_random(b, sizeof(b)), CAIRN_OK);
	ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
}
END_TEST

START_TEST(crypto_secret_equal)
{
	ck_assert(cairn_secret_equal("abc", "abc", 3));
	ck_assert(!cairn_secret_equal("abc", "abd", 3));
	ck_assert(!cairn_secret_equal("abc", "xbc", 3));
	ck_assert(cairn_secret_equal("abc", "abd", 2));
	ck_assert(cairn_secret_equal("a", "b", 0));
}
END_TEST

START_TEST(crypto_crc32c)
{
	ck_assert_uint_eq(cairn_crc32c(0, "", 0), 0);
	ck_assert_uint_eq(cairn_crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(cairn_crc32c(cairn_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}
END_TEST

START_TEST(crypto_blake2b)
{
	/* result of hashlib.blake2b(b"abc", digest_size=32) */
	static const uint8_t expected[CAIRN_BLAKE2B_BYTES] = {
		0xbd, 0xdd, 0x81, 0x3c, 0x63, 0x42, 0x39, 0x72, 0x31, 0x71, 0xef, 0x3f, 0xee, 0x98, 0x57, 0x9b,
		0x94, 0x96, 0x4e, 0x3b, 0xb1, 0xcb, 0x3e, 0x42, 0x72, 0x62, 0xc8, 0xc0, 0x68, 0xd5, 0x23, 0x19};
	uint8_t got[CAIRN_BLAKE2B_BYTES];
	cairn_blake2b(got, "abc", 3);
	ck_assert_mem_eq(got, expected, sizeof(expected));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crypto");
	TCase *tcase = tcase_create("crypto");
	tcase_add_test(tcase, crypto_sha256);
	tcase_add_test(tcase, crypto_md5);
	tcase_add_test(tcase, crypto_crc32c);
	tcase_add_test(tcase, crypto_blake2b);
	tcase_add_test(tcase, crypto_hkdf);
	tcase_add_test(tcase, crypto_random);
	tcase_add_test(tcase, crypto_secret_equal);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
