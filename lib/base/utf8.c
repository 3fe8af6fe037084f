#include "base/utf8.h"

size_t cairn_utf8_sequence(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) /* also stops at a terminating zero */
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

uint32_t cairn_utf8_character(const uint8_t *p, size_t n)
{
	if (n == 1)
		return p[0];
	uint32_t c = p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

size_t cairn_utf8_encode(uint8_t out[static 4], uint32_t character)
{
	if (character < 0x80) {
		out[0] = (uint8_t)character;
		return 1;
	}
	size_t n = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (uint8_t)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	out[0] = (uint8_t)(0xf00 >> n | character);
	return n;
}
