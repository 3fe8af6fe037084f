#include "archive/tiledb/fragment.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum cairn_status cairn_tiledb_fragment_init(struct cairn_tiledb_fragment *f, uint32_t n_slots)
{
	*f = (struct cairn_tiledb_fragment){.domain = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX)};
	f->slots = calloc(n_slots, sizeof(*f->slots));
	f->vector_at = calloc((size_t)n_slots * CAIRN_TILEDB_VECTORS, sizeof(*f->vector_at));
	if (!f->slots || !f->vector_at)
		return CAIRN_E_NOMEM;
	f->n_slots = n_slots;
	for (uint32_t i = 0; i < n_slots; i++) {
		struct cairn_tiledb_slot *slot = &f->slots[i];
		for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++)
			slot->vectors[v] = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
		slot->var_min = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
		slot->var_max = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
		slot->min = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
		slot->max = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	}
	return CAIRN_OK;
}

void cairn_tiledb_fragment_fini(struct cairn_tiledb_fragment *f)
{
	for (uint32_t i = 0; i < f->n_slots; i++) {
		struct cairn_tiledb_slot *slot = &f->slots[i];
		for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++)
			cairn_buf_fini(&slot->vectors[v]);
		cairn_buf_fini(&slot->var_min);
		cairn_buf_fini(&slot->var_max);
		cairn_buf_fini(&slot->min);
		cairn_buf_fini(&slot->max);
	}
	free(f->slots);
	free(f->vector_at);
	cairn_buf_fini(&f->domain);
	cairn_tiledb_rtree_fini(&f->rtree);
	*f = (struct cairn_tiledb_fragment){0};
}

uint64_t cairn_tiledb_vector_at(const struct cairn_tiledb_slot *slot, enum cairn_tiledb_vector which, uint64_t i)
{
	return cairn_get_u64le(slot->vectors[which].bytes + 8 * i);
}

bool cairn_tiledb_minmax_at(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema,
			    uint32_t slot, enum cairn_tiledb_vector which, uint64_t i, struct cairn_tiledb_view *out)
{
	const struct cairn_tiledb_slot *s = &f->slots[slot];
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, slot);
	const struct cairn_buf *fixed = &s->vectors[which];
	if (field->cell_values != CAIRN_TILEDB_VAR) {
		size_t cell = cairn_tiledb_cell_bytes(field);
		*out = (struct cairn_tiledb_view){fixed->bytes + i * cell, cell};
		return true;
	}
	const struct cairn_buf *var = which == CAIRN_TILEDB_MINS ? &s->var_min : &s->var_max;
	uint64_t start = cairn_tiledb_vector_at(s, which, i);
	uint64_t end = i + 1 < f->n_tiles ? cairn_tiledb_vector_at(s, which, i + 1) : var->len;
	if (start > end || end > var->len)
		return false;
	*out = (struct cairn_tiledb_view){var->bytes + start, (size_t)(end - start)};
	return true;
}

uint64_t cairn_tiledb_tile_cells(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema,
				 uint64_t tile)
{
	return f->dense || tile + 1 == f->n_tiles ? f->last_tile_cells : schema->capacity;
}

uint64_t cairn_tiledb_cells(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema)
{
	if (f->n_tiles == 0)
		return 0;
	return (f->n_tiles - 1) * cairn_tiledb_tile_cells(f, schema, 0) +
	       cairn_tiledb_tile_cells(f, schema, f->n_tiles - 1);
}

static uint64_t fragment_put(struct cairn_buf *out, const struct cairn_buf *raw, bool checksums)
{
	uint64_t at = out->len;
	if (raw->status == CAIRN_OK)
		cairn_tiledb_generic_write(out, (struct cairn_tiledb_view){raw->bytes, raw->len}, checksums);
	else
		out->status = raw->status;
	return at;
}

/* Appends one block of the file: its counts, then its content. @return its offset */
static uint64_t fragment_put_vector(struct cairn_buf *out, struct cairn_buf *raw, const struct cairn_tiledb_slot *slot,
				    enum cairn_tiledb_vector which, bool checksums)
{
	const struct cairn_buf *v = &slot->vectors[which];
	raw->len = 0;
	if (v->status != CAIRN_OK)
		raw->status = v->status; /* a tile before could not be added */
	if (which == CAIRN_TILEDB_MINS || which == CAIRN_TILEDB_MAXS) {
		const struct cairn_buf *var = which == CAIRN_TILEDB_MINS ? &slot->var_min : &slot->var_max;
		cairn_buf_u64le(raw, v->len);
		cairn_buf_u64le(raw, var->len);
		cairn_buf_add(raw, v->bytes, v->len);
		cairn_buf_add(raw, var->bytes, var->len);
	} else {
		cairn_buf_u64le(raw, v->len / 8);
		cairn_buf_add(raw, v->bytes, v->len);
	}
	return fragment_put(out, raw, checksums);
}

static void fragment_put_totals(struct cairn_buf *raw, const struct cairn_tiledb_fragment *f)
{
	raw->len = 0;
	for (uint32_t i = 0; i < f->n_slots; i++) {
		const struct cairn_tiledb_slot *slot = &f->slots[i];
		cairn_buf_u64le(raw, slot->min.len);
		cairn_buf_add(raw, slot->min.bytes, slot->min.len);
		cairn_buf_u64le(raw, slot->max.len);
		cairn_buf_add(raw, slot->max.bytes, slot->max.len);
		cairn_buf_u64le(raw, slot->sum);
		cairn_buf_u64le(raw, slot->n_nulls);
	}
}

/* Writes the footer up to the offsets of the blocks, which follow. */
static void fragment_put_footer_head(struct cairn_buf *out, const struct cairn_tiledb_fragment *f)
{
	size_t name_len = strlen(f->schema_name);
	cairn_buf_u32le(out, f->version);
	cairn_buf_u64le(out, name_len);
	cairn_buf_add(out, f->schema_name, name_len);
	cairn_buf_fill(out, f->dense, 1);
	cairn_buf_fill(out, !f->has_domain, 1);
	cairn_buf_add(out, f->domain.bytes, f->domain.len);
	cairn_buf_u64le(out, f->dense ? 0 : f->n_tiles);
	cairn_buf_u64le(out, f->last_tile_cells);
	cairn_buf_fill(out, f->has_timestamps, 1);
	cairn_buf_fill(out, 0, 1); /* no delete metadata */
	for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
		for (uint32_t i = 0; i < f->n_slots; i++)
			cairn_buf_u64le(out, f->slots[i].file_bytes[file]);
	}
}

enum cairn_status cairn_tiledb_fragment_write(struct cairn_buf *out, const struct cairn_tiledb_fragment *f,
					      bool checksums)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf raw = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf offsets = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	cairn_tiledb_rtree_write(&raw, &f->rtree);
	cairn_buf_u64le(&offsets, fragment_put(out, &raw, checksums));
	for (unsigned v = 0; v < CAIRN_TILEDB_VECTORS; v++) {
		for (uint32_t i = 0; i < f->n_slots; i++)
			cairn_buf_u64le(&offsets, fragment_put_vector(out, &raw, &f->slots[i], v, checksums));
	}
	fragment_put_totals(&raw, f);
	cairn_buf_u64le(&offsets, fragment_put(out, &raw, checksums));
	raw.len = 0;
	cairn_buf_u64le(&raw, 0); /* processed conditions */
	cairn_buf_u64le(&offsets, fragment_put(out, &raw, checksums));
	uint64_t footer_at = out->len;
	fragment_put_footer_head(out, f);
	cairn_buf_add(out, offsets.bytes, offsets.len);
	cairn_buf_u64le(out, out->len - footer_at);
	return offsets.status != CAIRN_OK ? offsets.status : out->status;
}
