/* The schema of an array: its fields, and how their values are stored. */
#ifndef CAIRN_ARCHIVE_TILEDB_SCHEMA_H
#define CAIRN_ARCHIVE_TILEDB_SCHEMA_H

#include "archive/tiledb/tile.h"
#include "archive/tiledb/types.h"

/** A field: an attribute or a dimension. */
struct cairn_tiledb_field {
	char name[CAIRN_TILEDB_NAME_MAX + 1];
	uint8_t datatype;
	uint32_t cell_values; /* values in a cell; CAIRN_TILEDB_VAR: any number */
	bool nullable;        /* of attributes only */
	struct cairn_tiledb_pipeline pipeline;
};

/** Slots are numbered as in a fragment: attributes, then an unused slot (formerly coordinates), then dimensions. */
struct cairn_tiledb_schema {
	uint32_t version;
	bool sparse;
	bool allows_duplicates;
	uint8_t tile_order, cell_order; /* 0: row-major */
	uint64_t capacity;              /* cells in a tile of a sparse array */
	struct cairn_tiledb_pipeline coords, offsets, validity;
	bool checksums; /* write checksums with the metadata. Not in the file: each generic tile has its own flag */
	uint32_t n_attrs, n_dims;
	struct cairn_tiledb_field *attrs; /* owned, n_attrs */
	struct cairn_tiledb_field *dims;  /* owned, n_dims */
};

/** Frees the fields and zeroes the schema. For CLEANUP(). */
void cairn_tiledb_schema_fini(struct cairn_tiledb_schema *schema);

/** Reads a schema file.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK; CAIRN_E_FORMAT also for valid schemas with encryption, labels, enumerations, a current domain or
 *         other filters; CAIRN_E_LIMIT; CAIRN_E_MISMATCH; CAIRN_E_NOMEM. An error's offset is that of the generic
 *         tile; the text has the offset in the schema. */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_schema_read(struct cairn_tiledb_schema *out,
							  struct cairn_tiledb_codec *codec,
							  struct cairn_tiledb_view file, struct cairn_diag *diag);

/** Appends a schema of version 22, for a sparse array whose dimensions are texts of any length. out keeps an error. */
void cairn_tiledb_schema_write(struct cairn_buf *out, const struct cairn_tiledb_schema *schema);

/** Returns the number of slots in a fragment without timestamps: attributes, the unused slot, dimensions. */
uint32_t cairn_tiledb_schema_slots(const struct cairn_tiledb_schema *schema);

/** Returns the field of a slot. @return NULL: the unused slot, or one after the dimensions */
const struct cairn_tiledb_field *cairn_tiledb_schema_field(const struct cairn_tiledb_schema *schema, uint32_t slot);

/** Returns the slot of the attribute or dimension of this name. @return UINT32_MAX: no such field */
uint32_t cairn_tiledb_schema_find(const struct cairn_tiledb_schema *schema, const char *name);

/** Returns the filters of a field's values. A dimension without filters has those of the coordinates. */
const struct cairn_tiledb_pipeline *cairn_tiledb_schema_pipeline(const struct cairn_tiledb_schema *schema,
								 uint32_t slot);

/** Returns the bytes of a cell of fixed length, or of a value in a cell of any length. */
size_t cairn_tiledb_cell_bytes(const struct cairn_tiledb_field *field);

/** Returns which statistics a field has. A field with a minimum has a maximum, but not always a sum. */
bool cairn_tiledb_has_minmax(const struct cairn_tiledb_schema *schema, uint32_t slot);
bool cairn_tiledb_has_sum(const struct cairn_tiledb_schema *schema, uint32_t slot);

#endif
