#include "base/visible.h"

#include "base/utf8.h"

#include <string.h>

bool cairn_visible_steers(uint32_t character)
{
	uint32_t c = character;
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void cairn_visible_text(struct cairn_buf *out, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	while (*p) {
		size_t n = cairn_utf8_sequence(p, SIZE_MAX);
		uint32_t c = n ? cairn_utf8_character(p, n) : 0;
		if (n <= 1 && cairn_visible_steers(c))
			cairn_buf_printf(out, "\\x%02x", *p);
		else if (cairn_visible_steers(c))
			cairn_buf_printf(out, "\\u%04x", c);
		else
			cairn_buf_add(out, p, n);
		p += n ? n : 1;
	}
}

void cairn_visible_json(struct cairn_buf *out, const char *json, size_t len)
{
	const uint8_t *p = (const uint8_t *)json, *end = p + len;
	while (p < end) {
		size_t n = cairn_utf8_sequence(p, (size_t)(end - p));
		uint32_t c = n ? cairn_utf8_character(p, n) : 0xfffd;
		if (c >= 0x20 && cairn_visible_steers(c))
			cairn_buf_printf(out, "\\u%04x", c);
		else
			cairn_buf_add(out, p, n ? n : 1);
		p += n ? n : 1;
	}
}
