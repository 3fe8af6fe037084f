/* Saturating sums: values from rows may be damaged, so a sum that overflows stops at the limit. */
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

#endif
