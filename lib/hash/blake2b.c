#include "hash/blake2b.h"

#include <blake2.h>

void cairn_blake2b(uint8_t out[static CAIRN_BLAKE2B_BYTES], const void *bytes, size_t len)
{
	(void)blake2b(out, bytes, NULL, CAIRN_BLAKE2B_BYTES, len,
		      0); /* fails only for wrong lengths of output or key */
}
