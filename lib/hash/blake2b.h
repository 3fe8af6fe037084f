/* BLAKE2b of 256 bits, for FOLD's tree over chunks. */
#ifndef CAIRN_HASH_BLAKE2B_H
#define CAIRN_HASH_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_BLAKE2B_BYTES = 32 };

void cairn_blake2b(uint8_t out[static CAIRN_BLAKE2B_BYTES], const void *bytes, size_t len);

#endif
