#include "server/ask/range_header.h"

#include "base/decimal.h"

#include <string.h>
#include <strings.h>

static const char *range_skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static bool range_one(const char **text, struct cairn_byte_range *out)
{
	const char *p = range_skip_blanks(*text);
	if (*p == '-') {
		p++;
		*out = (struct cairn_byte_range){.kind = CAIRN_RANGE_SUFFIX};
		if (!cairn_decimal_read(&p, &out->suffix_bytes))
			return false;
	} else {
		*out = (struct cairn_byte_range){.kind = CAIRN_RANGE_FROM_TO, .last = UINT64_MAX};
		if (!cairn_decimal_read(&p, &out->first) || *p++ != '-')
			return false;
		if (*p >= '0' && *p <= '9' && (!cairn_decimal_read(&p, &out->last) || out->last < out->first))
			return false;
	}
	*text = range_skip_blanks(p);
	return true;
}

size_t range_header_parse(struct cairn_byte_range *out, size_t max, const char *text)
{
	static const char UNIT[] = "bytes=";
	if (!text || strncasecmp(text, UNIT, sizeof(UNIT) - 1) != 0)
		return 0;
	const char *p = text + sizeof(UNIT) - 1;
	size_t n = 0;
	for (;; p++) {
		struct cairn_byte_range range;
		if (!range_one(&p, &range))
			return 0;
		if (n < max)
			out[n] = range;
		n++;
		if (*p == '\0' || n > max)
			return n;
		if (*p != ',')
			return 0;
	}
}
