/* Reads and writes the description of a pipeline in a schema and in each generic tile. */
#include "archive/tiledb/tile.h"
#include "base/bytes.h"

const char *cairn_tiledb_filter_name(uint8_t type)
{
	switch ((enum cairn_tiledb_filter_type)type) {
	case CAIRN_TILEDB_FILTER_NONE:
		return "NONE";
	case CAIRN_TILEDB_FILTER_GZIP:
		return "GZIP";
	case CAIRN_TILEDB_FILTER_ZSTD:
		return "ZSTD";
	case CAIRN_TILEDB_FILTER_RLE:
		return "RLE";
	case CAIRN_TILEDB_FILTER_MD5:
		return "MD5";
	case CAIRN_TILEDB_FILTER_SHA256:
		return "SHA256";
	}
	return "unknown";
}

static bool pipeline_has_level(uint8_t type)
{
	return type == CAIRN_TILEDB_FILTER_GZIP || type == CAIRN_TILEDB_FILTER_ZSTD || type == CAIRN_TILEDB_FILTER_RLE;
}

static enum cairn_status pipeline_read_filter(struct cairn_cur *c, struct cairn_tiledb_filter *out,
					      struct cairn_diag *diag)
{
	uint64_t at = cairn_cur_offset(c);
	uint8_t type = cairn_cur_u8(c);
	uint32_t options_len = cairn_cur_u32le(c);
	const uint8_t *options = cairn_cur_take(c, options_len);
	if (c->bad)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.truncated", at,
				  "the description of a filter is cut off");
	switch (type) {
	case CAIRN_TILEDB_FILTER_NONE:
	case CAIRN_TILEDB_FILTER_GZIP:
	case CAIRN_TILEDB_FILTER_ZSTD:
	case CAIRN_TILEDB_FILTER_RLE:
	case CAIRN_TILEDB_FILTER_MD5:
	case CAIRN_TILEDB_FILTER_SHA256:
		break;
	default:
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.filter", at,
				 "filter %u is not supported (only gzip, zstd, rle, md5 and sha256 are)", type);
		return CAIRN_E_FORMAT;
	}
	*out = (struct cairn_tiledb_filter){.type = type};
	if (!pipeline_has_level(type))
		return CAIRN_OK;
	if (options_len != 5 || options[0] != type) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.filter", at, "the options of %s are not its own",
				 cairn_tiledb_filter_name(type));
		cairn_diag_numbers(diag, 5, options_len);
		return CAIRN_E_FORMAT;
	}
	out->level = (int32_t)cairn_get_u32le(options + 1);
	return CAIRN_OK;
}

enum cairn_status cairn_tiledb_pipeline_read(struct cairn_cur *c, struct cairn_tiledb_pipeline *out,
					     struct cairn_diag *diag)
{
	uint64_t at = cairn_cur_offset(c);
	*out = (struct cairn_tiledb_pipeline){.chunk_bytes = cairn_cur_u32le(c)};
	uint32_t n = cairn_cur_u32le(c);
	if (c->bad)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.truncated", at, "a list of filters is cut off");
	if (n > CAIRN_TILEDB_FILTERS_MAX) {
		(void)cairn_fail(diag, CAIRN_E_LIMIT, "tiledb.limit", at, "a list of filters is too long");
		cairn_diag_numbers(diag, CAIRN_TILEDB_FILTERS_MAX, n);
		return CAIRN_E_LIMIT;
	}
	for (; out->n < n; out->n++) {
		enum cairn_status status = pipeline_read_filter(c, &out->filters[out->n], diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

void cairn_tiledb_pipeline_write(struct cairn_buf *out, const struct cairn_tiledb_pipeline *pipeline)
{
	cairn_buf_u32le(out, pipeline->chunk_bytes);
	cairn_buf_u32le(out, pipeline->n);
	for (uint32_t i = 0; i < pipeline->n; i++) {
		const struct cairn_tiledb_filter *f = &pipeline->filters[i];
		bool has_level = pipeline_has_level(f->type);
		cairn_buf_fill(out, f->type, 1);
		cairn_buf_u32le(out, has_level ? 5 : 0);
		if (has_level) {
			cairn_buf_fill(out, f->type, 1);
			cairn_buf_u32le(out, (uint32_t)f->level);
		}
	}
}
