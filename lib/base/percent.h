/* Percent-encoding of addresses (RFC 3986, 2.1). */
#ifndef CAIRN_BASE_PERCENT_H
#define CAIRN_BASE_PERCENT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/** Characters that are never encoded in an address (RFC 3986, 2.3). */
#define CAIRN_PERCENT_UNRESERVED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
/** The same for a path with its slashes. */
#define CAIRN_PERCENT_PATH CAIRN_PERCENT_UNRESERVED "/"

/** Encodes each byte of text that is not in plain. @param[out] out  3 bytes for each byte of text, and one more */
void cairn_percent_encode(char *out, const char *text, const char *plain);

/** Appends the text that cairn_percent_encode() would write, without a zero. */
void cairn_percent_add(struct cairn_buf *out, const char *text, const char *plain);

/** Decodes a part of an address ("a%2Fb"); "+" stays.
 * @param[out] out  size bytes, with a final zero; empty on failure
 * @return false: does not fit, has an incomplete escape or %00 */
bool cairn_percent_decode(char *out, size_t size, const char *text);

#endif
