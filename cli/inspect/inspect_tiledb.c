/* Shows every field of a TileDB array, and checks its fragments against their metadata. */
#include "archive/tiledb/array.h"
#include "archive/tiledb/folder.h"
#include "base/sys.h"
#include "cli/inspect/inspect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INSPECT_PATH_BYTES = 4400, INSPECT_FILTERS_BYTES = 128 };

static bool inspect_has(const char *folder, const char *name)
{
	char path[INSPECT_PATH_BYTES];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	return n > 0 && (size_t)n < sizeof(path) && cairn_sys_stat(path, &st) == 0;
}

bool inspect_is_tiledb(const char *path)
{
	struct stat st;
	return cairn_sys_stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *inspect_filters(char out[static INSPECT_FILTERS_BYTES], const struct cairn_tiledb_pipeline *pipeline)
{
	size_t len = 0;
	(void)snprintf(out, INSPECT_FILTERS_BYTES, "none");
	for (uint32_t i = 0; i < pipeline->n && len < INSPECT_FILTERS_BYTES - 24; i++) {
		const struct cairn_tiledb_filter *f = &pipeline->filters[i];
		len += (size_t)snprintf(out + len, INSPECT_FILTERS_BYTES - len, "%s%s", i ? "," : "",
					cairn_tiledb_filter_name(f->type));
		if (f->type == CAIRN_TILEDB_FILTER_ZSTD || f->type == CAIRN_TILEDB_FILTER_GZIP)
			len += (size_t)snprintf(out + len, INSPECT_FILTERS_BYTES - len, ":%d", f->level);
	}
	return out;
}

static void inspect_field(struct report *r, const struct cairn_tiledb_field *field, const char *kind)
{
	char filters[INSPECT_FILTERS_BYTES];
	record_begin(r, 1, kind, 0);
	record_text(r, "name", field->name);
	record_text(r, "type", cairn_tiledb_type(field->datatype)->name);
	if (field->cell_values == CAIRN_TILEDB_VAR)
		record_text(r, "values", "any");
	else
		record_u64(r, "values", field->cell_values);
	record_u64(r, "nullable", field->nullable);
	record_text(r, "filters", inspect_filters(filters, &field->pipeline));
	record_end(r);
}

/* Shows a schema. @param a  the array of the fragment; NULL: there is none */
static void inspect_schema(struct report *r, const struct cairn_tiledb_schema *s, const char *name,
			   const struct cairn_tiledb_array *a)
{
	char filters[INSPECT_FILTERS_BYTES];
	record_begin(r, 0, "schema", 0);
	record_text(r, "name", name);
	record_u64(r, "version", s->version);
	record_text(r, "type", s->sparse ? "sparse" : "dense");
	record_u64(r, "duplicates", s->allows_duplicates);
	record_u64(r, "tile_order", s->tile_order);
	record_u64(r, "cell_order", s->cell_order);
	record_u64(r, "capacity", s->capacity);
	record_text(r, "coordinate_filters", inspect_filters(filters, &s->coords));
	record_text(r, "offset_filters", inspect_filters(filters, &s->offsets));
	record_text(r, "validity_filters", inspect_filters(filters, &s->validity));
	if (a) {
		record_u64(r, "fragments", a->n_fragments);
		record_u64(r, "fragments_ignored", a->n_ignored);
	}
	record_end(r);
	for (uint32_t i = 0; i < s->n_dims; i++)
		inspect_field(r, &s->dims[i], "dimension");
	for (uint32_t i = 0; i < s->n_attrs; i++)
		inspect_field(r, &s->attrs[i], "attribute");
}

static void inspect_value(struct report *r, const char *name, const struct cairn_tiledb_field *field,
			  struct cairn_tiledb_view value)
{
	char text[CAIRN_TILEDB_VALUE_TEXT_BYTES];
	cairn_tiledb_value_text(text, cairn_tiledb_type(field->datatype), value);
	record_text(r, name, text);
}

static void inspect_sum(struct report *r, const struct cairn_tiledb_field *field, uint64_t sum)
{
	char text[32];
	enum cairn_tiledb_kind kind = cairn_tiledb_type(field->datatype)->kind;
	if (kind == CAIRN_TILEDB_KIND_UNSIGNED) {
		record_u64(r, "sum", sum);
		return;
	}
	if (kind == CAIRN_TILEDB_KIND_SIGNED) {
		(void)snprintf(text, sizeof(text), "%lld", (long long)sum);
	} else {
		double number;
		memcpy(&number, &sum, sizeof(number));
		(void)snprintf(text, sizeof(text), "%.17g", number);
	}
	record_text(r, "sum", text);
}

/* Shows a field's column in the fragment. */
static void inspect_column(struct report *r, const struct cairn_tiledb_reader *f, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(&f->schema, slot);
	const struct cairn_tiledb_slot *s = &f->fragment.slots[slot];
	if (!field)
		return;
	record_begin(r, 1, "column", f->fragment.footer_at);
	record_text(r, "name", field->name);
	record_u64(r, "bytes", s->file_bytes[CAIRN_TILEDB_FILE_FIXED]);
	record_u64(r, "var_bytes", s->file_bytes[CAIRN_TILEDB_FILE_VAR]);
	record_u64(r, "validity_bytes", s->file_bytes[CAIRN_TILEDB_FILE_VALIDITY]);
	if (s->min.len > 0)
		inspect_value(r, "min", field, (struct cairn_tiledb_view){s->min.bytes, s->min.len});
	if (s->max.len > 0)
		inspect_value(r, "max", field, (struct cairn_tiledb_view){s->max.bytes, s->max.len});
	if (cairn_tiledb_has_sum(&f->schema, slot))
		inspect_sum(r, field, s->sum);
	if (field->nullable)
		record_u64(r, "nulls", s->n_nulls);
	record_end(r);
}

static void inspect_tile_column(struct report *r, const struct cairn_tiledb_reader *f, uint64_t tile, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(&f->schema, slot);
	const struct cairn_tiledb_slot *s = &f->fragment.slots[slot];
	struct cairn_tiledb_view value;
	if (!field || (f->fragment.dense && slot > f->schema.n_attrs))
		return;
	record_begin(r, 2, "cells", cairn_tiledb_vector_at(s, CAIRN_TILEDB_OFFSETS, tile));
	record_text(r, "name", field->name);
	if (field->cell_values == CAIRN_TILEDB_VAR) {
		record_u64(r, "var_offset", cairn_tiledb_vector_at(s, CAIRN_TILEDB_VAR_OFFSETS, tile));
		record_u64(r, "var_bytes", cairn_tiledb_vector_at(s, CAIRN_TILEDB_VAR_SIZES, tile));
	}
	if (field->nullable)
		record_u64(r, "validity_offset", cairn_tiledb_vector_at(s, CAIRN_TILEDB_VALIDITY_OFFSETS, tile));
	if (cairn_tiledb_has_minmax(&f->schema, slot)) {
		if (cairn_tiledb_minmax_at(&f->fragment, &f->schema, slot, CAIRN_TILEDB_MINS, tile, &value))
			inspect_value(r, "min", field, value);
		if (cairn_tiledb_minmax_at(&f->fragment, &f->schema, slot, CAIRN_TILEDB_MAXS, tile, &value))
			inspect_value(r, "max", field, value);
	}
	if (cairn_tiledb_has_sum(&f->schema, slot))
		inspect_sum(r, field, cairn_tiledb_vector_at(s, CAIRN_TILEDB_SUMS, tile));
	if (field->nullable)
		record_u64(r, "nulls", cairn_tiledb_vector_at(s, CAIRN_TILEDB_NULLS, tile));
	record_end(r);
}

static void inspect_mbr(struct report *r, const struct cairn_tiledb_schema *schema, const struct cairn_tiledb_mbr *mbr)
{
	char name[CAIRN_TILEDB_NAME_MAX + 8];
	for (uint32_t d = 0; d < schema->n_dims; d++) {
		(void)snprintf(name, sizeof(name), "%s_min", schema->dims[d].name);
		inspect_value(r, name, &schema->dims[d], mbr->min[d]);
		(void)snprintf(name, sizeof(name), "%s_max", schema->dims[d].name);
		inspect_value(r, name, &schema->dims[d], mbr->max[d]);
	}
}

static void inspect_tiles(struct report *r, const struct cairn_tiledb_reader *f)
{
	const struct cairn_tiledb_rtree *tree = &f->fragment.rtree;
	struct cairn_tiledb_mbr mbr;
	for (uint32_t level = 0; level + 1 < tree->n_levels; level++) {
		for (uint64_t i = 0; i < cairn_tiledb_rtree_count(tree, level); i++) {
			record_begin(r, 1, "node", f->fragment.rtree_at);
			record_u64(r, "level", level);
			cairn_tiledb_rtree_at(tree, &f->schema, level, i, &mbr);
			inspect_mbr(r, &f->schema, &mbr);
			record_end(r);
		}
	}
	for (uint64_t tile = 0; tile < f->fragment.n_tiles; tile++) {
		record_begin(r, 1, "tile", f->fragment.rtree_at);
		record_u64(r, "number", tile);
		record_u64(r, "cells", cairn_tiledb_tile_cells(&f->fragment, &f->schema, tile));
		if (tree->n_levels > 0) {
			cairn_tiledb_rtree_at(tree, &f->schema, tree->n_levels - 1, tile, &mbr);
			inspect_mbr(r, &f->schema, &mbr);
		}
		record_end(r);
		for (uint32_t i = 0; i < cairn_tiledb_schema_slots(&f->schema); i++)
			inspect_tile_column(r, f, tile, i);
	}
}

static void inspect_fragment(struct report *r, const struct cairn_tiledb_reader *f)
{
	struct cairn_tiledb_mbr domain;
	const struct cairn_tiledb_fragment *m = &f->fragment;
	struct cairn_cur c = cairn_cur_init(m->domain.bytes, m->domain.len);
	record_begin(r, 0, "fragment", m->footer_at);
	record_text(r, "name", f->name);
	record_u64(r, "version", m->version);
	record_text(r, "schema", m->schema_name);
	record_text(r, "type", m->dense ? "dense" : "sparse");
	record_u64(r, "first_ms", f->when.first_ms);
	record_u64(r, "last_ms", f->when.last_ms);
	record_u64(r, "timestamps", m->has_timestamps);
	record_u64(r, "tiles", m->n_tiles);
	record_u64(r, "cells", cairn_tiledb_cells(m, &f->schema));
	record_u64(r, "rtree_fanout", m->rtree.fanout);
	record_u64(r, "rtree_levels", m->rtree.n_levels);
	record_u64(r, "metadata_bytes", f->meta_bytes);
	if (m->has_domain && cairn_tiledb_mbr_read(&c, &f->schema, &domain))
		inspect_mbr(r, &f->schema, &domain);
	record_end(r);
	for (uint32_t i = 0; i < cairn_tiledb_schema_slots(&f->schema); i++)
		inspect_column(r, f, i);
	inspect_tiles(r, f);
}

/* Shows an array. @param only  the fragment to show; NULL: all valid fragments */
static enum cairn_status inspect_array(struct report *r, const char *path, const char *only, struct inspect_result *out,
				       struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	enum cairn_status status = cairn_tiledb_array_open(&array, path, diag);
	if (status != CAIRN_OK)
		return status;
	inspect_schema(r, &array.schema, array.schema_name, &array);
	for (uint32_t i = 0; i < (only ? 1 : array.n_fragments) && status == CAIRN_OK; i++) {
		CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader f;
		status = cairn_tiledb_reader_open(&f, &array, only ? only : array.fragments[i], diag);
		if (status != CAIRN_OK)
			return status;
		inspect_fragment(r, &f);
		status = cairn_tiledb_verify(&f, NULL, NULL, diag);
		if (f.fragment.dense)
			out->note = "of dense fragments the statistics are not checked";
	}
	return status;
}

/* Shows a folder of arrays, such as an export. */
static enum cairn_status inspect_arrays(struct report *r, const char *path, struct inspect_result *out,
					struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_names_fini) struct cairn_tiledb_names names = {0};
	bool any = false;
	enum cairn_status status = cairn_tiledb_folder_list(&names, AT_FDCWD, path, diag);
	for (uint32_t i = 0; i < names.n && status == CAIRN_OK; i++) {
		char sub[INSPECT_PATH_BYTES];
		int n = snprintf(sub, sizeof(sub), "%s/%s", path, names.items[i]);
		if (n < 0 || (size_t)n >= sizeof(sub) || !cairn_tiledb_is_array(sub))
			continue;
		any = true;
		record_begin(r, 0, "array", 0);
		record_text(r, "name", names.items[i]);
		record_end(r);
		status = cairn_tiledb_blame(diag, inspect_array(r, sub, NULL, out, diag), names.items[i], 0);
	}
	if (status == CAIRN_OK && !any)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "tiledb.array", CAIRN_NO_OFFSET,
				  "is neither a TileDB array nor a fragment, nor has it arrays in it");
	return status;
}

/* Shows a fragment, whose array is two folders up. */
static enum cairn_status inspect_fragment_folder(struct report *r, char *real, struct inspect_result *out,
						 struct cairn_diag *diag)
{
	char *slash = strrchr(real, '/');
	if (!slash)
		return CAIRN_E_FORMAT;
	*slash = '\0';
	const char *name = slash + 1;
	char *up = strrchr(real, '/');
	if (up)
		*up = '\0';
	return inspect_array(r, *real ? real : "/", name, out, diag);
}

enum cairn_status inspect_tiledb(struct report *r, const char *path, struct inspect_result *out,
				 struct cairn_diag *diag)
{
	*out = (struct inspect_result){0};
	if (cairn_tiledb_is_array(path))
		return inspect_array(r, path, NULL, out, diag);
	if (!inspect_has(path, CAIRN_TILEDB_META_FILE))
		return inspect_arrays(r, path, out, diag);
	char *real = realpath(path, NULL);
	enum cairn_status status = real ? inspect_fragment_folder(r, real, out, diag) : CAIRN_E_NOMEM;
	free(real);
	return status;
}

bool inspect_is_tiledb_file(const uint8_t *bytes, size_t len)
{
	return cairn_tiledb_generic_is(bytes, len);
}

/* Is a path the metadata file of a fragment in its array? If so, cuts real to the fragment's folder. */
static bool inspect_cut_to_fragment(char *real)
{
	char *slash = strrchr(real, '/');
	if (!slash || strcmp(slash + 1, CAIRN_TILEDB_META_FILE) != 0)
		return false;
	*slash = '\0';
	char up[INSPECT_PATH_BYTES];
	int n = snprintf(up, sizeof(up), "%s/../..", real);
	return n > 0 && (size_t)n < sizeof(up) && cairn_tiledb_is_array(up);
}

static enum cairn_status inspect_schema_file(struct report *r, const char *path, struct cairn_tiledb_view file,
					     struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_codec_freep) struct cairn_tiledb_codec *codec = cairn_tiledb_codec_new();
	CLEANUP(cairn_tiledb_schema_fini) struct cairn_tiledb_schema schema = {0};
	if (!codec)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_tiledb_schema_read(&schema, codec, file, diag);
	const char *slash = strrchr(path, '/');
	if (status == CAIRN_OK)
		inspect_schema(r, &schema, slash ? slash + 1 : path, NULL);
	return status;
}

enum cairn_status inspect_tiledb_file(struct report *r, const char *path, const uint8_t *bytes, size_t len,
				      struct inspect_result *out, struct cairn_diag *diag)
{
	const struct cairn_tiledb_view file = {bytes, len};
	char schema_name[CAIRN_TILEDB_NAME_MAX + 1];
	char *real = realpath(path, NULL);
	enum cairn_status status;
	if (real && inspect_cut_to_fragment(real))
		status = inspect_fragment_folder(r, real, out, diag);
	else if (cairn_tiledb_fragment_schema(file, schema_name, NULL) == CAIRN_OK)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.alone", CAIRN_NO_OFFSET,
				    "the metadata of a TileDB fragment cannot be read without the schema of its array "
				    "(%.80s); name the array's folder",
				    schema_name);
	else
		status = inspect_schema_file(r, path, file, diag);
	free(real);
	return status;
}
