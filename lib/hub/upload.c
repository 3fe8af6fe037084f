#include "hub/upload.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "index/hub/history.h"

#include <string.h>

enum {
	UPLOAD_SAMPLE_CHARS = 1024, /* clients send 512 bytes */
	UPLOAD_SEQUENCE_BYTES = 4,  /* bytes of the longest character in UTF-8 */
};

/* Are the bytes the beginning of a character that was cut? */
static bool upload_is_cut_character(const uint8_t *bytes, size_t len)
{
	if (len >= UPLOAD_SEQUENCE_BYTES || bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return false;
	for (size_t i = 1; i < len; i++)
		if (bytes[i] < 0x80 || bytes[i] > 0xbf)
			return false;
	return true;
}

/* Are the bytes UTF-8 without a zero? The last character may be cut. */
static bool upload_is_text(const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = cairn_utf8_sequence(bytes + at, len - at);
		if (n == 0)
			return upload_is_cut_character(bytes + at, len - at);
		if (bytes[at] == 0)
			return false;
		at += n;
	}
	return true;
}

/* Decodes only whole groups of four characters, so that a cut sample has no bits left over. */
static bool upload_sample_is_text(const char *sample)
{
	char url[UPLOAD_SAMPLE_CHARS];
	uint8_t bytes[UPLOAD_SAMPLE_CHARS];
	size_t len = strcspn(sample, "="), n = 0;
	if (len > sizeof(url))
		len = sizeof(url);
	for (size_t i = 0; i < len; i++)
		url[i] = sample[i] == '+' ? '-' : sample[i] == '/' ? '_' : sample[i];
	return cairn_base64url_decode(bytes, sizeof(bytes), &n, url, len) == CAIRN_OK && upload_is_text(bytes, n);
}

bool cairn_hub_upload_is_inline(const struct cairn_hub_upload *upload, struct cairn_hub_patterns *attributes)
{
	if (upload->size_bytes == 0)
		return true;
	if (upload->size_bytes > CAIRN_INDEX_INLINE_MAX || cairn_hub_pattern_is_lfs(attributes, upload->path))
		return false;
	return upload->sample && upload_sample_is_text(upload->sample);
}
