#include "chunk/chunker.h"

#include "chunk/gear_table.h"

#define BOUNDARY_MASK 0xFFFF000000000000u

enum { WINDOW_BYTES = 64 }; /* a byte is shifted out of the hash after 64 more */

size_t cairn_chunk_cut(const uint8_t *bytes, size_t len)
{
	if (len <= CAIRN_CHUNK_CUT_BYTES_MIN)
		return len;
	size_t end = len < CAIRN_CHUNK_CUT_BYTES_MAX ? len : CAIRN_CHUNK_CUT_BYTES_MAX;
	uint64_t h = 0;
	size_t at = CAIRN_CHUNK_CUT_BYTES_MIN - WINDOW_BYTES;
	while (at < CAIRN_CHUNK_CUT_BYTES_MIN - 1)
		h = (h << 1) + CAIRN_GEAR_TABLE[bytes[at++]];
	while (at < end) {
		h = (h << 1) + CAIRN_GEAR_TABLE[bytes[at++]];
		if ((h & BOUNDARY_MASK) == 0)
			return at;
	}
	return end;
}
