#include "base/json_text.h"

#include "base/utf8.h"

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
		size_t n = left > 0 && *p ? cairn_utf8_sequence(p, SIZE_MAX) : left + 1;
		if (n > left)
			break;
		json_text_special(out, p, n);
		p += n ? n : 1;
		left -= n ? n : 1;
	}
	cairn_buf_add(out, "\"", 1);
}
