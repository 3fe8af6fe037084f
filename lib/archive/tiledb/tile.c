#include "archive/tiledb/tile.h"

#include "archive/deflate.h"
#include "archive/zstd.h"
#include "base/bytes.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_CHECKSUM_BYTES_MAX = CAIRN_SHA256_BYTES };

struct cairn_tiledb_codec {
	struct cairn_zstd *zstd;
	struct cairn_buf part[2]; /* what a filter gives; the next one reads it and gives the other */
};

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

/* --- undoing filters ---------------------------------------------------------------------------------------------- */

/* A chunk between two filters: its metadata is in front of its data. */
struct tile_stage {
	struct cairn_tiledb_view meta, data;
};

static enum cairn_status tile_bad_parts(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", 0,
			  "the lengths that a filter noted are not those of the chunk");
}

/* Runs: the bytes of a cell, and how often it comes, big-endian alone of all numbers. */
static enum cairn_status tile_unpack_rle(uint8_t *out, size_t n_out, struct cairn_tiledb_view in, size_t cell_bytes,
					 struct cairn_diag *diag)
{
	struct cairn_cur c = cairn_cur_init(in.bytes, in.len);
	size_t done = 0;
	while (c.left > 0) {
		const uint8_t *cell = cairn_cur_take(&c, cell_bytes), *run = cairn_cur_take(&c, 2);
		size_t n = run ? (size_t)run[0] << 8 | run[1] : 0;
		if (!run || n * cell_bytes > n_out - done)
			break;
		for (; n > 0; n--, done += cell_bytes)
			memcpy(out + done, cell, cell_bytes);
	}
	if (c.left == 0 && !c.bad && done == n_out)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.compressed", 0,
			  "runs of equal cells do not give the length that was noted");
}

static enum cairn_status tile_decompress(struct cairn_tiledb_codec *codec, uint8_t type, uint8_t *out, size_t n_out,
					 struct cairn_tiledb_view in, size_t cell_bytes, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status;
	if (type == CAIRN_TILEDB_FILTER_RLE)
		return tile_unpack_rle(out, n_out, in, cell_bytes, diag);
	if (type == CAIRN_TILEDB_FILTER_ZSTD)
		status = cairn_zstd_decompress(codec->zstd, out, n_out, in.bytes, in.len, &why);
	else
		status = cairn_deflate_unpack(out, n_out, in.bytes, in.len, &why);
	if (status != CAIRN_E_FORMAT)
		return status;
	return cairn_fail(diag, status, "tiledb.compressed", 0, "the %s data cannot be decompressed: %s",
			  cairn_tiledb_filter_name(type), why.text);
}

/* Metadata of a compressor: how many parts were metadata and data before it, and the two lengths of each; what follows
 * in the data are the compressed parts. */
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

static enum cairn_status tile_digest(uint8_t type, uint8_t out[static TILE_CHECKSUM_BYTES_MAX], const uint8_t *bytes,
				     size_t len)
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

/* n checksums, over parts that lie one after the other in what is checked. */
static enum cairn_status tile_check_parts(uint8_t type, struct cairn_cur *sums, uint32_t n, struct cairn_cur *checked,
					  struct cairn_diag *diag)
{
	size_t digest_bytes = type == CAIRN_TILEDB_FILTER_MD5 ? CAIRN_MD5_BYTES : CAIRN_SHA256_BYTES;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len = cairn_cur_u64le(sums);
		const uint8_t *wanted = cairn_cur_take(sums, digest_bytes);
		const uint8_t *bytes = len <= checked->left ? cairn_cur_take(checked, (size_t)len) : NULL;
		uint8_t digest[TILE_CHECKSUM_BYTES_MAX];
		if (!wanted || !bytes)
			return tile_bad_parts(diag);
		enum cairn_status status = tile_digest(type, digest, bytes, (size_t)len);
		if (status != CAIRN_OK)
			return status;
		if (memcmp(digest, wanted, digest_bytes) == 0)
			continue;
		char expected[2 * TILE_CHECKSUM_BYTES_MAX + 1], actual[2 * TILE_CHECKSUM_BYTES_MAX + 1];
		cairn_hex_text(expected, wanted, digest_bytes);
		cairn_hex_text(actual, digest, digest_bytes);
		(void)cairn_fail(diag, CAIRN_E_MISMATCH, "tiledb.checksum", 0, "the %s checksum of a chunk is wrong",
				 cairn_tiledb_filter_name(type));
		cairn_diag_values(diag, expected, actual);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

/* Checksums of the metadata parts, then of the data; behind them the metadata as it was before. The data stay. */
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

static enum cairn_status tile_undo(struct cairn_tiledb_codec *codec, const struct cairn_tiledb_pipeline *pipeline,
				   struct tile_stage *stage, size_t cell_bytes, struct cairn_diag *diag)
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
		status = tile_undo_compressor(codec, type, &codec->part[next], stage, cell_bytes, diag);
		next = !next;
	}
	return status;
}

static enum cairn_status tile_unpack_chunk(struct cairn_tiledb_codec *codec, struct cairn_buf *out, struct cairn_cur *c,
					   const struct cairn_tiledb_pipeline *pipeline, size_t cell_bytes,
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
	enum cairn_status status = tile_undo(codec, pipeline, &stage, cell_bytes, diag);
	if (status != CAIRN_OK && diag && diag->has_offset)
		diag->offset = at; /* a filter does not know where its chunk lies */
	if (status != CAIRN_OK)
		return status;
	if (stage.data.len != raw_len || stage.meta.len != 0) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", at, "a chunk has not the length it should");
		cairn_diag_numbers(diag, raw_len, stage.data.len);
		return CAIRN_E_FORMAT;
	}
	cairn_buf_add(out, stage.data.bytes, stage.data.len);
	return out->status;
}

enum cairn_status cairn_tiledb_tile_unpack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					   struct cairn_tiledb_view stored,
					   const struct cairn_tiledb_pipeline *pipeline, size_t cell_bytes,
					   uint64_t expected, struct cairn_diag *diag)
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
		enum cairn_status status = tile_unpack_chunk(codec, out, &c, pipeline, cell_bytes, diag);
		if (status != CAIRN_OK)
			return status;
		if (out->len - before > expected)
			break;
	}
	if (out->len - before == expected && c.left == 0)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.tile", cairn_cur_offset(&c),
			 out->len - before == expected ? "bytes follow the last chunk of a tile"
						       : "a tile has not the length it should");
	cairn_diag_numbers(diag, expected, out->len - before + (out->len - before == expected ? c.left : 0));
	return CAIRN_E_FORMAT;
}

/* --- applying filters --------------------------------------------------------------------------------------------- */

/* The one compressor of a pipeline that is written; NULL: none. @return false: filters that are only read */
static bool tile_compressor(const struct cairn_tiledb_pipeline *pipeline, const struct cairn_tiledb_filter **out)
{
	*out = pipeline->n ? &pipeline->filters[0] : NULL;
	return pipeline->n == 0 || (pipeline->n == 1 && pipeline->filters[0].type == CAIRN_TILEDB_FILTER_ZSTD);
}

static enum cairn_status tile_pack_chunk(struct cairn_tiledb_codec *codec, struct cairn_buf *out, const uint8_t *raw,
					 size_t len, const struct cairn_tiledb_filter *zstd)
{
	size_t head = out->len;
	cairn_buf_u32le(out, (uint32_t)len);
	cairn_buf_u32le(out, (uint32_t)len); /* stored length; amended below */
	cairn_buf_u32le(out, zstd ? 16 : 0);
	if (!zstd) {
		cairn_buf_add(out, raw, len);
		return out->status;
	}
	cairn_buf_u32le(out, 0); /* parts of metadata, parts of data */
	cairn_buf_u32le(out, 1);
	cairn_buf_u32le(out, (uint32_t)len);
	cairn_buf_u32le(out, 0); /* stored length once more */
	size_t room = cairn_zstd_bound(len), n = 0;
	uint8_t *packed = cairn_buf_extend(out, room);
	if (!packed)
		return out->status;
	enum cairn_status status = cairn_zstd_compress(codec->zstd, packed, room, &n, raw, len, zstd->level);
	if (status != CAIRN_OK)
		return status;
	out->len -= room - n;
	cairn_put_u32le(out->bytes + head + 4, (uint32_t)n);
	cairn_put_u32le(out->bytes + head + 24, (uint32_t)n);
	return CAIRN_OK;
}

/* How many cells from cell `from` on TileDB would put into one chunk, where they are of any length: about size bytes,
 * and up to half more than that when the chunk would otherwise be less than half full.
 * @param[out] over  the last of them went past size */
static size_t tile_cut(const uint64_t *starts, size_t n_cells, size_t from, uint64_t total, uint64_t size, bool *over)
{
	uint64_t filled = 0;
	*over = false;
	for (size_t i = from; i < n_cells; i++) {
		uint64_t cell = (i + 1 < n_cells ? starts[i + 1] : total) - starts[i];
		if (filled + cell <= size) {
			filled += cell;
			continue;
		}
		*over = filled <= size / 2 || filled + cell <= size + size / 2;
		return i - from + *over;
	}
	return n_cells - from;
}

/* TileDB closes a chunk as soon as it is over its size, and so leaves an empty one behind when that was the last cell;
 * but not when the cell got a chunk for itself because it did not fit into the one before. */
static enum cairn_status tile_pack_cells(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					 struct cairn_tiledb_view raw, const struct cairn_tiledb_filter *zstd,
					 const uint64_t *starts, size_t n_cells, uint64_t *n_chunks)
{
	enum cairn_status status = CAIRN_OK;
	bool over = true, pushed = false;
	for (size_t from = 0; status == CAIRN_OK && (from < n_cells || (over && !pushed)); (*n_chunks)++) {
		bool was_pushed = from > 0 && !over;
		size_t n = tile_cut(starts, n_cells, from, raw.len, CAIRN_TILEDB_CHUNK_BYTES, &over);
		uint64_t start = from < n_cells ? starts[from] : raw.len;
		from += n;
		pushed = was_pushed && n == 1;
		status = tile_pack_chunk(codec, out, raw.bytes + start,
					 (size_t)((from < n_cells ? starts[from] : raw.len) - start), zstd);
	}
	return status;
}

enum cairn_status cairn_tiledb_tile_pack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					 struct cairn_tiledb_view raw, const struct cairn_tiledb_pipeline *pipeline,
					 size_t cell_bytes, const uint64_t *starts, size_t n_cells)
{
	const struct cairn_tiledb_filter *zstd;
	size_t head = out->len;
	uint64_t n_chunks = 0;
	enum cairn_status status = CAIRN_OK;
	if (!tile_compressor(pipeline, &zstd))
		return CAIRN_E_USAGE;
	cairn_buf_u64le(out, 0);
	if (starts && raw.len > CAIRN_TILEDB_CHUNK_BYTES) {
		status = tile_pack_cells(codec, out, raw, zstd, starts, n_cells, &n_chunks);
	} else {
		size_t size = starts ? raw.len : CAIRN_TILEDB_CHUNK_BYTES / cell_bytes * cell_bytes;
		size = size > 0 ? size : cell_bytes;
		size_t at = 0;
		do {
			size_t len = raw.len - at < size ? raw.len - at : size;
			status = tile_pack_chunk(codec, out, raw.bytes + at, len, zstd);
			n_chunks++;
			at += len;
		} while (status == CAIRN_OK && at < raw.len);
	}
	if (status == CAIRN_OK && out->status == CAIRN_OK)
		cairn_put_u64le(out->bytes + head, n_chunks);
	return status != CAIRN_OK ? status : out->status;
}
