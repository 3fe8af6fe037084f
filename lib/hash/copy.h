/* Which copy of an object: a name that was made for one upload and is used once. */
#ifndef CAIRN_HASH_COPY_H
#define CAIRN_HASH_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CAIRN_COPY_BYTES = 16 };

/** Zeroed: none is named, and of several the store's own order tells which one counts. */
struct cairn_copy {
	uint8_t b[CAIRN_COPY_BYTES];
};

static inline bool cairn_copy_equal(const struct cairn_copy *a, const struct cairn_copy *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static inline bool cairn_copy_is_named(const struct cairn_copy *copy)
{
	static const struct cairn_copy NONE;
	return !cairn_copy_equal(copy, &NONE);
}

#endif
