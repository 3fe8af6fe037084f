#include "base/percent.h"

#include <stdint.h>
#include <string.h>

/* Encodes a byte. @return number of bytes written: 1, or 3 */
static size_t percent_encode_byte(char out[static 3], char c, const char *plain)
{
	static const char HEX[] = "0123456789ABCDEF";
	if (strchr(plain, c)) {
		out[0] = c;
		return 1;
	}
	out[0] = '%';
	out[1] = HEX[(uint8_t)c >> 4];
	out[2] = HEX[c & 15];
	return 3;
}

void cairn_percent_encode(char *out, const char *text, const char *plain)
{
	for (; *text; text++)
		out += percent_encode_byte(out, *text, plain);
	*out = '\0';
}

void cairn_percent_add(struct cairn_buf *out, const char *text, const char *plain)
{
	for (; *text; text++) {
		char bytes[3];
		cairn_buf_add(out, bytes, percent_encode_byte(bytes, *text, plain));
	}
}

static int percent_hex(char c)
{
	static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(DIGITS, c) : NULL;
	return at ? (int)((at - DIGITS) % 16) : -1;
}

bool cairn_percent_decode(char *out, size_t size, const char *text)
{
	size_t n = 0;
	for (const char *p = text; *p && n + 1 < size; p++) {
		int high = *p == '%' ? percent_hex(p[1]) : 0, low = *p == '%' && high >= 0 ? percent_hex(p[2]) : 0;
		if (high < 0 || low < 0 || (*p == '%' && high == 0 && low == 0))
			break;
		out[n++] = *p == '%' ? (char)(high * 16 + low) : *p;
		if (*p == '%')
			p += 2;
		if (p[1] == '\0') {
			out[n] = '\0';
			return true;
		}
	}
	out[0] = '\0';
	return *text == '\0';
}
