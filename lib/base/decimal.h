/* Writes decimal numbers faster than printf, and reads numbers from untrusted text. */
#ifndef CAIRN_BASE_DECIMAL_H
#define CAIRN_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_DECIMAL_TEXT_MAX = 20 }; /* digits of UINT64_MAX */

/** Writes n, without a terminating zero. @param[out] out  room for CAIRN_DECIMAL_TEXT_MAX  @return address after the
 * last digit */
char *cairn_decimal_text(char *out, uint64_t n);

/** Parses text that has only digits: no sign, no blank, nothing after them. Use it for all untrusted numbers.
 * @param[out] out  unchanged on failure  @return false: other characters, no digits, or not within min and max */
bool cairn_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/** Reads the digits at the beginning of *text and steps over them; more text may follow.
 * @return false: no digits, or more than UINT64_MAX; then *text and *out are unchanged */
bool cairn_decimal_read(const char **text, uint64_t *out);

#endif
