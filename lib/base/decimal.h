/* Decimal numbers: without printf, for text that is written a million times; and read from text of others. */
#ifndef CAIRN_BASE_DECIMAL_H
#define CAIRN_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_DECIMAL_TEXT_MAX = 20 }; /* digits of UINT64_MAX */

/** Write n, without a terminating zero. @param[out] out  room for CAIRN_DECIMAL_TEXT_MAX  @return the place after it */
char *cairn_decimal_text(char *out, uint64_t n);

/** Read text that is digits alone: no sign, no blank, nothing behind them. The one way for numbers of others.
 *  @param[out] out  left alone where it is refused  @return false: it has others, or none, or is not min to max */
bool cairn_decimal_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/** Read the digits that *text begins with, and step over them, for text that has more behind its number.
 *  @return false: there are none, or they are more than UINT64_MAX; both are left alone */
bool cairn_decimal_read(const char **text, uint64_t *out);

#endif
