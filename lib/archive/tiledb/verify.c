/* Reads a whole fragment and compares it with its metadata. */
#include "archive/tiledb/array.h"
#include "archive/tiledb/folder.h"
#include "archive/tiledb/stats.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERIFY_ORDER_HILBERT = 4 };

/* The state of a field while its tiles are read. */
struct verify_field {
	struct cairn_tiledb_column column;
	struct cairn_tiledb_stats tile, total;
};

struct verify {
	struct cairn_tiledb_reader *r;
	uint32_t n_slots;
	struct verify_field *fields; /* [n_slots]; slots without files are unused */
	struct cairn_buf last;       /* value of the single dimension in the previous row */
	bool has_last;
	uint64_t bytes; /* stored bytes read */
	bool named;     /* the error already names its file */
	struct cairn_diag *diag;
};

static void verify_fini(struct verify *v)
{
	for (uint32_t i = 0; v->fields && i < v->n_slots; i++) {
		cairn_tiledb_column_fini(&v->fields[i].column);
		cairn_tiledb_stats_fini(&v->fields[i].tile);
		cairn_tiledb_stats_fini(&v->fields[i].total);
	}
	free(v->fields);
	cairn_buf_fini(&v->last);
}

/* Returns whether this slot has a file. Dimensions of a dense array are not stored. */
static bool verify_stored(const struct verify *v, uint32_t slot)
{
	return cairn_tiledb_schema_field(&v->r->schema, slot) && (v->r->schema.sparse || slot < v->r->schema.n_attrs);
}

static enum cairn_status verify_init(struct verify *v)
{
	v->n_slots = cairn_tiledb_schema_slots(&v->r->schema);
	v->fields = calloc(v->n_slots, sizeof(*v->fields));
	v->last = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX);
	if (!v->fields)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < v->n_slots; i++) {
		if (!verify_stored(v, i))
			continue;
		v->fields[i].tile = cairn_tiledb_stats_init(&v->r->schema, i);
		v->fields[i].total = cairn_tiledb_stats_init(&v->r->schema, i);
	}
	return CAIRN_OK;
}

/* Reports a statistic that differs from the data. @param at  offset of its block */
static enum cairn_status verify_wrong(struct verify *v, uint64_t at, const char *what, uint32_t slot, uint64_t tile,
				      const char *expected, const char *actual)
{
	char of[40] = "the fragment";
	if (tile != UINT64_MAX)
		(void)snprintf(of, sizeof(of), "tile %" PRIu64, tile);
	(void)cairn_fail(v->diag, CAIRN_E_MISMATCH, "tiledb.statistics", at,
			 "the %s of %.60s in %s is not that of its cells", what,
			 cairn_tiledb_schema_field(&v->r->schema, slot)->name, of);
	cairn_diag_values(v->diag, expected, actual);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status verify_number(struct verify *v, uint64_t at, const char *what, uint32_t slot, uint64_t tile,
				       uint64_t expected, uint64_t actual)
{
	char a[24], b[24];
	if (expected == actual)
		return CAIRN_OK;
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(&v->r->schema, slot);
	bool is_signed = cairn_tiledb_type(field->datatype)->kind == CAIRN_TILEDB_KIND_SIGNED;
	(void)snprintf(a, sizeof(a), is_signed ? "%" PRIi64 : "%" PRIu64, expected);
	(void)snprintf(b, sizeof(b), is_signed ? "%" PRIi64 : "%" PRIu64, actual);
	return verify_wrong(v, at, what, slot, tile, a, b);
}

static enum cairn_status verify_value(struct verify *v, uint64_t at, const char *what, uint32_t slot, uint64_t tile,
				      struct cairn_tiledb_view expected, struct cairn_tiledb_view actual)
{
	char a[CAIRN_TILEDB_VALUE_TEXT_BYTES], b[CAIRN_TILEDB_VALUE_TEXT_BYTES];
	const struct cairn_tiledb_type *type = v->fields[slot].tile.type;
	if (expected.len == actual.len &&
	    (expected.len == 0 || memcmp(expected.bytes, actual.bytes, expected.len) == 0))
		return CAIRN_OK;
	cairn_tiledb_value_text(a, type, expected);
	cairn_tiledb_value_text(b, type, actual);
	return verify_wrong(v, at, what, slot, tile, a, b);
}

/* Compares the minimum or maximum of a tile, which is zero if all cells are null. */
static enum cairn_status verify_tile_minmax(struct verify *v, uint32_t slot, uint64_t tile,
					    enum cairn_tiledb_vector which)
{
	static const uint8_t zeros[64];
	const struct cairn_tiledb_stats *s = &v->fields[slot].tile;
	const struct cairn_buf *own = which == CAIRN_TILEDB_MINS ? &s->min : &s->max;
	uint64_t at = v->r->fragment.vector_at[slot * CAIRN_TILEDB_VECTORS + which];
	const char *what = which == CAIRN_TILEDB_MINS ? "minimum" : "maximum";
	struct cairn_tiledb_view stored, seen = {own->bytes, own->len};
	if (!cairn_tiledb_minmax_at(&v->r->fragment, &v->r->schema, slot, which, tile, &stored))
		return verify_wrong(v, at, what, slot, tile, "a value in the block", "none");
	if (!s->any) {
		bool is_var = v->fields[slot].column.field->cell_values == CAIRN_TILEDB_VAR;
		seen = (struct cairn_tiledb_view){zeros, is_var ? 0 : stored.len};
		if (seen.len > sizeof(zeros))
			return CAIRN_OK;
	}
	return verify_value(v, at, what, slot, tile, seen, stored);
}

static enum cairn_status verify_tile_stats(struct verify *v, uint32_t slot, uint64_t tile)
{
	const struct cairn_tiledb_stats *s = &v->fields[slot].tile;
	const struct cairn_tiledb_slot *stored = &v->r->fragment.slots[slot];
	const uint64_t *at = &v->r->fragment.vector_at[(size_t)slot * CAIRN_TILEDB_VECTORS];
	enum cairn_status status = CAIRN_OK;
	if (s->has_minmax) {
		status = verify_tile_minmax(v, slot, tile, CAIRN_TILEDB_MINS);
		if (status == CAIRN_OK)
			status = verify_tile_minmax(v, slot, tile, CAIRN_TILEDB_MAXS);
	}
	if (status == CAIRN_OK && s->has_sum)
		status = verify_number(v, at[CAIRN_TILEDB_SUMS], "sum", slot, tile, s->sum,
				       cairn_tiledb_vector_at(stored, CAIRN_TILEDB_SUMS, tile));
	if (status == CAIRN_OK && v->fields[slot].column.field->nullable)
		status = verify_number(v, at[CAIRN_TILEDB_NULLS], "number of nulls", slot, tile, s->n_nulls,
				       cairn_tiledb_vector_at(stored, CAIRN_TILEDB_NULLS, tile));
	return status;
}

static enum cairn_status verify_order(struct verify *v, uint64_t tile, uint64_t cell, struct cairn_tiledb_view value)
{
	const struct cairn_tiledb_type *type = cairn_tiledb_type(v->r->schema.dims[0].datatype);
	struct cairn_tiledb_view last = {v->last.bytes, v->last.len};
	int order = v->has_last ? cairn_tiledb_compare(type, last, value) : -1;
	if (order > 0) {
		char a[CAIRN_TILEDB_VALUE_TEXT_BYTES], b[CAIRN_TILEDB_VALUE_TEXT_BYTES];
		cairn_tiledb_value_text(a, type, last);
		cairn_tiledb_value_text(b, type, value);
		(void)cairn_fail(v->diag, CAIRN_E_MISMATCH, "tiledb.order", CAIRN_NO_OFFSET,
				 "rows are not sorted by the dimension: cell %" PRIu64 " of tile %" PRIu64, cell, tile);
		cairn_diag_values(v->diag, a, b);
		return CAIRN_E_MISMATCH;
	}
	v->last.len = 0;
	cairn_buf_add(&v->last, value.bytes, value.len);
	v->has_last = true;
	return v->last.status;
}

/* Returns the minimum and maximum of a dimension. */
static enum cairn_status verify_dim(struct verify *v, uint64_t tile, uint32_t slot)
{
	const struct cairn_tiledb_schema *schema = &v->r->schema;
	const struct cairn_tiledb_column *c = &v->fields[slot].column;
	const struct cairn_tiledb_type *type = v->fields[slot].tile.type;
	bool is_ordered = schema->n_dims == 1 && schema->cell_order != VERIFY_ORDER_HILBERT, is_null;
	struct cairn_tiledb_view min = cairn_tiledb_column_value(c, 0, &is_null), max = min;
	for (uint64_t i = 0; i < c->n_cells; i++) {
		struct cairn_tiledb_view value = cairn_tiledb_column_value(c, i, &is_null);
		if (cairn_tiledb_compare(type, value, min) < 0)
			min = value;
		if (cairn_tiledb_compare(type, value, max) > 0)
			max = value;
		enum cairn_status status = is_ordered ? verify_order(v, tile, i, value) : CAIRN_OK;
		if (status != CAIRN_OK)
			return status;
	}
	struct cairn_tiledb_mbr mbr;
	uint32_t d = slot - schema->n_attrs - 1;
	const struct cairn_tiledb_rtree *tree = &v->r->fragment.rtree;
	cairn_tiledb_rtree_at(tree, schema, tree->n_levels - 1, tile, &mbr);
	enum cairn_status status = verify_value(v, v->r->fragment.rtree_at, "minimum", slot, tile, min, mbr.min[d]);
	return status == CAIRN_OK ? verify_value(v, v->r->fragment.rtree_at, "maximum", slot, tile, max, mbr.max[d])
				  : status;
}

static enum cairn_status verify_column(struct verify *v, uint64_t tile, uint32_t slot)
{
	struct verify_field *f = &v->fields[slot];
	enum cairn_status status = cairn_tiledb_reader_column(v->r, tile, slot, &f->column, v->diag);
	v->named = status != CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	v->bytes += f->column.stored.len;
	if (v->r->fragment.dense)
		return CAIRN_OK;
	cairn_tiledb_stats_reset(&f->tile);
	for (uint64_t i = 0; i < f->column.n_cells; i++) {
		bool is_null;
		struct cairn_tiledb_view value = cairn_tiledb_column_value(&f->column, i, &is_null);
		cairn_tiledb_stats_add(&f->tile, value, is_null);
	}
	cairn_tiledb_stats_merge(&f->total, &f->tile);
	if (f->total.min.status != CAIRN_OK || f->total.max.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	if (slot > v->r->schema.n_attrs)
		status = verify_dim(v, tile, slot);
	return status == CAIRN_OK ? verify_tile_stats(v, slot, tile) : status;
}

static enum cairn_status verify_total(struct verify *v, uint32_t slot)
{
	const struct cairn_tiledb_stats *s = &v->fields[slot].total;
	const struct cairn_tiledb_slot *stored = &v->r->fragment.slots[slot];
	enum cairn_status status = CAIRN_OK;
	uint8_t none[8];
	if (s->has_minmax && (s->any || s->type->kind != CAIRN_TILEDB_KIND_FLOAT)) {
		status = verify_value(v, v->r->fragment.footer_at, "minimum", slot, UINT64_MAX,
				      cairn_tiledb_stats_total(s, true, none),
				      (struct cairn_tiledb_view){stored->min.bytes, stored->min.len});
		if (status == CAIRN_OK)
			status = verify_value(v, v->r->fragment.footer_at, "maximum", slot, UINT64_MAX,
					      cairn_tiledb_stats_total(s, false, none),
					      (struct cairn_tiledb_view){stored->max.bytes, stored->max.len});
	}
	if (status == CAIRN_OK && s->has_sum)
		status = verify_number(v, v->r->fragment.footer_at, "sum", slot, UINT64_MAX, s->sum, stored->sum);
	return status == CAIRN_OK ? verify_number(v, v->r->fragment.footer_at, "number of nulls", slot, UINT64_MAX,
						  s->n_nulls, stored->n_nulls)
				  : status;
}

/* Checks that the non-empty domain equals the root of the R-tree. */
static enum cairn_status verify_domain(struct verify *v)
{
	const struct cairn_tiledb_fragment *f = &v->r->fragment;
	struct cairn_tiledb_mbr root, domain;
	if (!f->has_domain || f->rtree.n_levels == 0)
		return CAIRN_OK;
	struct cairn_cur c = cairn_cur_init(f->domain.bytes, f->domain.len);
	cairn_tiledb_rtree_at(&f->rtree, &v->r->schema, 0, 0, &root);
	if (cairn_tiledb_mbr_read(&c, &v->r->schema, &domain) && cairn_tiledb_mbr_equal(&v->r->schema, &root, &domain))
		return CAIRN_OK;
	return cairn_fail(v->diag, CAIRN_E_MISMATCH, "tiledb.rtree", f->footer_at,
			  "the non-empty domain is not what the root of the R-tree covers");
}

static enum cairn_status verify_run(struct verify *v, void (*progress)(void *ctx, uint64_t bytes), void *ctx)
{
	struct cairn_tiledb_fragment *f = &v->r->fragment;
	enum cairn_status status = verify_init(v);
	if (status == CAIRN_OK)
		status = cairn_tiledb_rtree_verify(&f->rtree, &v->r->schema, f->rtree_at, v->diag);
	if (status == CAIRN_OK)
		status = verify_domain(v);
	for (uint64_t tile = 0; tile < f->n_tiles && status == CAIRN_OK; tile++) {
		for (uint32_t i = 0; i < v->n_slots && status == CAIRN_OK; i++) {
			if (verify_stored(v, i))
				status = verify_column(v, tile, i);
		}
		if (progress)
			progress(ctx, v->bytes);
	}
	for (uint32_t i = 0; i < v->n_slots && status == CAIRN_OK && !f->dense; i++) {
		if (verify_stored(v, i))
			status = verify_total(v, i);
	}
	return status;
}

enum cairn_status cairn_tiledb_verify(struct cairn_tiledb_reader *r, void (*progress)(void *ctx, uint64_t bytes),
				      void *ctx, struct cairn_diag *diag)
{
	char folder[CAIRN_TILEDB_PATH_BYTES], path[CAIRN_TILEDB_PATH_BYTES + 32];
	CLEANUP(verify_fini) struct verify v = {.r = r, .diag = diag};
	cairn_tiledb_path(folder, CAIRN_TILEDB_FRAGMENTS_DIR, r->name);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, CAIRN_TILEDB_META_FILE);
	enum cairn_status status = verify_run(&v, progress, ctx);
	return v.named ? status : cairn_tiledb_blame(diag, status, path, 0);
}
