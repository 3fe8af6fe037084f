/* The Range header. Pure. */
#ifndef CAIRN_SERVER_RANGE_HEADER_H
#define CAIRN_SERVER_RANGE_HEADER_H

#include "cas/serve/plan.h"

/** Reads "bytes=a-b", "bytes=a-", "bytes=-n", or several of them separated by commas.
 * @param[out] out  up to max ranges, in the order asked
 * @return how many; 0: absent (text is NULL), of another unit, or malformed (which HTTP wants treated as absent);
 *         more than max: there are more */
size_t range_header_parse(struct cairn_byte_range *out, size_t max, const char *text);

#endif
