/* Applies filters: packs a tile as TileDB would store it. */
#include "archive/tiledb/codec.h"
#include "base/bytes.h"

/* Filters of a pipeline that Cairn can apply, in this order. */
struct tile_filters {
	const struct cairn_tiledb_filter *zstd; /* NULL: none */
	bool checksums;                         /* SHA-256 */
};

/* @return false: Cairn cannot apply the pipeline's filters */
static bool tile_filters(const struct cairn_tiledb_pipeline *pipeline, struct tile_filters *out)
{
	const struct cairn_tiledb_filter *f = pipeline->filters;
	uint32_t n = 0;
	*out = (struct tile_filters){0};
	if (n < pipeline->n && f[n].type == CAIRN_TILEDB_FILTER_ZSTD)
		out->zstd = &f[n++];
	if (n < pipeline->n && f[n].type == CAIRN_TILEDB_FILTER_SHA256) {
		out->checksums = true;
		n++;
	}
	return n == pipeline->n;
}

enum {
	TILE_CHUNK_HEAD = 12,
	TILE_ZSTD_NOTES = 16, /* bytes of the metadata: parts of metadata, parts of data, length, stored length */
	TILE_CHECKSUM = 8 + CAIRN_SHA256_BYTES, /* bytes of a checksum: length, digest */
};

static size_t tile_sums_len(const struct tile_filters *filters)
{
	return filters->checksums ? 8 + (filters->zstd ? 2U : 1U) * TILE_CHECKSUM : 0;
}

static enum cairn_status tile_put_checksum(uint8_t *out, const uint8_t *bytes, size_t len)
{
	cairn_put_u64le(out, len);
	return cairn_tiledb_digest(CAIRN_TILEDB_FILTER_SHA256, out + 8, bytes, len);
}

/* Sets the checksums of the last chunk of out: of zstd's metadata, and of the data. */
static enum cairn_status tile_put_checksums(struct cairn_buf *out, size_t head, const struct tile_filters *filters)
{
	uint8_t *sums = out->bytes + head + TILE_CHUNK_HEAD, *notes = sums + tile_sums_len(filters);
	uint8_t *data = notes + (filters->zstd ? TILE_ZSTD_NOTES : 0), *end = out->bytes + out->len;
	cairn_put_u32le(sums, filters->zstd ? 1 : 0);
	cairn_put_u32le(sums + 4, 1);
	sums += 8;
	if (filters->zstd) {
		enum cairn_status status = tile_put_checksum(sums, notes, TILE_ZSTD_NOTES);
		if (status != CAIRN_OK)
			return status;
		sums += TILE_CHECKSUM;
	}
	return tile_put_checksum(sums, data, (size_t)(end - data));
}

/* @param[out] n  bytes appended */
static enum cairn_status tile_put_data(struct cairn_tiledb_codec *codec, struct cairn_buf *out, const uint8_t *raw,
				       size_t len, const struct cairn_tiledb_filter *zstd, size_t *n)
{
	*n = len;
	if (!zstd) {
		cairn_buf_add(out, raw, len);
		return out->status;
	}
	size_t room = cairn_zstd_bound(len);
	uint8_t *packed = cairn_buf_extend(out, room);
	if (!packed)
		return out->status;
	enum cairn_status status = cairn_zstd_compress(codec->zstd, packed, room, n, raw, len, zstd->level);
	if (status == CAIRN_OK)
		out->len -= room - *n;
	return status;
}

static enum cairn_status tile_pack_chunk(struct cairn_tiledb_codec *codec, struct cairn_buf *out, const uint8_t *raw,
					 size_t len, const struct tile_filters *filters)
{
	size_t head = out->len, sums_len = tile_sums_len(filters), stored;
	cairn_buf_u32le(out, (uint32_t)len);
	cairn_buf_u32le(out, 0); /* stored length; set below */
	cairn_buf_u32le(out, (uint32_t)(sums_len + (filters->zstd ? TILE_ZSTD_NOTES : 0)));
	cairn_buf_fill(out, 0, sums_len);
	if (filters->zstd) {
		cairn_buf_u32le(out, 0);
		cairn_buf_u32le(out, 1);
		cairn_buf_u32le(out, (uint32_t)len);
		cairn_buf_u32le(out, 0); /* stored length once more */
	}
	enum cairn_status status = tile_put_data(codec, out, raw, len, filters->zstd, &stored);
	if (status != CAIRN_OK)
		return status;
	cairn_put_u32le(out->bytes + head + 4, (uint32_t)stored);
	if (filters->zstd)
		cairn_put_u32le(out->bytes + head + TILE_CHUNK_HEAD + sums_len + 12, (uint32_t)stored);
	return filters->checksums ? tile_put_checksums(out, head, filters) : CAIRN_OK;
}

/* Returns how many cells of any length TileDB would put into one chunk, from cell `from` on: about size bytes, or up to
 * half more if the chunk would otherwise be less than half full. @param[out] over  the last cell exceeded size */
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

/* Cuts cells into chunks as TileDB does: it closes a chunk as soon as it is over its size. If that was the last cell,
 * an empty chunk follows, unless the cell had a chunk of its own because it did not fit into the previous one. */
static enum cairn_status tile_pack_cells(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					 struct cairn_tiledb_view raw, const struct tile_filters *filters,
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
					 (size_t)((from < n_cells ? starts[from] : raw.len) - start), filters);
	}
	return status;
}

enum cairn_status cairn_tiledb_tile_pack(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					 struct cairn_tiledb_view raw, const struct cairn_tiledb_pipeline *pipeline,
					 size_t cell_bytes, const uint64_t *starts, size_t n_cells)
{
	struct tile_filters filters;
	size_t head = out->len;
	uint64_t n_chunks = 0;
	enum cairn_status status = CAIRN_OK;
	if (!tile_filters(pipeline, &filters))
		return CAIRN_E_USAGE;
	cairn_buf_u64le(out, 0);
	if (starts && raw.len > CAIRN_TILEDB_CHUNK_BYTES) {
		status = tile_pack_cells(codec, out, raw, &filters, starts, n_cells, &n_chunks);
	} else {
		size_t size = starts ? raw.len : CAIRN_TILEDB_CHUNK_BYTES / cell_bytes * cell_bytes;
		size = size > 0 ? size : cell_bytes;
		size_t at = 0;
		do {
			size_t len = raw.len - at < size ? raw.len - at : size;
			status = tile_pack_chunk(codec, out, raw.bytes + at, len, &filters);
			n_chunks++;
			at += len;
		} while (status == CAIRN_OK && at < raw.len);
	}
	if (status == CAIRN_OK && out->status == CAIRN_OK)
		cairn_put_u64le(out->bytes + head, n_chunks);
	return status != CAIRN_OK ? status : out->status;
}
