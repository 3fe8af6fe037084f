#include "base/json_text.h"

#include <string.h>

/* Length of the well-formed UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates); 0: there is none. */
static size_t json_text_sequence(const unsigned char *p)
{
	if (p[0] < 0x80)
		return 1;
	size_t len = p[0] >= 0xc2 && p[0] <= 0xdf   ? 2
		     : p[0] >= 0xe0 && p[0] <= 0xef ? 3
		     : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
						    : 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

void cairn_json_text(struct cairn_buf *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	while (*p) {
		size_t len = json_text_sequence(p);
		if (len == 0)
			cairn_buf_add(out, "\xef\xbf\xbd", 3);
		else if (*p == '"' || *p == '\\')
			cairn_buf_printf(out, "\\%c", *p);
		else if (*p < 0x20)
			cairn_buf_printf(out, "\\u%04x", *p);
		else
			cairn_buf_add(out, p, len);
		p += len ? len : 1;
	}
}
