#include "archive/tiledb/schema.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMA_DENSE = 0, SCHEMA_SPARSE = 1 };

void cairn_tiledb_schema_fini(struct cairn_tiledb_schema *schema)
{
	free(schema->attrs);
	free(schema->dims);
	*schema = (struct cairn_tiledb_schema){0};
}

uint32_t cairn_tiledb_schema_slots(const struct cairn_tiledb_schema *schema)
{
	return schema->n_attrs + 1 + schema->n_dims;
}

const struct cairn_tiledb_field *cairn_tiledb_schema_field(const struct cairn_tiledb_schema *schema, uint32_t slot)
{
	if (slot < schema->n_attrs)
		return &schema->attrs[slot];
	if (slot > schema->n_attrs && slot - schema->n_attrs - 1 < schema->n_dims)
		return &schema->dims[slot - schema->n_attrs - 1];
	return NULL;
}

uint32_t cairn_tiledb_schema_find(const struct cairn_tiledb_schema *schema, const char *name)
{
	for (uint32_t i = 0; i < cairn_tiledb_schema_slots(schema); i++) {
		const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, i);
		if (field && strcmp(field->name, name) == 0)
			return i;
	}
	return UINT32_MAX;
}

const struct cairn_tiledb_pipeline *cairn_tiledb_schema_pipeline(const struct cairn_tiledb_schema *schema,
								 uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, slot);
	return slot > schema->n_attrs && field->pipeline.n == 0 ? &schema->coords : &field->pipeline;
}

size_t cairn_tiledb_cell_bytes(const struct cairn_tiledb_field *field)
{
	size_t value = cairn_tiledb_type(field->datatype)->bytes;
	return field->cell_values == CAIRN_TILEDB_VAR ? value : value * field->cell_values;
}

bool cairn_tiledb_has_minmax(const struct cairn_tiledb_schema *schema, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, slot);
	if (!field || slot > schema->n_attrs)
		return false;
	enum cairn_tiledb_kind kind = cairn_tiledb_type(field->datatype)->kind;
	return kind == CAIRN_TILEDB_KIND_TEXT || (kind != CAIRN_TILEDB_KIND_OPAQUE && field->cell_values == 1);
}

bool cairn_tiledb_has_sum(const struct cairn_tiledb_schema *schema, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, slot);
	if (!field || field->cell_values != 1)
		return false;
	enum cairn_tiledb_kind kind = cairn_tiledb_type(field->datatype)->kind;
	return kind != CAIRN_TILEDB_KIND_TEXT && kind != CAIRN_TILEDB_KIND_OPAQUE;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Refuses a schema. The text has the offset in the unfiltered bytes. */
static enum cairn_status schema_bad(struct cairn_diag *diag, const struct cairn_cur *c, const char *what)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.schema", 0, "%s (byte %llu of the unfiltered schema)", what,
			  (unsigned long long)cairn_cur_offset(c));
}

static enum cairn_status schema_cut(struct cairn_diag *diag, const struct cairn_cur *c)
{
	return schema_bad(diag, c, "the schema is cut off");
}

static enum cairn_status schema_read_pipeline(struct cairn_cur *c, struct cairn_tiledb_pipeline *out,
					      struct cairn_diag *diag)
{
	enum cairn_status status = cairn_tiledb_pipeline_read(c, out, diag);
	if (status != CAIRN_OK && diag)
		diag->offset = 0;
	return status;
}

static enum cairn_status schema_read_name(struct cairn_cur *c, char out[static CAIRN_TILEDB_NAME_MAX + 1],
					  struct cairn_diag *diag)
{
	uint32_t len = cairn_cur_u32le(c);
	const uint8_t *bytes = cairn_cur_take(c, len);
	if (!bytes)
		return schema_cut(diag, c);
	if (len > CAIRN_TILEDB_NAME_MAX || memchr(bytes, 0, len))
		return schema_bad(diag, c, "the name of a field is too long, or has a zero byte in it");
	memcpy(out, bytes, len);
	out[len] = '\0';
	return CAIRN_OK;
}

/* Reads name, type, number of values and filters, which both kinds of fields have. */
static enum cairn_status schema_read_field(struct cairn_cur *c, struct cairn_tiledb_field *out, struct cairn_diag *diag)
{
	enum cairn_status status = schema_read_name(c, out->name, diag);
	if (status != CAIRN_OK)
		return status;
	out->datatype = cairn_cur_u8(c);
	out->cell_values = cairn_cur_u32le(c);
	if (c->bad)
		return schema_cut(diag, c);
	const struct cairn_tiledb_type *type = cairn_tiledb_type(out->datatype);
	if (!type)
		return schema_bad(diag, c, "a field has a type that is not known");
	if (out->cell_values == 0 ||
	    (out->cell_values != CAIRN_TILEDB_VAR && out->cell_values > CAIRN_TILEDB_VALUE_MAX / type->bytes))
		return schema_bad(diag, c, "a field has no values in a cell, or too many");
	return schema_read_pipeline(c, &out->pipeline, diag);
}

static enum cairn_status schema_read_dim(struct cairn_cur *c, struct cairn_tiledb_field *out, struct cairn_diag *diag)
{
	enum cairn_status status = schema_read_field(c, out, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t domain_len = cairn_cur_u64le(c);
	bool fits = domain_len <= 2 * (uint64_t)CAIRN_TILEDB_VALUE_MAX && cairn_cur_take(c, (size_t)domain_len);
	uint8_t no_extent = cairn_cur_u8(c);
	if (fits && no_extent == 0)
		(void)cairn_cur_take(c, cairn_tiledb_cell_bytes(out));
	if (!fits || c->bad)
		return schema_cut(diag, c);
	bool is_var = out->cell_values == CAIRN_TILEDB_VAR;
	if (is_var ? cairn_tiledb_type(out->datatype)->kind != CAIRN_TILEDB_KIND_TEXT || domain_len != 0
		   : out->cell_values != 1 || domain_len != 2 * cairn_tiledb_cell_bytes(out))
		return schema_bad(diag, c, "a dimension is neither a number with its domain nor a text without one");
	return CAIRN_OK;
}

static enum cairn_status schema_read_attr(struct cairn_cur *c, uint32_t version, struct cairn_tiledb_field *out,
					  struct cairn_diag *diag)
{
	enum cairn_status status = schema_read_field(c, out, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t fill_len = cairn_cur_u64le(c);
	bool fits = fill_len <= CAIRN_TILEDB_VALUE_MAX && cairn_cur_take(c, (size_t)fill_len);
	out->nullable = cairn_cur_u8(c) != 0;
	(void)cairn_cur_u8(c); /* validity of the fill value */
	if (version >= 17)
		(void)cairn_cur_u8(c); /* an order, used by labels alone */
	uint32_t enumeration_len = version >= 20 ? cairn_cur_u32le(c) : 0;
	if (!fits || c->bad)
		return schema_cut(diag, c);
	if (enumeration_len > 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.unsupported", 0,
				  "attribute \"%s\" has an enumeration, which is not supported", out->name);
	return CAIRN_OK;
}

static enum cairn_status schema_read_fields(struct cairn_cur *c, struct cairn_tiledb_schema *out,
					    struct cairn_diag *diag)
{
	uint32_t n_dims = cairn_cur_u32le(c);
	if (c->bad || n_dims == 0 || n_dims > CAIRN_TILEDB_DIMS_MAX)
		return schema_bad(diag, c, "the schema has no dimension, or too many");
	out->dims = calloc(n_dims, sizeof(*out->dims));
	if (!out->dims)
		return CAIRN_E_NOMEM;
	for (; out->n_dims < n_dims; out->n_dims++) {
		enum cairn_status status = schema_read_dim(c, &out->dims[out->n_dims], diag);
		if (status != CAIRN_OK)
			return status;
	}
	uint32_t n_attrs = cairn_cur_u32le(c);
	if (c->bad || n_attrs > CAIRN_TILEDB_ATTRS_MAX)
		return schema_bad(diag, c, "the schema has too many attributes");
	out->attrs = calloc(n_attrs ? n_attrs : 1, sizeof(*out->attrs));
	if (!out->attrs)
		return CAIRN_E_NOMEM;
	for (; out->n_attrs < n_attrs; out->n_attrs++) {
		enum cairn_status status = schema_read_attr(c, out->version, &out->attrs[out->n_attrs], diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

/* Reads the parts that later versions added, which must be empty here. */
static enum cairn_status schema_read_tail(struct cairn_cur *c, uint32_t version, struct cairn_diag *diag)
{
	uint32_t n_labels = version >= 18 ? cairn_cur_u32le(c) : 0;
	uint32_t n_enumerations = n_labels == 0 && version >= 20 ? cairn_cur_u32le(c) : 0;
	bool unsupported = n_labels > 0 || n_enumerations > 0;
	if (!unsupported && version >= 22) {
		(void)cairn_cur_u32le(c); /* version of the current domain */
		unsupported = cairn_cur_u8(c) == 0 && !c->bad;
	}
	if (c->bad)
		return schema_cut(diag, c);
	if (unsupported)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.unsupported", 0,
				  "labels, enumerations and current domains are not supported");
	return c->left == 0 ? CAIRN_OK : schema_bad(diag, c, "bytes follow the schema");
}

static enum cairn_status schema_parse(struct cairn_tiledb_schema *out, struct cairn_cur *c, struct cairn_diag *diag)
{
	out->version = cairn_cur_u32le(c);
	if (c->bad || out->version < CAIRN_TILEDB_VERSION_MIN || out->version > CAIRN_TILEDB_VERSION) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.version", 0,
				 "the schema is of a version that is not supported");
		cairn_diag_numbers(diag, CAIRN_TILEDB_VERSION, out->version);
		return CAIRN_E_FORMAT;
	}
	out->allows_duplicates = cairn_cur_u8(c) != 0;
	uint8_t array_type = cairn_cur_u8(c);
	out->tile_order = cairn_cur_u8(c);
	out->cell_order = cairn_cur_u8(c);
	out->capacity = cairn_cur_u64le(c);
	if (c->bad)
		return schema_cut(diag, c);
	if (array_type != SCHEMA_DENSE && array_type != SCHEMA_SPARSE)
		return schema_bad(diag, c, "the array is neither dense nor sparse");
	if (out->capacity == 0)
		return schema_bad(diag, c, "the capacity is 0");
	out->sparse = array_type == SCHEMA_SPARSE;
	enum cairn_status status = schema_read_pipeline(c, &out->coords, diag);
	if (status == CAIRN_OK)
		status = schema_read_pipeline(c, &out->offsets, diag);
	if (status == CAIRN_OK)
		status = schema_read_pipeline(c, &out->validity, diag);
	if (status == CAIRN_OK)
		status = schema_read_fields(c, out, diag);
	return status == CAIRN_OK ? schema_read_tail(c, out->version, diag) : status;
}

enum cairn_status cairn_tiledb_schema_read(struct cairn_tiledb_schema *out, struct cairn_tiledb_codec *codec,
					   struct cairn_tiledb_view file, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf raw = cairn_buf_init(CAIRN_TILEDB_SCHEMA_BYTES_MAX);
	struct cairn_cur tile = cairn_cur_init(file.bytes, file.len);
	*out = (struct cairn_tiledb_schema){0};
	enum cairn_status status = cairn_tiledb_generic_read(codec, &raw, &tile, CAIRN_TILEDB_VERSION_MIN, diag);
	if (status != CAIRN_OK)
		return status;
	if (tile.left > 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.tile", cairn_cur_offset(&tile),
				  "bytes follow the tile of the schema");
	struct cairn_cur c = cairn_cur_init(raw.bytes, raw.len);
	status = schema_parse(out, &c, diag);
	uint32_t around = cairn_get_u32le(file.bytes);
	if (status != CAIRN_OK || around >= out->version)
		return status;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.version", 0, "the tile of the schema is older than the schema");
	cairn_diag_numbers(diag, out->version, around);
	return CAIRN_E_FORMAT;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void schema_write_field(struct cairn_buf *out, const struct cairn_tiledb_field *field)
{
	size_t name_len = strlen(field->name);
	cairn_buf_u32le(out, (uint32_t)name_len);
	cairn_buf_add(out, field->name, name_len);
	cairn_buf_fill(out, field->datatype, 1);
	cairn_buf_u32le(out, field->cell_values);
	cairn_tiledb_pipeline_write(out, &field->pipeline);
}

/* Writes the fill value, which stands for a cell that was not written, as TileDB defines it for each type. */
static void schema_write_fill(struct cairn_buf *out, const struct cairn_tiledb_field *field)
{
	size_t len = cairn_tiledb_cell_bytes(field);
	cairn_buf_u64le(out, len);
	if (field->datatype == CAIRN_TILEDB_CHAR) {
		cairn_buf_fill(out, 0x80, len);
		return;
	}
	switch (cairn_tiledb_type(field->datatype)->kind) {
	case CAIRN_TILEDB_KIND_UNSIGNED:
		cairn_buf_fill(out, 0xff, len);
		break;
	case CAIRN_TILEDB_KIND_SIGNED: /* the lowest value */
		cairn_buf_fill(out, 0, len - 1);
		cairn_buf_fill(out, 0x80, 1);
		break;
	case CAIRN_TILEDB_KIND_FLOAT:
	case CAIRN_TILEDB_KIND_TEXT:
	case CAIRN_TILEDB_KIND_OPAQUE:
		cairn_buf_fill(out, 0, len);
		break;
	}
}

void cairn_tiledb_schema_write(struct cairn_buf *out, const struct cairn_tiledb_schema *schema)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf raw = cairn_buf_init(CAIRN_TILEDB_SCHEMA_BYTES_MAX);
	cairn_buf_u32le(&raw, CAIRN_TILEDB_VERSION);
	cairn_buf_fill(&raw, schema->allows_duplicates, 1);
	cairn_buf_fill(&raw, SCHEMA_SPARSE, 1);
	cairn_buf_fill(&raw, schema->tile_order, 1);
	cairn_buf_fill(&raw, schema->cell_order, 1);
	cairn_buf_u64le(&raw, schema->capacity);
	cairn_tiledb_pipeline_write(&raw, &schema->coords);
	cairn_tiledb_pipeline_write(&raw, &schema->offsets);
	cairn_tiledb_pipeline_write(&raw, &schema->validity);
	cairn_buf_u32le(&raw, schema->n_dims);
	for (uint32_t i = 0; i < schema->n_dims; i++) {
		schema_write_field(&raw, &schema->dims[i]);
		cairn_buf_u64le(&raw, 0);   /* a text has no domain */
		cairn_buf_fill(&raw, 1, 1); /* no extent */
	}
	cairn_buf_u32le(&raw, schema->n_attrs);
	for (uint32_t i = 0; i < schema->n_attrs; i++) {
		schema_write_field(&raw, &schema->attrs[i]);
		schema_write_fill(&raw, &schema->attrs[i]);
		cairn_buf_fill(&raw, schema->attrs[i].nullable, 1);
		cairn_buf_fill(&raw, 0, 2); /* validity of the fill value, order */
		cairn_buf_u32le(&raw, 0);   /* no enumeration */
	}
	cairn_buf_u32le(&raw, 0);   /* labels */
	cairn_buf_u32le(&raw, 0);   /* enumerations */
	cairn_buf_u32le(&raw, 0);   /* version of the current domain */
	cairn_buf_fill(&raw, 1, 1); /* the domain, which is empty */
	if (raw.status == CAIRN_OK)
		cairn_tiledb_generic_write(out, (struct cairn_tiledb_view){raw.bytes, raw.len}, schema->checksums);
	else
		out->status = raw.status;
}
