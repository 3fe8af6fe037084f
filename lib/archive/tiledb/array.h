/* Opens an array, which is a folder: its schemas and its valid fragments. */
#ifndef CAIRN_ARCHIVE_TILEDB_ARRAY_H
#define CAIRN_ARCHIVE_TILEDB_ARRAY_H

#include "archive/tiledb/fragment.h"

/** A name: "__T1_T2_UUID" or "__T1_T2_UUID_VERSION". */
struct cairn_tiledb_name {
	uint64_t first_ms, last_ms; /* since 1970 */
	uint32_t version;           /* 0: the name has none, as in names of schemas */
};

/** Parses a name. @return false: not such a name */
bool cairn_tiledb_name_parse(struct cairn_tiledb_name *out, const char *text);

enum {
	CAIRN_TILEDB_UUID_BYTES = 16,
	CAIRN_TILEDB_NAME_TEXT_BYTES = 96, /* length of a name that Cairn writes, with its zero */
};
/** Writes a name. @param version  0: leave it out */
void cairn_tiledb_name_text(char out[static CAIRN_TILEDB_NAME_TEXT_BYTES], uint64_t ms,
			    const uint8_t uuid[static CAIRN_TILEDB_UUID_BYTES], uint32_t version);

/** An open array. For one thread at a time. Never changes the folder. */
struct cairn_tiledb_array {
	int dir_fd;
	struct cairn_tiledb_codec *codec;
	char schema_name[CAIRN_TILEDB_NAME_MAX + 1]; /* the newest schema */
	struct cairn_tiledb_schema schema;           /* the newest schema, parsed */
	char **fragments;                            /* names of valid fragments, oldest first */
	uint32_t n_fragments;
	uint32_t n_ignored; /* number of other fragments: not committed, or replaced by a consolidated one */
};

/** Opens an array.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  there is no such folder, or it is not an array
 *         CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH  diag names the file, and the place in it
 *         CAIRN_E_IO, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_array_open(struct cairn_tiledb_array *out, const char *path,
							 struct cairn_diag *diag);
void cairn_tiledb_array_fini(struct cairn_tiledb_array *array);

/** Returns whether the path is the folder of an array. */
bool cairn_tiledb_is_array(const char *path);

/** An open fragment. */
struct cairn_tiledb_reader {
	struct cairn_tiledb_array *array; /* borrowed */
	char name[CAIRN_TILEDB_NAME_MAX + 1];
	struct cairn_tiledb_name when;
	int dir_fd;
	uint64_t meta_bytes;
	struct cairn_tiledb_schema schema; /* the schema that the fragment was written with */
	struct cairn_tiledb_fragment fragment;
};

/** Reads the metadata of a fragment. @return as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_reader_open(struct cairn_tiledb_reader *out,
							  struct cairn_tiledb_array *array, const char *name,
							  struct cairn_diag *diag);
void cairn_tiledb_reader_fini(struct cairn_tiledb_reader *r);

/** The cells of one field in one tile. Zeroed is empty; reused from tile to tile. */
struct cairn_tiledb_column {
	const struct cairn_tiledb_field *field;
	uint64_t n_cells;
	struct cairn_buf stored;
	struct cairn_buf files[CAIRN_TILEDB_FILES]; /* bytes without filters */
};
void cairn_tiledb_column_fini(struct cairn_tiledb_column *column);

/** Reads the cells of a field in a tile.
 * @param slot  slot of a stored field: not a dimension of a dense array
 * @return CAIRN_OK; as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_reader_column(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
							    struct cairn_tiledb_column *out, struct cairn_diag *diag);

/** Returns the value of a cell, and whether it is null. */
struct cairn_tiledb_view cairn_tiledb_column_value(const struct cairn_tiledb_column *column, uint64_t cell,
						   bool *is_null);

/** Writes the name of a data file of a slot, such as "a3_var.tdb". */
enum { CAIRN_TILEDB_FILE_NAME_BYTES = 32 };
void cairn_tiledb_file_name(char out[static CAIRN_TILEDB_FILE_NAME_BYTES], const struct cairn_tiledb_schema *schema,
			    uint32_t slot, enum cairn_tiledb_file file);

/** Reads every tile and compares the metadata with it: sizes of files, minima, maxima, sums, nulls, the R-tree, the
 * non-empty domain, the order of rows. Skips the statistics of dense fragments, which also store cells outside of the
 * written range, sums of floats, and the order of rows with several dimensions.
 * @param progress  called with bytes read so far; may be NULL
 * @return CAIRN_OK; CAIRN_E_MISMATCH; as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_verify(struct cairn_tiledb_reader *r,
						     void (*progress)(void *ctx, uint64_t bytes), void *ctx,
						     struct cairn_diag *diag);

#endif
