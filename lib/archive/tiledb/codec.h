/* Shared by the code that applies filters and the code that undoes them. */
#ifndef CAIRN_ARCHIVE_TILEDB_CODEC_H
#define CAIRN_ARCHIVE_TILEDB_CODEC_H

#include "archive/tiledb/tile.h"
#include "archive/zstd.h"
#include "hash/crypto.h"

struct cairn_tiledb_codec {
	struct cairn_zstd *zstd;
	struct cairn_buf part[2]; /* output of a filter; the next filter reads it and writes the other buffer */
};

enum { CAIRN_TILEDB_DIGEST_BYTES_MAX = CAIRN_SHA256_BYTES };

/** Computes the digest of the filter MD5 or SHA256. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_digest(uint8_t type, uint8_t out[static CAIRN_TILEDB_DIGEST_BYTES_MAX],
						     const uint8_t *bytes, size_t len);

#endif
