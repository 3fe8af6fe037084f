/* Processes 16 bytes at once, by vector types of the compiler, which become SSE2 or NEON. */
#ifndef CAIRN_BASE_VEC16_H
#define CAIRN_BASE_VEC16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t cairn_vec16 __attribute__((vector_size(16)));

static inline cairn_vec16 cairn_vec16_load(const void *bytes)
{
	cairn_vec16 v;
	memcpy(&v, bytes, sizeof(v));
	return v;
}

/** Builds a vector from two words in memory order, without storing them. */
static inline cairn_vec16 cairn_vec16_of(uint64_t first, uint64_t second)
{
	typedef uint64_t words __attribute__((vector_size(16)));
	return (cairn_vec16)(words){first, second};
}

static inline void cairn_vec16_store(void *out, cairn_vec16 v)
{
	memcpy(out, &v, sizeof(v));
}

/** Interleaves the first 8 bytes of both: a0 b0 a1 b1 ... */
static inline cairn_vec16 cairn_vec16_zip_low(cairn_vec16 a, cairn_vec16 b)
{
	return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/** Interleaves the last 8 bytes of both. */
static inline cairn_vec16 cairn_vec16_zip_high(cairn_vec16 a, cairn_vec16 b)
{
	return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/** Returns every other byte of both, from the first on: reverses cairn_vec16_zip_low() and _high(). */
static inline cairn_vec16 cairn_vec16_unzip_first(cairn_vec16 a, cairn_vec16 b)
{
	return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

/** Does what cairn_vec16_unzip_first() does, from the second byte on. */
static inline cairn_vec16 cairn_vec16_unzip_second(cairn_vec16 a, cairn_vec16 b)
{
	return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

static inline bool cairn_vec16_is_zero(cairn_vec16 v)
{
	uint64_t words[2];
	memcpy(words, &v, sizeof(v));
	return (words[0] | words[1]) == 0;
}

/** Loads the last 16 of len bytes; len is at least 1. Fewer than 16 bytes fill the vector, some of them repeated. */
static inline cairn_vec16 cairn_vec16_load_last(const uint8_t *bytes, size_t len)
{
	const uint64_t each = UINT64_C(0x01010101);
	uint64_t first, last;
	uint32_t half[2];
	if (len >= 16)
		return cairn_vec16_load(bytes + len - 16);
	if (len >= 8) {
		memcpy(&first, bytes, 8);
		memcpy(&last, bytes + len - 8, 8);
	} else if (len >= 4) {
		memcpy(&half[0], bytes, 4);
		memcpy(&half[1], bytes + len - 4, 4);
		first = last = (uint64_t)half[0] << 32 | half[1];
	} else {
		first = bytes[0] * (each << 32 | each);
		last = bytes[len / 2] * each << 32 | bytes[len - 1] * each;
	}
	return cairn_vec16_of(first, last);
}

/** Sets all bits of each byte from first to last, and clears the others. */
static inline cairn_vec16 cairn_vec16_is_within(cairn_vec16 bytes, uint8_t first, uint8_t last)
{
	return (cairn_vec16)(bytes - first <= (uint8_t)(last - first));
}

/** Does what cairn_vec16_is_within() does, for ASCII letters. */
static inline cairn_vec16 cairn_vec16_is_letter(cairn_vec16 bytes)
{
	return cairn_vec16_is_within(bytes | 0x20, 'a', 'z');
}

/** Is none of len bytes wrong? @param wrong  returns not zero for a wrong byte */
static inline bool cairn_vec16_none(const void *bytes, size_t len, cairn_vec16 (*wrong)(cairn_vec16))
{
	const uint8_t *p = bytes;
	cairn_vec16 found = {0};
	if (len == 0)
		return true;
	for (size_t i = 0; i + 16 < len; i += 16)
		found |= wrong(cairn_vec16_load(p + i));
	return cairn_vec16_is_zero(found | wrong(cairn_vec16_load_last(p, len)));
}

/** Counts the bytes before the first wrong one of len. @param wrong  returns not zero for a wrong byte */
static inline size_t cairn_vec16_run(const void *bytes, size_t len, cairn_vec16 (*wrong)(cairn_vec16))
{
	const uint8_t *p = bytes;
	size_t n = 0;
	while (n + 16 <= len && cairn_vec16_is_zero(wrong(cairn_vec16_load(p + n))))
		n += 16;
	while (n < len && cairn_vec16_none(p + n, 1, wrong))
		n++;
	return n;
}

#endif
