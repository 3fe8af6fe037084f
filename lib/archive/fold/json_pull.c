#include "archive/fold/json_pull.h"

#include "base/utf8.h"

#include <string.h>

enum { PULL_END = 256 }; /* no byte */

struct cairn_json_pull cairn_json_pull_init(const void *text, size_t len)
{
	return (struct cairn_json_pull){.text = text, .len = len};
}

bool cairn_json_pull_fail(struct cairn_json_pull *p, const char *what)
{
	if (!p->bad)
		p->bad = what;
	return false;
}

/* Returns the next byte. No other function reads the text byte by byte. */
static unsigned pull_byte(const struct cairn_json_pull *p)
{
	return p->bad || p->at >= p->len ? PULL_END : p->text[p->at];
}

static void pull_space(struct cairn_json_pull *p)
{
	for (unsigned c = pull_byte(p); c == ' ' || c == '\n' || c == '\r' || c == '\t'; c = pull_byte(p))
		p->at++;
}

static bool pull_take(struct cairn_json_pull *p, char c)
{
	if (pull_byte(p) != (unsigned char)c)
		return false;
	p->at++;
	return true;
}

char cairn_json_pull_peek(struct cairn_json_pull *p)
{
	pull_space(p);
	unsigned c = pull_byte(p);
	if (c == '-' || c == 'N' || c == 'I' || (c >= '0' && c <= '9'))
		return '0';
	return c != PULL_END && c != 0 && strchr("{[\"tfn", (int)c) ? (char)c : 0;
}

bool cairn_json_pull_open(struct cairn_json_pull *p, char type)
{
	if (cairn_json_pull_peek(p) != type)
		return cairn_json_pull_fail(p, type == '{' ? "an object belongs here" : "an array belongs here");
	if (p->depth == CAIRN_JSON_PULL_DEPTH_MAX)
		return cairn_json_pull_fail(p, "nested too deeply");
	p->depth++;
	p->at++;
	return true;
}

/* Steps to the next element or member. */
static bool pull_next(struct cairn_json_pull *p, bool *first, char close)
{
	pull_space(p);
	if (pull_take(p, close)) {
		p->depth--;
		return false;
	}
	if (!*first && !pull_take(p, ','))
		return cairn_json_pull_fail(p, "a comma or the end of the object or array belongs here");
	*first = false;
	return !p->bad;
}

bool cairn_json_pull_member(struct cairn_json_pull *p, bool *first, struct cairn_buf *name)
{
	if (!pull_next(p, first, '}'))
		return false;
	name->len = 0;
	if (!cairn_json_pull_string(p, name))
		return false;
	pull_space(p);
	return pull_take(p, ':') || cairn_json_pull_fail(p, "a colon belongs here");
}

bool cairn_json_pull_element(struct cairn_json_pull *p, bool *first)
{
	return pull_next(p, first, ']');
}

/* Reads four hexadecimal digits. */
static bool pull_hex(struct cairn_json_pull *p, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++) {
		unsigned c = pull_byte(p);
		unsigned digit = c - '0';
		if (digit > 9)
			digit = (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 16;
		if (digit > 15)
			return cairn_json_pull_fail(p, "four hexadecimal digits belong here");
		*out = *out << 4 | digit;
		p->at++;
	}
	return true;
}

static bool pull_unicode(struct cairn_json_pull *p, struct cairn_buf *out)
{
	uint32_t c, low;
	if (!pull_hex(p, &c))
		return false;
	if (c >= 0xd800 && c < 0xe000) {
		if (c >= 0xdc00 || !pull_take(p, '\\') || !pull_take(p, 'u') || !pull_hex(p, &low) || low < 0xdc00 ||
		    low > 0xdfff)
			return cairn_json_pull_fail(p, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	}
	uint8_t bytes[4];
	cairn_buf_add(out, bytes, cairn_utf8_encode(bytes, c));
	return true;
}

static bool pull_escape(struct cairn_json_pull *p, struct cairn_buf *out)
{
	static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
	unsigned c = pull_byte(p);
	if (c == 'u') {
		p->at++;
		return pull_unicode(p, out);
	}
	const char *at = c != PULL_END && c != 0 ? strchr(FROM, (int)c) : NULL;
	if (!at)
		return cairn_json_pull_fail(p, "not an escape");
	p->at++;
	cairn_buf_add(out, &TO[at - FROM], 1);
	return true;
}

bool cairn_json_pull_string(struct cairn_json_pull *p, struct cairn_buf *out)
{
	pull_space(p);
	if (!pull_take(p, '"'))
		return cairn_json_pull_fail(p, "a string belongs here");
	for (;;) {
		size_t from = p->at;
		unsigned c = pull_byte(p);
		for (; c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; c = pull_byte(p))
			p->at++;
		cairn_buf_add(out, p->text + from, p->at - from);
		if (c == '"' || c == '\\') {
			p->at++;
			if (c == '"')
				return out->status == CAIRN_OK || cairn_json_pull_fail(p, "the string is too long");
			if (!pull_escape(p, out))
				return false;
			continue;
		}
		if (c < 0x20)
			return cairn_json_pull_fail(p, "a control character in a string");
		size_t n = c == PULL_END ? 0 : cairn_utf8_sequence(p->text + p->at, p->len - p->at);
		if (n == 0)
			return cairn_json_pull_fail(p, c == PULL_END ? "the text ends in a string" : "not UTF-8");
		cairn_buf_add(out, p->text + p->at, n);
		p->at += n;
	}
}

static bool pull_word(struct cairn_json_pull *p, const char *word)
{
	for (; *word; word++)
		if (!pull_take(p, *word))
			return cairn_json_pull_fail(p, "a value belongs here");
	return true;
}

static bool pull_digits(struct cairn_json_pull *p)
{
	size_t from = p->at;
	while (pull_byte(p) >= '0' && pull_byte(p) <= '9')
		p->at++;
	return p->at > from || cairn_json_pull_fail(p, "a digit belongs here");
}

static bool pull_number(struct cairn_json_pull *p)
{
	if (pull_byte(p) == 'N')
		return pull_word(p, "NaN");
	(void)pull_take(p, '-');
	if (pull_byte(p) == 'I')
		return pull_word(p, "Infinity");
	if (!pull_take(p, '0') && !pull_digits(p))
		return false;
	if (pull_take(p, '.') && !pull_digits(p))
		return false;
	if (pull_byte(p) != 'e' && pull_byte(p) != 'E')
		return true;
	p->at++;
	if (!pull_take(p, '+'))
		(void)pull_take(p, '-');
	return pull_digits(p);
}

bool cairn_json_pull_u64(struct cairn_json_pull *p, uint64_t max, uint64_t *out)
{
	static const char WRONG[] = "a whole number within its limits belongs here";
	if (cairn_json_pull_peek(p) != '0')
		return cairn_json_pull_fail(p, WRONG);
	struct cairn_json_pull number = *p;
	*out = 0;
	if (!pull_number(&number))
		return cairn_json_pull_fail(p, WRONG);
	for (size_t i = p->at; i < number.at; i++) {
		unsigned digit = (unsigned)p->text[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, digit, out) ||
		    *out > max)
			return cairn_json_pull_fail(p, WRONG);
	}
	p->at = number.at;
	return true;
}

/* Skips a nested value, names included, and checks its text. */
static bool pull_skip_nested(struct cairn_json_pull *p, char type, struct cairn_buf *scratch)
{
	bool first = true;
	if (!cairn_json_pull_open(p, type))
		return false;
	while (type == '{' ? cairn_json_pull_member(p, &first, scratch) : cairn_json_pull_element(p, &first)) {
		char inner = cairn_json_pull_peek(p);
		scratch->len = 0;
		if (inner == '{' || inner == '[' ? !pull_skip_nested(p, inner, scratch)
		    : inner == '"'               ? !cairn_json_pull_string(p, scratch)
						 : !cairn_json_pull_skip(p, NULL))
			return false;
	}
	return !p->bad;
}

bool cairn_json_pull_skip(struct cairn_json_pull *p, size_t *from)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf scratch = cairn_buf_init(p->len);
	char type = cairn_json_pull_peek(p);
	if (from)
		*from = p->at;
	switch (type) {
	case '{':
	case '[':
		return pull_skip_nested(p, type, &scratch);
	case '"':
		return cairn_json_pull_string(p, &scratch);
	case '0':
		return pull_number(p);
	case 't':
		return pull_word(p, "true");
	case 'f':
		return pull_word(p, "false");
	case 'n':
		return pull_word(p, "null");
	default:
		return cairn_json_pull_fail(p, "a value belongs here");
	}
}

bool cairn_json_pull_end(struct cairn_json_pull *p)
{
	pull_space(p);
	return !p->bad && (p->at == p->len || cairn_json_pull_fail(p, "the text goes on after its value"));
}
