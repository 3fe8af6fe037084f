#include "server/ask/html.h"

#include "base/percent.h"
#include "base/utf8.h"
#include "base/visible.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char HTML_REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD, the replacement character */

static const char *html_entity(uint8_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? HTML_REPLACEMENT : NULL;
	}
}

/* Is the character unsafe? Characters that change the direction of text would make a name look like another. HTML
 * parsers replace U+0080 to U+009F, and non-characters are invalid in HTML. */
static bool html_is_wrong(uint32_t c)
{
	return cairn_visible_steers(c) || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

void html_text(struct cairn_buf *b, const char *text)
{
	html_bytes(b, text, strlen(text));
}

void html_bytes(struct cairn_buf *b, const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	for (size_t left = len; left > 0;) {
		size_t n = cairn_utf8_sequence(p, left);
		const char *instead = n == 0 ? HTML_REPLACEMENT : n == 1 ? html_entity(*p) : NULL;
		if (n > 1 && html_is_wrong(cairn_utf8_character(p, n)))
			instead = HTML_REPLACEMENT;
		if (instead)
			cairn_buf_add(b, instead, strlen(instead));
		else
			cairn_buf_add(b, p, n);
		n += n == 0;
		p += n;
		left -= n;
	}
}

void html_cut(struct cairn_buf *b, const char *text, size_t max)
{
	size_t len = 0, n = 1, left = strlen(text);
	for (; left > 0 && len + n <= max; left -= n) {
		n = cairn_utf8_sequence((const uint8_t *)text + len, left);
		n += n == 0;
		if (len + n > max)
			break;
		len += n;
	}
	html_bytes(b, text, len);
	if (text[len])
		html(b, "…");
}

void html_name(struct cairn_buf *b, const char *name)
{
	html(b, "<bdi>");
	for (const char *slash = strchr(name, '/'); slash && slash[1]; slash = strchr(name, '/')) {
		html_bytes(b, name, (size_t)(slash + 1 - name));
		html(b, "<wbr>");
		name = slash + 1;
	}
	html(b, "%s</bdi>", name);
}

void html_path(struct cairn_buf *b, const char *path)
{
	size_t room = 3 * strlen(path) + 1, before = b->len;
	char *out = (char *)cairn_buf_extend(b, room);
	if (!out)
		return;
	cairn_percent_encode(out, path, CAIRN_PERCENT_PATH);
	b->len = before + strlen(out);
}

/* Formats a number by the specification that follows the "%". @return how many bytes of the format were used */
static size_t html_number(struct cairn_buf *b, const char *form, va_list *args)
{
	size_t len = strspn(form, "lz");
	bool wide = len > 0;
	char text[24];
	if (form[len] == 'u')
		(void)snprintf(text, sizeof(text), "%lu",
			       wide ? va_arg(*args, unsigned long) : va_arg(*args, unsigned));
	else
		(void)snprintf(text, sizeof(text), "%ld", wide ? va_arg(*args, long) : va_arg(*args, int));
	cairn_buf_add(b, text, strlen(text));
	return len + 1;
}

void html(struct cairn_buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	for (const char *p = format; *p;) {
		size_t len = strcspn(p, "%");
		cairn_buf_add(b, p, len);
		p += len;
		if (!*p)
			break;
		p++;
		if (*p == 's') {
			html_text(b, va_arg(args, const char *));
			p++;
		} else if (*p == '%') {
			cairn_buf_add(b, p++, 1);
		} else {
			p += html_number(b, p, &args);
		}
	}
	va_end(args);
}

const char *html_root(const char *base)
{
	const char *host = strstr(base, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	return path ? path : "";
}

/* Does a local address follow the equals sign of an attribute? Two slashes begin the name of a host. */
static bool html_is_address(const char *start, const char *quote)
{
	static const char *const NAMES[] = {" href=", " src=", " action=", " formaction="};
	size_t before = (size_t)(quote - start);
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		size_t len = strlen(NAMES[i]);
		if (before >= len && memcmp(quote - len, NAMES[i], len) == 0)
			return quote[1] == '/' && quote[2] != '/';
	}
	return false;
}

void html_move(struct cairn_buf *b, const char *base)
{
	const char *root = html_root(base);
	if (!root[0] || b->status != CAIRN_OK)
		return;
	struct cairn_buf out = cairn_buf_init(b->max);
	cairn_buf_add(b, "", 1); /* the zero ends the text, so that strstr() can search it */
	const char *start = (const char *)b->bytes, *from = start;
	for (const char *quote = start; b->status == CAIRN_OK && (quote = strchr(quote, '"')); quote++) {
		if (!html_is_address(start, quote))
			continue;
		cairn_buf_add(&out, from, (size_t)(quote + 1 - from));
		html_text(&out, root);
		from = quote + 1;
	}
	if (b->status == CAIRN_OK)
		cairn_buf_add(&out, from, b->len - 1 - (size_t)(from - start));
	else
		out.status = b->status;
	cairn_buf_fini(b);
	*b = out;
}
