#include "hash/hash.h"

#include "base/bytes.h"
#include "base/vec16.h"

#include <string.h>

static cairn_vec16 hex_digits(cairn_vec16 nibbles)
{
	return nibbles + '0' + ((cairn_vec16)(nibbles > 9) & ('a' - '0' - 10));
}

/* Writes 32 digits for 16 bytes. Vectorized, because it runs twice for each chunk of each upload. */
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

/* Returns the values of digits. @param wrong  becomes not zero at other characters */
static cairn_vec16 hex_nibbles(cairn_vec16 text, cairn_vec16 *wrong)
{
	cairn_vec16 digit = text - '0', letter = (text | 0x20) - 'a';
	cairn_vec16 is_digit = (cairn_vec16)(digit < 10), is_letter = (cairn_vec16)(letter < 6);
	*wrong |= ~(is_digit | is_letter);
	return (digit & is_digit) | ((letter + 10) & is_letter);
}

/* Reads 16 bytes from 32 digits. Vectorized, because every query, fetch and xorb has a hash. */
static cairn_vec16 hex_parse_16(const char *text, cairn_vec16 *wrong)
{
	cairn_vec16 first = hex_nibbles(cairn_vec16_load(text), wrong);
	cairn_vec16 second = hex_nibbles(cairn_vec16_load(text + 16), wrong);
	return cairn_vec16_unzip_first(first, second) << 4 | cairn_vec16_unzip_second(first, second);
}

enum cairn_status cairn_hex_parse(uint8_t *out, size_t n, const char *text, size_t len)
{
	cairn_vec16 wrong = {0};
	size_t i = 0;
	if (len != 2 * n)
		return CAIRN_E_FORMAT;
	for (; i + 16 <= n; i += 16)
		cairn_vec16_store(out + i, hex_parse_16(text + 2 * i, &wrong));
	if (i < n) {
		char last[32];
		uint8_t bytes[16];
		memset(last, '0', sizeof(last));
		memcpy(last, text + 2 * i, 2 * (n - i));
		cairn_vec16_store(bytes, hex_parse_16(last, &wrong));
		memcpy(out + i, bytes, n - i);
	}
	return cairn_vec16_is_zero(wrong) ? CAIRN_OK : CAIRN_E_FORMAT;
}

enum cairn_status cairn_hash_parse(struct cairn_hash *out, const char *text, size_t len)
{
	uint8_t shown[CAIRN_HASH_BYTES];
	enum cairn_status status = cairn_hex_parse(shown, sizeof(shown), text, len);
	if (status != CAIRN_OK)
		return status;
	for (size_t i = 0; i < CAIRN_HASH_BYTES; i += 8)
		cairn_put_u64be(out->b + i, cairn_get_u64le(shown + i)); /* each group of 8 is shown in reverse */
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
