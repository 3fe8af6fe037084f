/* base64url without padding (RFC 4648 section 5), for tokens; decodes plain base64 (section 4), too. */
#ifndef CAIRN_BASE_BASE64_H
#define CAIRN_BASE_BASE64_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Length of n encoded bytes, without a terminating zero. */
#define CAIRN_BASE64URL_CHARS(n) (((n)*4 + 2) / 3)

/** Encodes n bytes and appends a zero: out needs CAIRN_BASE64URL_CHARS(n) + 1 bytes. */
void cairn_base64url_encode(char *out, const uint8_t *bytes, size_t n);

/** Decodes strictly: refuses padding, white space and leftover bits, so that each value has exactly one text.
 * @param[out] n_out  bytes written, at most max
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT more than max bytes */
CAIRN_MUST_USE enum cairn_status cairn_base64url_decode(uint8_t *out, size_t max, size_t *n_out, const char *text,
							size_t len);

/** Decodes standard base64, with or without its padding. @return as cairn_base64url_decode() */
CAIRN_MUST_USE enum cairn_status cairn_base64_decode(uint8_t *out, size_t max, size_t *n_out, const char *text,
						     size_t len);

#endif
