#include "hash/crc32c.h"

#include <isa-l/crc.h>

uint32_t cairn_crc32c(uint32_t sum, const void *bytes, size_t len)
{
	enum { CRC32C_PIECE_BYTES = 1 << 30 }; /* the library counts with int */
	/* The library does not write, but its argument is not const. */
	uint8_t *p = (uint8_t *)(uintptr_t)bytes;
	unsigned int crc = ~sum;
	while (len > 0) {
		size_t n = len < CRC32C_PIECE_BYTES ? len : CRC32C_PIECE_BYTES;
		crc = crc32_iscsi(p, (int)n, crc);
		p += n;
		len -= n;
	}
	return ~crc;
}
