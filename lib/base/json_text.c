#include "base/json_text.h"

/* Length of the well-formed UTF-8 sequence at p; 0: it is none (overlong forms, surrogates, past U+10FFFF). */
static size_t json_text_sequence(const uint8_t *p)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) /* also stops at the terminating zero */
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static bool json_text_is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Append the character at p, n bytes of it (0: none that is valid). */
static void json_text_special(struct cairn_buf *out, const uint8_t *p, size_t n)
{
	if (n > 1)
		cairn_buf_add(out, p, n);
	else if (n == 0)
		cairn_buf_add(out, "\xef\xbf\xbd", 3);
	else if (*p == '"' || *p == '\\')
		cairn_buf_add(out, (char[]){'\\', (char)*p}, 2);
	else
		cairn_buf_printf(out, "\\u%04x", *p);
}

void cairn_json_text(struct cairn_buf *out, const char *text, size_t bytes_max)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t left = bytes_max;
	cairn_buf_add(out, "\"", 1);
	while (*p && left > 0) {
		size_t run = 0;
		while (run < left && json_text_is_plain(p[run]))
			run++;
		cairn_buf_add(out, p, run);
		p += run;
		left -= run;
		size_t n = left > 0 && *p ? json_text_sequence(p) : left + 1;
		if (n > left)
			break;
		json_text_special(out, p, n);
		p += n ? n : 1;
		left -= n ? n : 1;
	}
	cairn_buf_add(out, "\"", 1);
}
