/* Reads and writes generic tiles, which wrap each block of metadata: a header, the tile's own pipeline, the tile. */
#include "archive/tiledb/tile.h"

#include "base/bytes.h"

bool cairn_tiledb_generic_is(const uint8_t *bytes, size_t len)
{
	struct cairn_cur c = cairn_cur_init(bytes, len);
	uint32_t version = cairn_cur_u32le(&c);
	(void)cairn_cur_u64le(&c); /* lengths */
	(void)cairn_cur_u64le(&c);
	uint8_t type = cairn_cur_u8(&c);
	uint64_t cell_bytes = cairn_cur_u64le(&c);
	return !c.bad && version > 0 && version <= UINT8_MAX && type == CAIRN_TILEDB_CHAR && cell_bytes == 1;
}

/* Checks constants that TileDB always writes: any other value is damage. */
static enum cairn_status generic_check_constants(uint8_t type, uint64_t cell_bytes,
						 const struct cairn_tiledb_pipeline *pipeline, uint64_t at,
						 struct cairn_diag *diag)
{
	if (type != CAIRN_TILEDB_CHAR || cell_bytes != 1)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.generic", at,
				  "a generic tile is not of cells of one CHAR");
	if (pipeline->chunk_bytes == CAIRN_TILEDB_CHUNK_BYTES)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.generic", at, "a generic tile has chunks of another length");
	cairn_diag_numbers(diag, CAIRN_TILEDB_CHUNK_BYTES, pipeline->chunk_bytes);
	return CAIRN_E_FORMAT;
}

enum cairn_status cairn_tiledb_generic_read(struct cairn_tiledb_codec *codec, struct cairn_buf *out,
					    struct cairn_cur *c, uint32_t version_min, struct cairn_diag *diag)
{
	uint64_t at = cairn_cur_offset(c);
	uint32_t version = cairn_cur_u32le(c);
	uint64_t stored_len = cairn_cur_u64le(c), raw_len = cairn_cur_u64le(c);
	uint8_t type = cairn_cur_u8(c);
	uint64_t cell_bytes = cairn_cur_u64le(c);
	uint8_t encryption = cairn_cur_u8(c);
	uint32_t pipeline_len = cairn_cur_u32le(c);
	struct cairn_cur description = cairn_cur_init(cairn_cur_take(c, pipeline_len), pipeline_len);
	if (c->bad)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.truncated", at, "a generic tile is cut off");
	if (version < version_min || version > CAIRN_TILEDB_VERSION) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.version", at,
				 "a generic tile is of a version that is not supported, or older than what is in it");
		cairn_diag_numbers(diag, version < version_min ? version_min : CAIRN_TILEDB_VERSION, version);
		return CAIRN_E_FORMAT;
	}
	if (encryption != 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.unsupported", at, "the array is encrypted");
	if (stored_len > c->left) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.truncated", at,
				 "a generic tile says it is longer than what is left of the file");
		cairn_diag_numbers(diag, c->left, stored_len);
		return CAIRN_E_FORMAT;
	}
	struct cairn_tiledb_pipeline pipeline;
	enum cairn_status status = cairn_tiledb_pipeline_read(&description, &pipeline, diag);
	if (status == CAIRN_OK && description.left > 0)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.filter", cairn_cur_offset(&description),
				    "bytes follow the description of the filters");
	if (status != CAIRN_OK) {
		if (diag && diag->has_offset)
			diag->offset += at + CAIRN_TILEDB_GENERIC_HEAD_BYTES;
		return status;
	}
	status = generic_check_constants(type, cell_bytes, &pipeline, at, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t tile_at = cairn_cur_offset(c);
	struct cairn_tiledb_view stored = {cairn_cur_take(c, (size_t)stored_len), (size_t)stored_len};
	status = cairn_tiledb_tile_unpack(codec, out, stored, &pipeline, 1, raw_len, diag);
	if (status != CAIRN_OK && diag && diag->has_offset)
		diag->offset += tile_at;
	return status;
}

void cairn_tiledb_generic_write(struct cairn_buf *out, struct cairn_tiledb_view raw, bool checksums)
{
	const struct cairn_tiledb_pipeline pipeline = {
		CAIRN_TILEDB_CHUNK_BYTES, checksums ? 1 : 0, {{.type = CAIRN_TILEDB_FILTER_SHA256}}};
	CLEANUP(cairn_buf_fini) struct cairn_buf description = cairn_buf_init(CAIRN_TILEDB_GENERIC_HEAD_BYTES);
	cairn_tiledb_pipeline_write(&description, &pipeline);
	cairn_buf_u32le(out, CAIRN_TILEDB_VERSION);
	size_t len_at = out->len;
	cairn_buf_u64le(out, 0); /* stored length of the tile; set below */
	cairn_buf_u64le(out, raw.len);
	cairn_buf_fill(out, CAIRN_TILEDB_CHAR, 1);
	cairn_buf_u64le(out, 1);   /* bytes of a cell */
	cairn_buf_fill(out, 0, 1); /* no encryption */
	cairn_buf_u32le(out, (uint32_t)description.len);
	cairn_buf_add(out, description.bytes, description.len);
	size_t tile_at = out->len;
	if (description.status != CAIRN_OK)
		out->status = description.status;
	enum cairn_status status = cairn_tiledb_tile_pack(NULL, out, raw, &pipeline, 1, NULL, 0);
	if (status != CAIRN_OK)
		out->status = status;
	else
		cairn_put_u64le(out->bytes + len_at, out->len - tile_at);
}
