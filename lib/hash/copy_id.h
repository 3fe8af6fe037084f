/* Identifies a copy of an object by a name that is made for one upload and used once. */
#ifndef CAIRN_HASH_COPY_ID_H
#define CAIRN_HASH_COPY_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CAIRN_COPY_ID_BYTES = 16 };

/** A UUID of version 7, which begins with its time. Zeroed: none; then the store's order decides which copy counts. */
struct cairn_copy_id {
	uint8_t b[CAIRN_COPY_ID_BYTES];
};

/** Returns the time of the copy in milliseconds since 1970, by the clock of the machine that made it. */
static inline int64_t cairn_copy_id_unix_ms(const struct cairn_copy_id *copy)
{
	int64_t ms = 0;
	for (unsigned i = 0; i < 6; i++)
		ms = ms << 8 | copy->b[i];
	return ms;
}

static inline void cairn_copy_id_set_unix_ms(struct cairn_copy_id *copy, int64_t ms)
{
	for (unsigned i = 0; i < 6; i++)
		copy->b[i] = (uint8_t)((uint64_t)ms >> (8 * (5 - i)));
}

static inline bool cairn_copy_id_equal(const struct cairn_copy_id *a, const struct cairn_copy_id *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static inline bool cairn_copy_id_is_set(const struct cairn_copy_id *copy)
{
	static const struct cairn_copy_id NONE;
	return !cairn_copy_id_equal(copy, &NONE);
}

#endif
