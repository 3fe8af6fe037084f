/* Reads the cells of one field in one tile. */
#include "archive/tiledb/array.h"
#include "archive/tiledb/folder.h"
#include "base/bytes.h"
#include "base/fd.h"

void cairn_tiledb_column_fini(struct cairn_tiledb_column *column)
{
	cairn_buf_fini(&column->stored);
	for (unsigned i = 0; i < CAIRN_TILEDB_FILES; i++)
		cairn_buf_fini(&column->files[i]);
	*column = (struct cairn_tiledb_column){0};
}

static enum cairn_status column_limit(struct cairn_diag *diag, const char *name, uint64_t at, uint64_t len)
{
	(void)cairn_fail(diag, CAIRN_E_LIMIT, "tiledb.limit", at, "%s: a tile is too long", name);
	cairn_diag_numbers(diag, CAIRN_TILEDB_TILE_BYTES_MAX, len);
	return CAIRN_E_LIMIT;
}

/* A tile to read from a file, and how it was filtered. */
struct column_tile {
	enum cairn_tiledb_file file;
	enum cairn_tiledb_vector offsets;
	const struct cairn_tiledb_pipeline *pipeline;
	size_t cell_bytes;
	uint64_t expected;  /* bytes without filters */
	bool brings_starts; /* also unpacks the starts of values of any length */
};

static enum cairn_status column_read(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
				     const struct column_tile *what, struct cairn_tiledb_column *out,
				     struct cairn_diag *diag)
{
	char name[CAIRN_TILEDB_FILE_NAME_BYTES];
	const struct cairn_tiledb_slot *s = &r->fragment.slots[slot];
	uint64_t len, at = cairn_tiledb_vector_at(s, what->offsets, tile), end = s->file_bytes[what->file];
	if (tile + 1 < r->fragment.n_tiles)
		end = cairn_tiledb_vector_at(s, what->offsets, tile + 1);
	cairn_tiledb_file_name(name, &r->schema, slot, what->file);
	if (end - at > CAIRN_TILEDB_TILE_BYTES_MAX || what->expected > CAIRN_TILEDB_TILE_BYTES_MAX)
		return column_limit(diag, name, at, end - at > what->expected ? end - at : what->expected);
	enum cairn_status status;
	CLEANUP(cairn_fd_closep) int fd = cairn_tiledb_file_open(r->dir_fd, name, &len, &status, diag);
	if (fd < 0)
		return status;
	out->stored.len = 0;
	out->files[what->file].len = 0;
	uint8_t *stored = cairn_buf_extend(&out->stored, (size_t)(end - at));
	if (!stored)
		return out->stored.status;
	status = cairn_fd_read_at(fd, at, stored, (size_t)(end - at));
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "tiledb.read", at, "%s: cannot be read", name);
	const struct cairn_tiledb_view packed = {stored, (size_t)(end - at)};
	if (what->brings_starts)
		status = cairn_tiledb_tile_unpack_texts(r->array->codec, &out->files[what->file],
							&out->files[CAIRN_TILEDB_FILE_FIXED], packed, what->pipeline,
							what->expected, diag);
	else
		status = cairn_tiledb_tile_unpack(r->array->codec, &out->files[what->file], packed, what->pipeline,
						  what->cell_bytes, what->expected, diag);
	return cairn_tiledb_blame(diag, status, name, at);
}

static enum cairn_status column_bad_starts(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
					   uint64_t expected, uint64_t actual, struct cairn_diag *diag)
{
	char name[CAIRN_TILEDB_FILE_NAME_BYTES];
	cairn_tiledb_file_name(name, &r->schema, slot, CAIRN_TILEDB_FILE_FIXED);
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.offsets",
			 cairn_tiledb_vector_at(&r->fragment.slots[slot], CAIRN_TILEDB_OFFSETS, tile),
			 "%s: where values start does not rise from 0 within the values of the tile, one for each cell",
			 name);
	cairn_diag_numbers(diag, expected, actual);
	return CAIRN_E_FORMAT;
}

/* Checks that starts of values rise from 0 and end within the values. */
static enum cairn_status column_check_starts(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
					     const struct cairn_tiledb_column *c, struct cairn_diag *diag)
{
	const struct cairn_buf *starts = &c->files[CAIRN_TILEDB_FILE_FIXED], *values = &c->files[CAIRN_TILEDB_FILE_VAR];
	uint64_t before = 0;
	if (starts->len != 8 * c->n_cells) /* RLE has unpacked the starts */
		return column_bad_starts(r, tile, slot, 8 * c->n_cells, starts->len, diag);
	for (uint64_t i = 0; i < c->n_cells; i++) {
		uint64_t start = cairn_get_u64le(starts->bytes + 8 * i);
		if (start >= before && start <= values->len && (i > 0 || start == 0)) {
			before = start;
			continue;
		}
		return column_bad_starts(r, tile, slot, i == 0 ? 0 : values->len, start, diag);
	}
	return CAIRN_OK;
}

static enum cairn_status column_read_files(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
					   struct cairn_tiledb_column *out, struct cairn_diag *diag)
{
	bool is_var = out->field->cell_values == CAIRN_TILEDB_VAR;
	size_t cell = is_var ? 8 : cairn_tiledb_cell_bytes(out->field);
	const struct cairn_tiledb_pipeline *values = cairn_tiledb_schema_pipeline(&r->schema, slot);
	bool packed = is_var && cairn_tiledb_pipeline_packs_starts(values, out->field->datatype, r->fragment.version);
	if (out->n_cells > CAIRN_TILEDB_TILE_BYTES_MAX / cell) {
		char name[CAIRN_TILEDB_FILE_NAME_BYTES];
		cairn_tiledb_file_name(name, &r->schema, slot, CAIRN_TILEDB_FILE_FIXED);
		return column_limit(diag, name, 0, out->n_cells);
	}
	struct column_tile what = {.file = CAIRN_TILEDB_FILE_FIXED,
				   .offsets = CAIRN_TILEDB_OFFSETS,
				   .pipeline = is_var ? &r->schema.offsets : values,
				   .cell_bytes = cell,
				   .expected = packed ? 0 : out->n_cells * cell};
	enum cairn_status status = column_read(r, tile, slot, &what, out, diag);
	if (status == CAIRN_OK && is_var) {
		what = (struct column_tile){
			CAIRN_TILEDB_FILE_VAR,
			CAIRN_TILEDB_VAR_OFFSETS,
			values,
			cairn_tiledb_cell_bytes(out->field),
			cairn_tiledb_vector_at(&r->fragment.slots[slot], CAIRN_TILEDB_VAR_SIZES, tile),
			packed};
		status = column_read(r, tile, slot, &what, out, diag);
		if (status == CAIRN_OK)
			status = column_check_starts(r, tile, slot, out, diag);
	}
	if (status == CAIRN_OK && out->field->nullable) {
		what = (struct column_tile){.file = CAIRN_TILEDB_FILE_VALIDITY,
					    .offsets = CAIRN_TILEDB_VALIDITY_OFFSETS,
					    .pipeline = &r->schema.validity,
					    .cell_bytes = 1,
					    .expected = out->n_cells};
		status = column_read(r, tile, slot, &what, out, diag);
	}
	return status;
}

enum cairn_status cairn_tiledb_reader_column(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
					     struct cairn_tiledb_column *out, struct cairn_diag *diag)
{
	char folder[CAIRN_TILEDB_PATH_BYTES];
	out->field = cairn_tiledb_schema_field(&r->schema, slot);
	out->n_cells = cairn_tiledb_tile_cells(&r->fragment, &r->schema, tile);
	out->stored.max = CAIRN_TILEDB_TILE_BYTES_MAX;
	for (unsigned i = 0; i < CAIRN_TILEDB_FILES; i++)
		out->files[i].max = CAIRN_TILEDB_TILE_BYTES_MAX;
	cairn_tiledb_path(folder, CAIRN_TILEDB_FRAGMENTS_DIR, r->name);
	return cairn_tiledb_blame(diag, column_read_files(r, tile, slot, out, diag), folder, 0);
}

struct cairn_tiledb_view cairn_tiledb_column_value(const struct cairn_tiledb_column *column, uint64_t cell,
						   bool *is_null)
{
	const struct cairn_buf *fixed = &column->files[CAIRN_TILEDB_FILE_FIXED];
	*is_null = column->field->nullable && column->files[CAIRN_TILEDB_FILE_VALIDITY].bytes[cell] == 0;
	if (column->field->cell_values != CAIRN_TILEDB_VAR) {
		size_t len = cairn_tiledb_cell_bytes(column->field);
		return (struct cairn_tiledb_view){fixed->bytes + cell * len, len};
	}
	const struct cairn_buf *var = &column->files[CAIRN_TILEDB_FILE_VAR];
	uint64_t start = cairn_get_u64le(fixed->bytes + 8 * cell);
	uint64_t end = cell + 1 < column->n_cells ? cairn_get_u64le(fixed->bytes + 8 * (cell + 1)) : var->len;
	return (struct cairn_tiledb_view){var->bytes + start, (size_t)(end - start)};
}
