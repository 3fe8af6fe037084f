/* Content-defined chunking as stock clients do it: GearHash over the last 64 bytes. A server must not check where
 * clients cut the chunks of their xorbs: the JavaScript client cuts at other places. */
#ifndef CAIRN_CHUNK_CHUNKER_H
#define CAIRN_CHUNK_CHUNKER_H

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_CHUNK_CUT_BYTES_MIN = 8 * 1024,   /* no boundary before this */
	CAIRN_CHUNK_CUT_BYTES_MAX = 128 * 1024, /* a boundary here at the latest */
};

/** Returns the length of the chunk at the start of bytes. Stateless: the hash starts anew at each boundary.
 * @param len  number of bytes; if fewer than CAIRN_CHUNK_CUT_BYTES_MAX, they must reach the end of the file
 * @return 0 if len is 0, else 1 .. min(len, CAIRN_CHUNK_CUT_BYTES_MAX) */
size_t cairn_chunk_cut(const uint8_t *bytes, size_t len);

#endif
