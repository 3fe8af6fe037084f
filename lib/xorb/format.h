/* The xorb format as code (source: protocol document; footer: reference client, xorb object format version 1). */
#ifndef CAIRN_XORB_FORMAT_H
#define CAIRN_XORB_FORMAT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* xorb   := chunk+ [footer] chunk  := u8 version (0), u24le compressed length, u8 scheme, u24le uncompressed length,
 * data footer := "XETBLOB" ...      starts where a chunk header would; clients of today send none */
enum {
	CAIRN_XORB_CHUNK_HEADER_BYTES = 8,
	/* Serialized bytes of a full xorb of incompressible data: all chunk data plus a header for each chunk. */
	CAIRN_XORB_SERIALIZED_BYTES_MAX = 64 * 1024 * 1024 + 8 * 8192,
	CAIRN_CHUNK_READ_BYTES_MAX = (1 << 24) - 1, /* the most a u24 holds; never in an upload */
};

enum cairn_scheme {
	CAIRN_SCHEME_NONE = 0,
	CAIRN_SCHEME_LZ4 = 1,         /* LZ4 frame */
	CAIRN_SCHEME_GROUPED_LZ4 = 2, /* bytes 0,4,8.. then 1,5,9.. then 2,6,10.. then 3,7,11.., then an LZ4 frame */
};

/** Returns the name of a scheme: "none", "lz4", "grouped-lz4". */
const char *cairn_scheme_name(enum cairn_scheme scheme);

struct cairn_xorb_chunk_header {
	uint32_t compressed_bytes; /* data after the header */
	uint32_t unpacked_bytes;   /* raw length */
	enum cairn_scheme scheme;
};

/** Parses a chunk header.
 * @param at  its offset in the xorb, for the message
 * @param unpacked_max  largest raw length accepted: CAIRN_CHUNK_BYTES_MAX for uploads
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  version, scheme, a zero length
 *         CAIRN_E_LIMIT   unpacked length over unpacked_max, or compressed length longer than any compression of it */
CAIRN_MUST_USE enum cairn_status cairn_xorb_chunk_header_parse(
	struct cairn_xorb_chunk_header *out, const uint8_t bytes[static CAIRN_XORB_CHUNK_HEADER_BYTES], uint64_t at,
	uint32_t unpacked_max, struct cairn_diag *diag);

void cairn_xorb_chunk_header_write(uint8_t out[static CAIRN_XORB_CHUNK_HEADER_BYTES],
				   const struct cairn_xorb_chunk_header *header);

#endif
