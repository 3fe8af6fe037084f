#include "hash/hash.h"

#include "base/bytes.h"
#include "base/vec16.h"

#include <string.h>

/* Byte of the hash that the i-th pair of digits shows, and back: each group of 8 is reversed. */
static size_t hash_text_order(size_t i)
{
	return i ^ 7;
}

static cairn_vec16 hex_digits(cairn_vec16 nibbles)
{
	return nibbles + '0' + ((cairn_vec16)(nibbles > 9) & ('a' - '0' - 10));
}

/* 32 digits of 16 bytes: this runs twice for each chunk of each upload. */
static void hex_text_16(char *out, cairn_vec16 bytes)
{
	cairn_vec16 high = hex_digits(bytes >> 4), low = hex_digits(bytes & 15);
	cairn_vec16_store(out, cairn_vec16_zip_low(high, low));
	cairn_vec16_store(out + 16, cairn_vec16_zip_high(high, low));
}

void cairn_hash_text(char out[static CAIRN_HASH_TEXT_BYTES], const struct cairn_hash *hash)
{
	uint64_t words[4];
	memcpy(words, hash->b, sizeof(words));
	for (size_t i = 0; i < 4; i += 2)
		hex_text_16(out + 16 * i, cairn_vec16_of(__builtin_bswap64(words[i]), __builtin_bswap64(words[i + 1])));
	out[64] = '\0';
}

void cairn_hex_text(char *out, const uint8_t *bytes, size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16)
		hex_text_16(out + 2 * i, cairn_vec16_load(bytes + i));
	for (; i < n; i++) {
		out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

/* 0 to 15; more for what is no digit. Without a jump: which character comes next cannot be foretold. */
static unsigned hex_digit(char c)
{
	unsigned digit = (unsigned char)c - (unsigned)'0', letter = ((unsigned char)c | 0x20U) - (unsigned)'a';
	unsigned of_letter = letter < 6 ? letter + 10 : 16;
	return digit < 10 ? digit : of_letter;
}

enum cairn_status cairn_hex_parse(uint8_t *out, size_t n, const char *text, size_t len)
{
	unsigned seen = 0;
	if (len != 2 * n)
		return CAIRN_E_FORMAT;
	for (size_t i = 0; i < n; i++) {
		unsigned high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		out[i] = (uint8_t)(high << 4 | low);
		seen |= high | low;
	}
	return seen < 16 ? CAIRN_OK : CAIRN_E_FORMAT;
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
