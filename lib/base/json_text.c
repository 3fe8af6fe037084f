#include "base/json_text.h"

#include "base/utf8.h"
#include "base/vec16.h"
#include "base/visible.h"

#include <string.h>

/* Tests 16 characters at once, because every log line and every error message passes here. @return not zero for a
 * character that needs an escape, or begins UTF-8 */
static cairn_vec16 json_text_special_16(cairn_vec16 c)
{
	return ~cairn_vec16_is_within(c, ' ', '~') | (cairn_vec16)(c == '"') | (cairn_vec16)(c == '\\');
}

/* Appends the character of n bytes at p; n is 0 if it is not valid. */
static void json_text_special(struct cairn_buf *out, const uint8_t *p, size_t n)
{
	uint32_t c = n > 1 ? cairn_utf8_character(p, n) : 0;
	if (n > 1 && cairn_visible_steers(c))
		cairn_buf_printf(out, "\\u%04x", c);
	else if (n > 1)
		cairn_buf_add(out, p, n);
	else if (n == 0)
		cairn_buf_add(out, "\xef\xbf\xbd", 3);
	else if (*p == '"' || *p == '\\')
		cairn_buf_add(out, (char[]){'\\', (char)*p}, 2);
	else
		cairn_buf_printf(out, "\\u%04x", *p);
}

static void json_text_plain(struct cairn_buf *out, const uint8_t *p, size_t n)
{
	uint8_t *at = cairn_buf_extend(out, n + 2);
	if (!at)
		return;
	at[0] = '"';
	memcpy(at + 1, p, n);
	at[n + 1] = '"';
}

bool cairn_json_text_is_plain(const char *text, size_t len)
{
	return cairn_vec16_none(text, len, json_text_special_16);
}

void cairn_json_text(struct cairn_buf *out, const char *text, size_t bytes_max)
{
	size_t len = strnlen(text, bytes_max);
	const uint8_t *p = (const uint8_t *)text, *end = p + len;
	if (cairn_json_text_is_plain(text, len)) { /* nearly every text is plain */
		json_text_plain(out, p, len);
		return;
	}
	cairn_buf_add(out, "\"", 1);
	while (p < end) {
		size_t run = cairn_vec16_run(p, (size_t)(end - p), json_text_special_16);
		cairn_buf_add(out, p, run);
		p += run;
		size_t n = p < end ? cairn_utf8_sequence(p, SIZE_MAX) : 1;
		if (n > (size_t)(end - p))
			break;
		json_text_special(out, p, n);
		p += n ? n : 1;
	}
	cairn_buf_add(out, "\"", 1);
}
