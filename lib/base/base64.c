#include "base/base64.h"

#include <string.h>

static const char BASE64_DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char BASE64_PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cairn_base64url_encode(char *out, const uint8_t *bytes, size_t n)
{
	uint32_t bits = 0;
	unsigned n_bits = 0;
	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | bytes[i];
		n_bits += 8;
		while (n_bits >= 6) {
			n_bits -= 6;
			*out++ = BASE64_DIGITS[bits >> n_bits & 63];
		}
	}
	if (n_bits > 0)
		*out++ = BASE64_DIGITS[bits << (6 - n_bits) & 63];
	*out = '\0';
}

static enum cairn_status base64_decode(const char *digits, uint8_t *out, size_t max, size_t *n_out, const char *text,
				       size_t len)
{
	uint32_t bits = 0;
	unsigned n_bits = 0;
	*n_out = 0;
	for (size_t i = 0; i < len; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
		if (!digit)
			return CAIRN_E_FORMAT;
		bits = bits << 6 | (uint32_t)(digit - digits);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		if (*n_out == max)
			return CAIRN_E_LIMIT;
		n_bits -= 8;
		out[(*n_out)++] = (uint8_t)(bits >> n_bits);
	}
	/* The remaining 0, 2 or 4 bits fill the last digit, and must be zero. */
	return n_bits < 6 && (bits & ((1U << n_bits) - 1)) == 0 ? CAIRN_OK : CAIRN_E_FORMAT;
}

enum cairn_status cairn_base64url_decode(uint8_t *out, size_t max, size_t *n_out, const char *text, size_t len)
{
	return base64_decode(BASE64_DIGITS, out, max, n_out, text, len);
}

enum cairn_status cairn_base64_decode(uint8_t *out, size_t max, size_t *n_out, const char *text, size_t len)
{
	/* "=" is padding only if it completes a group of four characters. */
	bool padded = len >= 4 && len % 4 == 0;
	if (padded && text[len - 1] == '=')
		len -= text[len - 2] == '=' ? 2 : 1;
	return base64_decode(BASE64_PLAIN, out, max, n_out, text, len);
}
