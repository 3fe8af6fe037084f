#include "hash/hash.h"

#include "base/bytes.h"

#include <string.h>

/* Two digits a byte, looked up at once: this runs twice for each chunk of each upload. */
static const char DIGIT_PAIRS[513] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
				     "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
				     "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
				     "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
				     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
				     "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
				     "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
				     "e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/* Byte of the hash that the i-th pair of digits shows, and back: each group of 8 is reversed. */
static size_t hash_text_order(size_t i)
{
	return i ^ 7;
}

void cairn_hash_text(char out[static CAIRN_HASH_TEXT_BYTES], const struct cairn_hash *hash)
{
	for (size_t i = 0; i < CAIRN_HASH_BYTES; i++)
		memcpy(out + 2 * i, DIGIT_PAIRS + (size_t)2 * hash->b[hash_text_order(i)], 2);
	out[64] = '\0';
}

void cairn_hex_text(char *out, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy(out + 2 * i, DIGIT_PAIRS + (size_t)2 * bytes[i], 2);
	out[2 * n] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

enum cairn_status cairn_hex_parse(uint8_t *out, size_t n, const char *text, size_t len)
{
	if (len != 2 * n)
		return CAIRN_E_FORMAT;
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return CAIRN_E_FORMAT;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_hash_parse(struct cairn_hash *out, const char *text, size_t len)
{
	uint8_t shown[CAIRN_HASH_BYTES];
	enum cairn_status status = cairn_hex_parse(shown, sizeof(shown), text, len);
	if (status != CAIRN_OK)
		return status;
	for (size_t i = 0; i < CAIRN_HASH_BYTES; i++)
		out->b[hash_text_order(i)] = shown[i];
	return CAIRN_OK;
}

bool cairn_hash_equal(const struct cairn_hash *a, const struct cairn_hash *b)
{
	return memcmp(a->b, b->b, CAIRN_HASH_BYTES) == 0;
}

bool cairn_hash_is_zero(const struct cairn_hash *hash)
{
	static const struct cairn_hash zero;
	return cairn_hash_equal(hash, &zero);
}

uint64_t cairn_hash_tail(const struct cairn_hash *hash)
{
	return cairn_get_u64le(hash->b + CAIRN_HASH_BYTES - 8);
}

bool cairn_hash_is_eligible(const struct cairn_hash *chunk)
{
	return cairn_hash_tail(chunk) % 1024 == 0;
}
