#include "base/decimal.h"

#include <string.h>

static const char DIGIT_PAIRS[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
	"49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
	"9899";

char *cairn_decimal_text(char *out, uint64_t n)
{
	uint64_t left = n;
	char *end = out + 1; /* found first; the digits are then written backwards from it */
	while (left >= 10) {
		left /= 10;
		end++;
	}
	char *from = end;
	for (; n >= 100; n /= 100) {
		from -= 2;
		memcpy(from, DIGIT_PAIRS + 2 * (n % 100), 2);
	}
	if (n >= 10)
		memcpy(out, DIGIT_PAIRS + 2 * n, 2);
	else
		*out = (char)('0' + n);
	return end;
}

bool cairn_decimal_read(const char **text, uint64_t *out)
{
	uint64_t n = 0;
	const char *p = *text;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, UINT64_C(10), &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	if (p == *text)
		return false;
	*text = p;
	*out = n;
	return true;
}

bool cairn_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t n;
	if (!cairn_decimal_read(&text, &n) || *text || n < min || n > max)
		return false;
	*out = n;
	return true;
}
