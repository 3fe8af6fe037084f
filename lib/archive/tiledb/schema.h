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
	bool nullable;        /* attributes only */
	struct cairn_tiledb_pipeline pipeline;
};

/**
 * Fields are numbered as in a fragment: attributes, then one slot that is no field any more (once the coordinates),
 * then dimensions.
 */
struct cairn_tiledb_schema {
	uint32_t version;
	bool sparse;
	bool allows_duplicates;
	uint8_t tile_order, cell_order; /* 0: row-major */
	uint64_t capacity;              /* cells of a tile of a sparse array */
	struct cairn_tiledb_pipeline coords, offsets, validity;
	bool checksums; /* metadata are written with some. Not told by the file: each generic tile says it of itself */
	uint32_t n_attrs, n_dims;
	struct cairn_tiledb_field *attrs; /* owned, n_attrs */
	struct cairn_tiledb_field *dims;  /* owned, n_dims */
};

/** Release the fields and zero it. For CLEANUP(). */
void cairn_tiledb_schema_fini(struct cairn_tiledb_schema *schema);

/**
 * Read a schema file.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  also for what is valid but not read here: encryption, labels, enumerations, a current domain,
 *                         other filters; CAIRN_E_LIMIT; CAIRN_E_MISMATCH; CAIRN_E_NOMEM. Offsets within the schema
 * itself are told as that of the generic tile that holds it, and named in the text.
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_schema_read(struct cairn_tiledb_schema *out,
							  struct cairn_tiledb_codec *codec,
							  struct cairn_tiledb_view file, struct cairn_diag *diag);

/** Append a schema file of version 22: of a sparse array whose dimensions are texts of any length. out has the errors.
 */
void cairn_tiledb_schema_write(struct cairn_buf *out, const struct cairn_tiledb_schema *schema);

/** Number of slots in a fragment without timestamps: attributes, the dead one, dimensions. */
uint32_t cairn_tiledb_schema_slots(const struct cairn_tiledb_schema *schema);

/** @return the field of a slot; NULL for the dead one and what is behind the dimensions */
const struct cairn_tiledb_field *cairn_tiledb_schema_field(const struct cairn_tiledb_schema *schema, uint32_t slot);

/** Slot of the attribute or dimension of this name. @return UINT32_MAX: there is none */
uint32_t cairn_tiledb_schema_find(const struct cairn_tiledb_schema *schema, const char *name);

/** Filters of a field's values: a dimension without any has those of the coordinates. */
const struct cairn_tiledb_pipeline *cairn_tiledb_schema_pipeline(const struct cairn_tiledb_schema *schema,
								 uint32_t slot);

/** Bytes of a cell of fixed length; of a value where the length is not fixed. */
size_t cairn_tiledb_cell_bytes(const struct cairn_tiledb_field *field);

/** Which statistics a field has. Those with a minimum have a maximum; some have no sum. */
bool cairn_tiledb_has_minmax(const struct cairn_tiledb_schema *schema, uint32_t slot);
bool cairn_tiledb_has_sum(const struct cairn_tiledb_schema *schema, uint32_t slot);

#endif
