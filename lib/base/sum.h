/* Saturating sums: values from rows may be damaged, so a sum that overflows stays at the limit. */
#ifndef CAIRN_BASE_SUM_H
#define CAIRN_BASE_SUM_H

#include <stdint.h>

static inline int64_t cairn_sum(int64_t a, int64_t b)
{
	int64_t out;
	if (!__builtin_add_overflow(a, b, &out))
		return out;
	return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t cairn_difference(int64_t a, int64_t b)
{
	int64_t out;
	if (!__builtin_sub_overflow(a, b, &out))
		return out;
	return b < 0 ? INT64_MAX : INT64_MIN;
}

/** Adds to a count. @param more  may be negative */
static inline void cairn_add(int64_t *count, int64_t more)
{
	*count = cairn_sum(*count, more);
}

/** Advances a number that is only compared for equality. The smallest number follows the largest: a number that stayed
 * at the limit would look unchanged. */
static inline void cairn_advance(int64_t *number)
{
	*number = *number == INT64_MAX ? INT64_MIN : *number + 1;
}

#endif
