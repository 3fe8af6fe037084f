/* Packs and unpacks tiles: chunks, each through a pipeline of filters; and generic tiles, which hold metadata. */
#ifndef CAIRN_ARCHIVE_TILEDB_TILE_H
#define CAIRN_ARCHIVE_TILEDB_TILE_H

#include "archive/tiledb/format.h"
#include "base/buf.h"
#include "base/cursor.h"

struct cairn_tiledb_filter {
	uint8_t type;  /* enum cairn_tiledb_filter_type */
	int32_t level; /* level of a compressor */
};

/** Filters in the order in which they are applied when writing. Zeroed: none. */
struct cairn_tiledb_pipeline {
	uint32_t chunk_bytes;
	uint32_t n;
	struct cairn_tiledb_filter filters[CAIRN_TILEDB_FILTERS_MAX];
};

/** Returns the name of a filter, "ZSTD", "GZIP" ...; never NULL. */
const char *cairn_tiledb_filter_name(uint8_t type);

/** Reads a pipeline's description.
 * @return CAIRN_OK; CAIRN_E_FORMAT with offset in the cursor's bytes: cut off, a wrong option, an unknown filter;
 *         CAIRN_E_LIMIT over CAIRN_TILEDB_FILTERS_MAX */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_pipeline_read(struct cairn_cur *c, struct cairn_tiledb_pipeline *out,
							    struct cairn_diag *diag);
void cairn_tiledb_pipeline_write(struct cairn_buf *out, const struct cairn_tiledb_pipeline *pipeline);

/** Scratch space and contexts of the filters. Owned by one thread at a time. */
struct cairn_tiledb_codec;
/** Makes a codec. @return NULL without memory */
struct cairn_tiledb_codec *cairn_tiledb_codec_new(void);
void cairn_tiledb_codec_freep(struct cairn_tiledb_codec **codec);

/** Undoes the filters of one stored tile.
 * @param out         appended to
 * @param cell_bytes  bytes of one cell, for RLE; at least 1
 * @param expected    bytes that the tile must have without filters
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_MISMATCH (a checksum) with offset in the stored bytes; CAIRN_E_LIMIT a
 *         chunk over CAIRN_TILEDB_CHUNK_BYTES_MAX, or more than out may hold; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_tile_unpack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
							  struct cairn_tiledb_view stored,
							  const struct cairn_tiledb_pipeline *pipeline,
							  size_t cell_bytes, uint64_t expected,
							  struct cairn_diag *diag);

/** Returns whether RLE packs a field's texts together with their starts. Then the tile of the starts is empty. */
bool cairn_tiledb_pipeline_packs_starts(const struct cairn_tiledb_pipeline *pipeline, uint8_t datatype,
					uint32_t version);
/** Undoes the filters of a tile of texts. @param starts  of the texts, appended. Else as cairn_tiledb_tile_unpack() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_tile_unpack_texts(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
								struct cairn_buf *starts,
								struct cairn_tiledb_view stored,
								const struct cairn_tiledb_pipeline *pipeline,
								uint64_t expected, struct cairn_diag *diag);

/** Appends a stored tile, cut into chunks where TileDB cuts.
 * @param codec       NULL: nothing is compressed
 * @param pipeline    zstd, SHA-256, both in this order, or none
 * @param cell_bytes  bytes of one cell; cells are never cut
 * @param starts      for values of any length, the start of each of the n_cells in raw; NULL: all have cell_bytes
 * @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT out is full; CAIRN_E_USAGE Cairn cannot apply a filter */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_tile_pack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
							struct cairn_tiledb_view raw,
							const struct cairn_tiledb_pipeline *pipeline, size_t cell_bytes,
							const uint64_t *starts, size_t n_cells);

enum { CAIRN_TILEDB_GENERIC_HEAD_BYTES = 34 };

/** Returns whether bytes begin as a generic tile of any version, as files of schemas and metadata do. */
bool cairn_tiledb_generic_is(const uint8_t *bytes, size_t len);

/** Reads the generic tile that starts at the cursor, and steps over it. An error's offset is in the cursor's bytes.
 * @param out          appended to
 * @param version_min  oldest version accepted
 * @return CAIRN_OK; CAIRN_E_FORMAT also for encryption; CAIRN_E_LIMIT; CAIRN_E_MISMATCH; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_generic_read(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
							   struct cairn_cur *c, uint32_t version_min,
							   struct cairn_diag *diag);

/** Appends a generic tile, uncompressed, so that no library is needed to read it. out keeps an error.
 * @param checksums  with SHA-256 */
void cairn_tiledb_generic_write(struct cairn_buf *out, struct cairn_tiledb_view raw, bool checksums);

#endif
