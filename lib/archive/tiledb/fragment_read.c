/* Reads the metadata of a fragment: the footer from the end of the file, then each block that it points to. */
#include "archive/tiledb/fragment.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A file while it is read. */
struct fragment_reader {
	struct cairn_tiledb_fragment *f;
	struct cairn_tiledb_codec *codec;
	const struct cairn_tiledb_schema *schema;
	struct cairn_tiledb_view file;
	struct cairn_buf block; /* the last block read, without filters */
	size_t budget;          /* bytes left for all further blocks */
	uint64_t next;          /* start of the next block, right after the previous one */
	struct cairn_diag *diag;
};

static enum cairn_status fragment_bad(struct cairn_diag *diag, const char *rule, uint64_t at, const char *what,
				      uint64_t expected, uint64_t actual)
{
	(void)cairn_fail(diag, CAIRN_E_FORMAT, rule, at, "%s", what);
	cairn_diag_numbers(diag, expected, actual);
	return CAIRN_E_FORMAT;
}

/* --- footer ------------------------------------------------------------------------------------------------------- */

/* Returns a cursor over the footer whose offsets are those of the file. */
static enum cairn_status fragment_find_footer(struct cairn_tiledb_view file, struct cairn_cur *out,
					      struct cairn_diag *diag)
{
	if (file.len < 8)
		return fragment_bad(diag, "tiledb.truncated", file.len,
				    "the file is shorter than the length of its footer", 8, file.len);
	uint64_t len = cairn_get_u64le(file.bytes + file.len - 8);
	if (len > file.len - 8)
		return fragment_bad(diag, "tiledb.footer", file.len - 8, "the footer is longer than the file",
				    file.len - 8, len);
	*out = cairn_cur_init(file.bytes, file.len - 8);
	(void)cairn_cur_take(out, file.len - 8 - (size_t)len);
	return CAIRN_OK;
}

static enum cairn_status fragment_read_name(struct cairn_cur *c, uint32_t *version,
					    char name[static CAIRN_TILEDB_NAME_MAX + 1], struct cairn_diag *diag)
{
	uint64_t at = cairn_cur_offset(c);
	*version = cairn_cur_u32le(c);
	if (c->bad)
		return fragment_bad(diag, "tiledb.footer", at, "the footer is cut off", 4, c->left);
	if (*version < CAIRN_TILEDB_VERSION_MIN || *version > CAIRN_TILEDB_VERSION)
		return fragment_bad(diag, "tiledb.version", at, "the fragment is of a version that is not supported",
				    CAIRN_TILEDB_VERSION, *version);
	uint64_t len = cairn_cur_u64le(c);
	const uint8_t *bytes = len <= CAIRN_TILEDB_NAME_MAX ? cairn_cur_take(c, (size_t)len) : NULL;
	if (!bytes || len == 0 || memchr(bytes, 0, (size_t)len) || memchr(bytes, '/', (size_t)len) || bytes[0] == '.')
		return fragment_bad(diag, "tiledb.footer", at + 4, "the name of the schema is not a file's",
				    CAIRN_TILEDB_NAME_MAX, len);
	memcpy(name, bytes, (size_t)len);
	name[len] = '\0';
	return CAIRN_OK;
}

enum cairn_status cairn_tiledb_fragment_schema(struct cairn_tiledb_view file,
					       char out[static CAIRN_TILEDB_NAME_MAX + 1], struct cairn_diag *diag)
{
	struct cairn_cur c;
	uint32_t version;
	enum cairn_status status = fragment_find_footer(file, &c, diag);
	return status == CAIRN_OK ? fragment_read_name(&c, &version, out, diag) : status;
}

static enum cairn_status fragment_read_domain(struct fragment_reader *r, struct cairn_cur *c)
{
	struct cairn_tiledb_mbr mbr;
	uint64_t at = cairn_cur_offset(c);
	const uint8_t *start = c->p;
	if (!cairn_tiledb_mbr_read(c, r->schema, &mbr))
		return fragment_bad(r->diag, "tiledb.footer", at, "the non-empty domain is cut off", 16, c->left);
	cairn_buf_add(&r->f->domain, start, (size_t)(c->p - start));
	return r->f->domain.status;
}

static enum cairn_status fragment_check_head(struct fragment_reader *r, uint32_t version, uint8_t dense, uint64_t at)
{
	struct cairn_tiledb_fragment *f = r->f;
	if (f->version != version)
		return fragment_bad(r->diag, "tiledb.version", r->f->footer_at,
				    "the fragment is not of the version that its name has", version, f->version);
	if (dense > 1 || f->dense == r->schema->sparse)
		return fragment_bad(r->diag, "tiledb.footer", at,
				    "the fragment is dense and its array sparse, or conversely", !r->schema->sparse,
				    dense);
	return CAIRN_OK;
}

/* Reads the numbers of tiles and cells, and checks that they are possible. */
static enum cairn_status fragment_read_counts(struct fragment_reader *r, struct cairn_cur *c)
{
	struct cairn_tiledb_fragment *f = r->f;
	uint64_t at = cairn_cur_offset(c);
	f->n_tiles = cairn_cur_u64le(c);
	f->last_tile_cells = cairn_cur_u64le(c);
	uint8_t timestamps = cairn_cur_u8(c);
	uint8_t deletes = cairn_cur_u8(c);
	if (c->bad)
		return fragment_bad(r->diag, "tiledb.footer", at, "the footer is cut off", 18, c->left);
	if (timestamps > 1 || deletes > 1)
		return fragment_bad(r->diag, "tiledb.footer", at + 16, "a flag is neither 0 nor 1", 1,
				    timestamps > 1 ? timestamps : deletes);
	if (deletes)
		return cairn_fail(r->diag, CAIRN_E_FORMAT, "tiledb.unsupported", at + 17,
				  "the fragment has deleted rows in it, which is not supported");
	f->has_timestamps = timestamps != 0;
	if (f->dense && f->n_tiles != 0)
		return fragment_bad(r->diag, "tiledb.footer", at, "a dense fragment has no sparse tiles", 0,
				    f->n_tiles);
	if (!f->dense && f->n_tiles > UINT64_MAX / r->schema->capacity)
		return fragment_bad(r->diag, "tiledb.footer", at, "there are too many tiles",
				    UINT64_MAX / r->schema->capacity, f->n_tiles);
	if (f->last_tile_cells == 0 || (!f->dense && f->last_tile_cells > r->schema->capacity))
		return fragment_bad(r->diag, "tiledb.footer", at + 8, "the last tile has no cells, or more than fit",
				    r->schema->capacity, f->last_tile_cells);
	return CAIRN_OK;
}

static enum cairn_status fragment_read_head(struct fragment_reader *r, struct cairn_cur *c, uint32_t version)
{
	struct cairn_tiledb_fragment *f = r->f;
	f->footer_at = cairn_cur_offset(c);
	enum cairn_status status = fragment_read_name(c, &f->version, f->schema_name, r->diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t at = cairn_cur_offset(c);
	uint8_t dense = cairn_cur_u8(c), no_domain = cairn_cur_u8(c);
	f->dense = dense != 0;
	f->has_domain = no_domain == 0 && !c->bad;
	status = fragment_check_head(r, version, dense, at);
	if (status == CAIRN_OK && f->has_domain)
		status = fragment_read_domain(r, c);
	return status == CAIRN_OK ? fragment_read_counts(r, c) : status;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Unfilters the block at an offset into r->block, and sets a cursor on it. */
static enum cairn_status fragment_read_block(struct fragment_reader *r, uint64_t at, struct cairn_cur *out)
{
	struct cairn_cur c = cairn_cur_init(r->file.bytes, (size_t)r->f->footer_at);
	if (at != r->next || !cairn_cur_take(&c, (size_t)at))
		return fragment_bad(r->diag, "tiledb.footer", r->f->footer_at,
				    "the footer has a block begin elsewhere than where the one before it ends", r->next,
				    at);
	r->block.len = 0;
	r->block.max = r->budget;
	enum cairn_status status = cairn_tiledb_generic_read(r->codec, &r->block, &c, r->f->version, r->diag);
	r->next = cairn_cur_offset(&c);
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(r->diag, status, "tiledb.limit", at, "the metadata are over %zu MiB, unfiltered",
				  CAIRN_TILEDB_META_BYTES_MAX >> 20);
	if (status != CAIRN_OK)
		return status;
	r->budget -= r->block.len;
	*out = cairn_cur_init(r->block.bytes, r->block.len);
	return CAIRN_OK;
}

static enum cairn_status fragment_read_numbers(struct fragment_reader *r, uint64_t at, struct cairn_buf *out)
{
	struct cairn_cur c;
	enum cairn_status status = fragment_read_block(r, at, &c);
	if (status != CAIRN_OK)
		return status;
	uint64_t n = cairn_cur_u64le(&c);
	if (c.bad || n != c.left / 8 || c.left % 8 != 0)
		return fragment_bad(r->diag, "tiledb.tiles", at, "a block has fewer or more numbers than it states", n,
				    c.left / 8);
	cairn_buf_add(out, c.p, c.left);
	return out->status;
}

static enum cairn_status fragment_read_minmax(struct fragment_reader *r, uint64_t at, struct cairn_buf *fixed,
					      struct cairn_buf *var)
{
	struct cairn_cur c;
	enum cairn_status status = fragment_read_block(r, at, &c);
	if (status != CAIRN_OK)
		return status;
	uint64_t fixed_len = cairn_cur_u64le(&c), var_len = cairn_cur_u64le(&c);
	if (c.bad || fixed_len > c.left || var_len != c.left - fixed_len)
		return fragment_bad(r->diag, "tiledb.tiles", at,
				    "a block of minima or maxima is not as long as it says", fixed_len + var_len,
				    c.left);
	cairn_buf_add(fixed, c.p, (size_t)fixed_len);
	cairn_buf_add(var, c.p + fixed_len, (size_t)var_len);
	return fixed->status != CAIRN_OK ? fixed->status : var->status;
}

/* Returns the required number of entries of a vector; UINT64_MAX: any, because the vector is never read. */
static uint64_t fragment_entries(const struct fragment_reader *r, uint32_t slot, enum cairn_tiledb_vector which)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(r->schema, slot);
	if (!field || (r->f->dense && slot > r->schema->n_attrs))
		return UINT64_MAX;
	switch (which) {
	case CAIRN_TILEDB_MINS:
	case CAIRN_TILEDB_MAXS:
		return cairn_tiledb_has_minmax(r->schema, slot) ? r->f->n_tiles : UINT64_MAX;
	case CAIRN_TILEDB_SUMS:
		return cairn_tiledb_has_sum(r->schema, slot) ? r->f->n_tiles : UINT64_MAX;
	case CAIRN_TILEDB_NULLS:
		return field->nullable ? r->f->n_tiles : 0;
	case CAIRN_TILEDB_OFFSETS:
	case CAIRN_TILEDB_VAR_OFFSETS:
	case CAIRN_TILEDB_VAR_SIZES:
	case CAIRN_TILEDB_VALIDITY_OFFSETS:
	case CAIRN_TILEDB_VECTORS:
		break;
	}
	return r->f->n_tiles;
}

/* Checks that offsets of tiles in a file rise from 0 and end within the file. */
static enum cairn_status fragment_check_offsets(struct fragment_reader *r, uint32_t slot,
						enum cairn_tiledb_vector which, enum cairn_tiledb_file file)
{
	const struct cairn_tiledb_slot *s = &r->f->slots[slot];
	uint64_t at = r->f->vector_at[slot * CAIRN_TILEDB_VECTORS + which], before = 0;
	for (uint64_t i = 0; i < r->f->n_tiles; i++) {
		uint64_t offset = cairn_tiledb_vector_at(s, which, i);
		if (i == 0 ? offset != 0 : offset <= before)
			return fragment_bad(r->diag, "tiledb.tiles", at, "offsets of tiles do not rise from 0",
					    i == 0 ? 0 : before + 1, offset);
		before = offset;
	}
	if (before >= s->file_bytes[file] && r->f->n_tiles > 0)
		return fragment_bad(r->diag, "tiledb.tiles", at, "a tile lies behind the end of its file",
				    s->file_bytes[file], before);
	return CAIRN_OK;
}

/* Checks that the slot of the former coordinates has no files. */
static enum cairn_status fragment_check_dead_slot(struct fragment_reader *r)
{
	const struct cairn_tiledb_slot *s = &r->f->slots[r->schema->n_attrs];
	for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
		if (s->file_bytes[file] != 0)
			return fragment_bad(r->diag, "tiledb.footer", r->f->footer_at,
					    "the slot between attributes and dimensions has a file", 0,
					    s->file_bytes[file]);
	}
	return CAIRN_OK;
}

static enum cairn_status fragment_check_slot(struct fragment_reader *r, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(r->schema, slot);
	const struct cairn_tiledb_slot *s = &r->f->slots[slot];
	enum cairn_status status = CAIRN_OK;
	if (!field || (r->f->dense && slot > r->schema->n_attrs))
		return CAIRN_OK;
	for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++) {
		bool is_fixed_value =
			(v == CAIRN_TILEDB_MINS || v == CAIRN_TILEDB_MAXS) && field->cell_values != CAIRN_TILEDB_VAR;
		size_t entry = is_fixed_value ? cairn_tiledb_cell_bytes(field) : 8, len = s->vectors[v].len;
		uint64_t wanted = fragment_entries(r, slot, v);
		if (wanted != UINT64_MAX && (len % entry != 0 || len / entry != wanted))
			return fragment_bad(r->diag, "tiledb.tiles", r->f->vector_at[slot * CAIRN_TILEDB_VECTORS + v],
					    "a block does not have one entry for each tile", wanted, len / entry);
	}
	status = fragment_check_offsets(r, slot, CAIRN_TILEDB_OFFSETS, CAIRN_TILEDB_FILE_FIXED);
	if (status == CAIRN_OK && field->cell_values == CAIRN_TILEDB_VAR)
		status = fragment_check_offsets(r, slot, CAIRN_TILEDB_VAR_OFFSETS, CAIRN_TILEDB_FILE_VAR);
	if (status == CAIRN_OK && field->nullable)
		status = fragment_check_offsets(r, slot, CAIRN_TILEDB_VALIDITY_OFFSETS, CAIRN_TILEDB_FILE_VALIDITY);
	return status;
}

static enum cairn_status fragment_read_totals(struct fragment_reader *r, uint64_t at)
{
	struct cairn_cur c = {0};
	enum cairn_status status = fragment_read_block(r, at, &c);
	for (uint32_t i = 0; status == CAIRN_OK && i < r->f->n_slots; i++) {
		struct cairn_tiledb_slot *slot = &r->f->slots[i];
		uint64_t min_len = cairn_cur_u64le(&c);
		const uint8_t *min = min_len <= c.left ? cairn_cur_take(&c, (size_t)min_len) : NULL;
		uint64_t max_len = cairn_cur_u64le(&c);
		const uint8_t *max = min && max_len <= c.left ? cairn_cur_take(&c, (size_t)max_len) : NULL;
		slot->sum = cairn_cur_u64le(&c);
		slot->n_nulls = cairn_cur_u64le(&c);
		if (!max || c.bad)
			return fragment_bad(r->diag, "tiledb.tiles", at, "the statistics of the fragment are cut off",
					    r->f->n_slots, i);
		cairn_buf_add(&slot->min, min, (size_t)min_len);
		cairn_buf_add(&slot->max, max, (size_t)max_len);
		status = slot->min.status != CAIRN_OK ? slot->min.status : slot->max.status;
	}
	if (status == CAIRN_OK && c.left > 0)
		return fragment_bad(r->diag, "tiledb.tiles", at, "bytes follow the statistics of the fragment", 0,
				    c.left);
	return status;
}

static enum cairn_status fragment_read_slots(struct fragment_reader *r)
{
	struct cairn_tiledb_fragment *f = r->f;
	enum cairn_status status = CAIRN_OK;
	for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++) {
		for (uint32_t i = 0; i < f->n_slots && status == CAIRN_OK; i++) {
			struct cairn_tiledb_slot *slot = &f->slots[i];
			uint64_t at = f->vector_at[i * CAIRN_TILEDB_VECTORS + v];
			if (v == CAIRN_TILEDB_MINS)
				status = fragment_read_minmax(r, at, &slot->vectors[v], &slot->var_min);
			else if (v == CAIRN_TILEDB_MAXS)
				status = fragment_read_minmax(r, at, &slot->vectors[v], &slot->var_max);
			else
				status = fragment_read_numbers(r, at, &slot->vectors[v]);
		}
		/* A dense fragment does not state its number of tiles. */
		if (v == CAIRN_TILEDB_OFFSETS && f->dense && status == CAIRN_OK)
			f->n_tiles = f->slots[0].vectors[v].len / 8;
	}
	for (uint32_t i = 0; i < f->n_slots && status == CAIRN_OK; i++)
		status = fragment_check_slot(r, i);
	return status == CAIRN_OK ? fragment_check_dead_slot(r) : status;
}

static enum cairn_status fragment_read_blocks(struct fragment_reader *r, struct cairn_cur *c)
{
	struct cairn_tiledb_fragment *f = r->f;
	struct cairn_cur block;
	for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
		for (uint32_t i = 0; i < f->n_slots; i++)
			f->slots[i].file_bytes[file] = cairn_cur_u64le(c);
	}
	f->rtree_at = cairn_cur_u64le(c);
	for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++) {
		for (uint32_t i = 0; i < f->n_slots; i++)
			f->vector_at[i * CAIRN_TILEDB_VECTORS + v] = cairn_cur_u64le(c);
	}
	uint64_t totals_at = cairn_cur_u64le(c), conditions_at = cairn_cur_u64le(c);
	if (c->bad || c->left > 0)
		return fragment_bad(r->diag, "tiledb.footer", f->footer_at,
				    "the footer is shorter or longer than the schema's fields want",
				    cairn_cur_offset(c) - f->footer_at, cairn_cur_offset(c) - f->footer_at + c->left);
	enum cairn_status status = fragment_read_block(r, f->rtree_at, &block);
	if (status == CAIRN_OK)
		status = cairn_tiledb_rtree_read(&f->rtree, r->schema,
						 (struct cairn_tiledb_view){r->block.bytes, r->block.len},
						 f->dense ? 0 : f->n_tiles, f->rtree_at, r->diag);
	if (status == CAIRN_OK)
		status = fragment_read_slots(r);
	if (status == CAIRN_OK)
		status = fragment_read_totals(r, totals_at);
	if (status == CAIRN_OK)
		status = fragment_read_block(r, conditions_at, &block);
	if (status == CAIRN_OK && (block.left != 8 || cairn_cur_u64le(&block) != 0))
		status = cairn_fail(r->diag, CAIRN_E_FORMAT, "tiledb.unsupported", conditions_at,
				    "the fragment has conditions of deletes, which are not supported");
	if (status == CAIRN_OK && r->next != f->footer_at)
		return fragment_bad(r->diag, "tiledb.footer", f->footer_at,
				    "there are bytes between the last block and the footer", f->footer_at, r->next);
	return status;
}

enum cairn_status cairn_tiledb_fragment_read(struct cairn_tiledb_fragment *out, struct cairn_tiledb_codec *codec,
					     const struct cairn_tiledb_schema *schema, uint32_t version,
					     struct cairn_tiledb_view file, struct cairn_diag *diag)
{
	struct cairn_cur c;
	struct fragment_reader r = {.f = out,
				    .codec = codec,
				    .schema = schema,
				    .file = file,
				    .block = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX),
				    .budget = CAIRN_TILEDB_META_BYTES_MAX,
				    .diag = diag};
	/* Reserve a slot for timestamps after those of the fields. */
	enum cairn_status status = cairn_tiledb_fragment_init(out, cairn_tiledb_schema_slots(schema) + 1);
	if (status == CAIRN_OK)
		status = fragment_find_footer(file, &c, diag);
	if (status == CAIRN_OK)
		status = fragment_read_head(&r, &c, version);
	if (status == CAIRN_OK && !out->has_timestamps)
		out->n_slots--; /* drop the reserved slot, whose buffers are empty */
	if (status == CAIRN_OK)
		status = fragment_read_blocks(&r, &c);
	cairn_buf_fini(&r.block);
	return status;
}
