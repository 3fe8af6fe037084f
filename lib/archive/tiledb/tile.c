#include "archive/tiledb/tile.h"

#include "archive/deflate.h"
#include "archive/tiledb/codec.h"
#include "archive/tiledb/rle.h"
#include "archive/zstd.h"
#include "base/bytes.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cairn_tiledb_codec *cairn_tiledb_codec_new(void)
{
	CLEANUP(cairn_tiledb_codec_freep) struct cairn_tiledb_codec *codec = calloc(1, sizeof(*codec));
	if (!codec)
		return NULL;
	codec->part[0] = cairn_buf_init(2 * CAIRN_TILEDB_CHUNK_BYTES_MAX);
	codec->part[1] = cairn_buf_init(2 * CAIRN_TILEDB_CHUNK_BYTES_MAX);
	codec->zstd = cairn_zstd_new();
	if (!codec->zstd)
		return NULL;
	struct cairn_tiledb_codec *out = codec;
	codec = NULL;
	return out;
}

void cairn_tiledb_codec_freep(struct cairn_tiledb_codec **codec)
{
	struct cairn_tiledb_codec *c = *codec;
	if (!c)
		return;
	cairn_zstd_free(c->zstd);
	cairn_buf_fini(&c->part[0]);
	cairn_buf_fini(&c->part[1]);
	free(c);
	*codec = NULL;
}

enum cairn_status cairn_tiledb_digest(uint8_t type, uint8_t out[static CAIRN_TILEDB_DIGEST_BYTES_MAX],
				      const uint8_t *bytes, size_t len)
{
	if (type == CAIRN_TILEDB_FILTER_MD5)
		return cairn_md5(out, bytes, len);
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *sha256 = cairn_sha256_new();
	if (!sha256)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(sha256, bytes, len);
	cairn_sha256_end(sha256, out);
	return CAIRN_OK;
}

/* A chunk between two filters: its metadata, then its data. */
struct tile_stage {
	struct cairn_tiledb_view meta, data;
};

static enum cairn_status tile_bad_parts(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", 0,
			  "the lengths that a filter noted are not those of the chunk");
}

/* The parts of a tile. */
struct tile_cells {
	size_t bytes;             /* bytes of one cell */
	struct cairn_buf *starts; /* receives where each text starts, if RLE packed starts and texts; else NULL */
	size_t done;              /* bytes of earlier chunks */
};

static enum cairn_status tile_decompress(struct cairn_tiledb_codec *codec, uint8_t type, uint8_t *out, size_t n_out,
					 struct cairn_tiledb_view in, size_t cell_bytes, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status;
	if (type == CAIRN_TILEDB_FILTER_RLE)
		return cairn_tiledb_rle_cells(out, n_out, in, cell_bytes, diag);
	if (type == CAIRN_TILEDB_FILTER_ZSTD)
		status = cairn_zstd_decompress(codec->zstd, out, n_out, in.bytes, in.len, &why);
	else
		status = cairn_deflate_unpack(out, n_out, in.bytes, in.len, &why);
	if (status != CAIRN_E_FORMAT)
		return status;
	return cairn_fail(diag, status, "tiledb.compressed", 0, "the %s data cannot be decompressed: %s",
			  cairn_tiledb_filter_name(type), why.text);
}

/* Reads the metadata of a compressor: the number of metadata and data parts before compression, and both lengths of
 * each. The data are the compressed parts. */
static enum cairn_status tile_undo_compressor(struct cairn_tiledb_codec *codec, uint8_t type, struct cairn_buf *out,
					      struct tile_stage *stage, size_t cell_bytes, struct cairn_diag *diag)
{
	struct cairn_cur lengths = cairn_cur_init(stage->meta.bytes, stage->meta.len);
	struct cairn_cur data = cairn_cur_init(stage->data.bytes, stage->data.len);
	uint64_t n_meta = cairn_cur_u32le(&lengths), n_parts = n_meta + cairn_cur_u32le(&lengths);
	size_t meta_len = 0;
	if (lengths.bad || n_parts > lengths.left / 8)
		return tile_bad_parts(diag);
	out->len = 0;
	for (uint64_t i = 0; i < n_parts; i++) {
		uint32_t raw_len = cairn_cur_u32le(&lengths), packed_len = cairn_cur_u32le(&lengths);
		const uint8_t *packed = cairn_cur_take(&data, packed_len);
		if (!packed || raw_len > CAIRN_TILEDB_CHUNK_BYTES_MAX)
			return tile_bad_parts(diag);
		uint8_t *raw = cairn_buf_extend(out, raw_len);
		if (!raw && raw_len > 0)
			return out->status;
		struct cairn_tiledb_view in = {packed, packed_len};
		enum cairn_status status = tile_decompress(codec, type, raw, raw_len, in, cell_bytes, diag);
		if (status != CAIRN_OK)
			return status;
		if (i < n_meta)
			meta_len += raw_len;
	}
	if (lengths.left > 0 || data.left > 0)
		return tile_bad_parts(diag);
	*stage = (struct tile_stage){{out->bytes, meta_len}, {out->bytes + meta_len, out->len - meta_len}};
	return CAIRN_OK;
}

/* Checks n checksums over consecutive parts of the checked bytes. */
static enum cairn_status tile_check_parts(uint8_t type, struct cairn_cur *sums, uint32_t n, struct cairn_cur *checked,
					  struct cairn_diag *diag)
{
	size_t digest_bytes = type == CAIRN_TILEDB_FILTER_MD5 ? CAIRN_MD5_BYTES : CAIRN_SHA256_BYTES;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len = cairn_cur_u64le(sums);
		const uint8_t *wanted = cairn_cur_take(sums, digest_bytes);
		const uint8_t *bytes = len <= checked->left ? cairn_cur_take(checked, (size_t)len) : NULL;
		uint8_t digest[CAIRN_TILEDB_DIGEST_BYTES_MAX];
		if (!wanted || !bytes)
			return tile_bad_parts(diag);
		enum cairn_status status = cairn_tiledb_digest(type, digest, bytes, (size_t)len);
		if (status != CAIRN_OK)
			return status;
		if (memcmp(digest, wanted, digest_bytes) == 0)
			continue;
		char expected[2 * CAIRN_TILEDB_DIGEST_BYTES_MAX + 1], actual[2 * CAIRN_TILEDB_DIGEST_BYTES_MAX + 1];
		cairn_hex_text(expected, wanted, digest_bytes);
		cairn_hex_text(actual, digest, digest_bytes);
		(void)cairn_fail(diag, CAIRN_E_MISMATCH, "tiledb.checksum", 0, "the %s checksum of a chunk is wrong",
				 cairn_tiledb_filter_name(type));
		cairn_diag_values(diag, expected, actual);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

/* Verifies the checksums of the metadata parts, then of the data. The metadata of the filter before come after them. */
static enum cairn_status tile_undo_checksum(uint8_t type, struct tile_stage *stage, struct cairn_diag *diag)
{
	size_t digest_bytes = type == CAIRN_TILEDB_FILTER_MD5 ? CAIRN_MD5_BYTES : CAIRN_SHA256_BYTES;
	struct cairn_cur sums = cairn_cur_init(stage->meta.bytes, stage->meta.len);
	uint32_t n_meta = cairn_cur_u32le(&sums), n_data = cairn_cur_u32le(&sums);
	struct cairn_cur before = sums;
	if (sums.bad || (uint64_t)n_meta + n_data > sums.left / (8 + digest_bytes))
		return tile_bad_parts(diag);
	(void)cairn_cur_take(&before, (size_t)(n_meta + n_data) * (8 + digest_bytes));
	struct cairn_cur meta = before, data = cairn_cur_init(stage->data.bytes, stage->data.len);
	enum cairn_status status = tile_check_parts(type, &sums, n_meta, &meta, diag);
	if (status == CAIRN_OK)
		status = tile_check_parts(type, &sums, n_data, &data, diag);
	if (status != CAIRN_OK)
		return status;
	if (data.left > 0)
		return tile_bad_parts(diag);
	stage->meta = (struct cairn_tiledb_view){before.p, before.left};
	return CAIRN_OK;
}

static enum cairn_status tile_undo_texts(struct cairn_buf *out, struct tile_stage *stage,
					 const struct tile_cells *cells, struct cairn_diag *diag)
{
	enum cairn_status status =
		cairn_tiledb_rle_texts(out, cells->starts, cells->done, stage->meta, stage->data, diag);
	*stage = (struct tile_stage){{out->bytes, 0}, {out->bytes, out->len}};
	return status;
}

static enum cairn_status tile_undo(struct cairn_tiledb_codec *codec, const struct cairn_tiledb_pipeline *pipeline,
				   struct tile_stage *stage, const struct tile_cells *cells, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	unsigned next = 0;
	for (uint32_t i = pipeline->n; i > 0 && status == CAIRN_OK; i--) {
		uint8_t type = pipeline->filters[i - 1].type;
		if (type == CAIRN_TILEDB_FILTER_NONE)
			continue;
		if (type == CAIRN_TILEDB_FILTER_MD5 || type == CAIRN_TILEDB_FILTER_SHA256) {
			status = tile_undo_checksum(type, stage, diag);
			continue;
		}
		if (type == CAIRN_TILEDB_FILTER_RLE && cells->starts)
			status = tile_undo_texts(&codec->part[next], stage, cells, diag);
		else
			status = tile_undo_compressor(codec, type, &codec->part[next], stage, cells->bytes, diag);
		next = !next;
	}
	return status;
}

static enum cairn_status tile_unpack_chunk(struct cairn_tiledb_codec *codec, struct cairn_buf *out, struct cairn_cur *c,
					   const struct cairn_tiledb_pipeline *pipeline, const struct tile_cells *cells,
					   struct cairn_diag *diag)
{
	uint64_t at = cairn_cur_offset(c);
	uint32_t raw_len = cairn_cur_u32le(c), data_len = cairn_cur_u32le(c), meta_len = cairn_cur_u32le(c);
	struct tile_stage stage = {{cairn_cur_take(c, meta_len), meta_len}, {cairn_cur_take(c, data_len), data_len}};
	if (c->bad)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", at, "a chunk is cut off");
	if (raw_len > CAIRN_TILEDB_CHUNK_BYTES_MAX) {
		(void)cairn_fail(diag, CAIRN_E_LIMIT, "tiledb.limit", at, "a chunk is too long");
		cairn_diag_numbers(diag, CAIRN_TILEDB_CHUNK_BYTES_MAX, raw_len);
		return CAIRN_E_LIMIT;
	}
	enum cairn_status status = tile_undo(codec, pipeline, &stage, cells, diag);
	if (status != CAIRN_OK && diag && diag->has_offset)
		diag->offset = at; /* a filter does not know the offset of its chunk */
	if (status != CAIRN_OK)
		return status;
	if (stage.data.len != raw_len || stage.meta.len != 0) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", at, "a chunk has the wrong length");
		cairn_diag_numbers(diag, raw_len, stage.data.len);
		return CAIRN_E_FORMAT;
	}
	cairn_buf_add(out, stage.data.bytes, stage.data.len);
	return out->status;
}

static enum cairn_status tile_unpack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
				     struct cairn_tiledb_view stored, const struct cairn_tiledb_pipeline *pipeline,
				     struct tile_cells *cells, uint64_t expected, struct cairn_diag *diag)
{
	struct cairn_cur c = cairn_cur_init(stored.bytes, stored.len);
	size_t before = out->len;
	uint64_t n_chunks = cairn_cur_u64le(&c);
	if (c.bad || n_chunks > c.left / 12) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", 0, "a tile is shorter than its chunks");
		cairn_diag_numbers(diag, n_chunks, c.left / 12);
		return CAIRN_E_FORMAT;
	}
	for (uint64_t i = 0; i < n_chunks; i++) {
		enum cairn_status status = tile_unpack_chunk(codec, out, &c, pipeline, cells, diag);
		if (status != CAIRN_OK)
			return status;
		cells->done = out->len - before;
		if (out->len - before > expected)
			break;
	}
	if (out->len - before == expected && c.left == 0)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.tile", cairn_cur_offset(&c),
			 out->len - before == expected ? "bytes follow the last chunk of a tile"
						       : "a tile has the wrong length");
	cairn_diag_numbers(diag, expected, out->len - before + (out->len - before == expected ? c.left : 0));
	return CAIRN_E_FORMAT;
}

enum cairn_status cairn_tiledb_tile_unpack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					   struct cairn_tiledb_view stored,
					   const struct cairn_tiledb_pipeline *pipeline, size_t cell_bytes,
					   uint64_t expected, struct cairn_diag *diag)
{
	struct tile_cells cells = {.bytes = cell_bytes};
	return tile_unpack(codec, out, stored, pipeline, &cells, expected, diag);
}

bool cairn_tiledb_pipeline_packs_starts(const struct cairn_tiledb_pipeline *pipeline, uint8_t datatype,
					uint32_t version)
{
	bool has_rle = false;
	for (uint32_t i = 0; i < pipeline->n; i++)
		has_rle = has_rle || pipeline->filters[i].type == CAIRN_TILEDB_FILTER_RLE;
	return has_rle && (datatype == CAIRN_TILEDB_ASCII ||
			   (datatype == CAIRN_TILEDB_UTF8 && version >= CAIRN_TILEDB_VERSION_RLE_UTF8));
}

enum cairn_status cairn_tiledb_tile_unpack_texts(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
						 struct cairn_buf *starts, struct cairn_tiledb_view stored,
						 const struct cairn_tiledb_pipeline *pipeline, uint64_t expected,
						 struct cairn_diag *diag)
{
	struct tile_cells cells = {.bytes = 1, .starts = starts};
	return tile_unpack(codec, out, stored, pipeline, &cells, expected, diag);
}
