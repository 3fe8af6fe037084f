/* Decodes and encodes UTF-8. */
#ifndef CAIRN_BASE_UTF8_H
#define CAIRN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** Returns the length of the well-formed sequence at p, reading at most left bytes (at least 1); 0: not well-formed
 * (cut off, overlong, a surrogate, past U+10FFFF). */
size_t cairn_utf8_sequence(const uint8_t *p, size_t left);

/** Returns the character of a well-formed sequence of n bytes. */
uint32_t cairn_utf8_character(const uint8_t *p, size_t n);

/** Writes a character (no surrogate, at most U+10FFFF). @return number of bytes, 1 to 4 */
size_t cairn_utf8_encode(uint8_t out[static 4], uint32_t character);

#endif
