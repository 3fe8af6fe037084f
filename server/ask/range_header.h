/* Parses the Range header. Pure. */
#ifndef CAIRN_SERVER_RANGE_HEADER_H
#define CAIRN_SERVER_RANGE_HEADER_H

#include "cas/serve/plan.h"

/** Parses "bytes=a-b", "bytes=a-", "bytes=-n", or several of these separated by commas. @param[out] out  up to max
 * ranges, in the order of the header @return the number of ranges, over max if out cannot hold them all. 0: the header
 * is absent (text is NULL), malformed or in another unit; HTTP treats all three alike */
size_t range_header_parse(struct cairn_byte_range *out, size_t max, const char *text);

#endif
