/* An array as a folder: its schemas, and which fragments count. */
#ifndef CAIRN_ARCHIVE_TILEDB_ARRAY_H
#define CAIRN_ARCHIVE_TILEDB_ARRAY_H

#include "archive/tiledb/fragment.h"

/** "__T1_T2_UUID" or "__T1_T2_UUID_VERSION". */
struct cairn_tiledb_name {
	uint64_t first_ms, last_ms; /* since 1970 */
	uint32_t version;           /* 0: the name has none, as those of schemas */
};

/** @return false: not such a name */
bool cairn_tiledb_name_parse(struct cairn_tiledb_name *out, const char *text);

enum {
	CAIRN_TILEDB_UUID_BYTES = 16,
	CAIRN_TILEDB_NAME_TEXT_BYTES = 96, /* a name that is written, with its zero */
};
/** Write a name. @param version  0: none */
void cairn_tiledb_name_text(char out[static CAIRN_TILEDB_NAME_TEXT_BYTES], uint64_t ms,
			    const uint8_t uuid[static CAIRN_TILEDB_UUID_BYTES], uint32_t version);

/** Owned by one thread at a time; nothing in the folder is changed by it. */
struct cairn_tiledb_array {
	int dir_fd;
	struct cairn_tiledb_codec *codec;
	char schema_name[CAIRN_TILEDB_NAME_MAX + 1]; /* of the newest */
	struct cairn_tiledb_schema schema;           /* likewise */
	char **fragments;                            /* names that count, oldest first */
	uint32_t n_fragments;
	uint32_t n_ignored; /* fragments in the folder that do not: not committed, or replaced by a consolidated one */
};

/**
 * Open an array.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  there is no such folder, or it is not an array
 *         CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH  diag names the file, and the place in it
 *         CAIRN_E_IO, CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_array_open(struct cairn_tiledb_array *out, const char *path,
							 struct cairn_diag *diag);
/** For CLEANUP(). */
void cairn_tiledb_array_fini(struct cairn_tiledb_array *array);

/** Is this the folder of an array? */
bool cairn_tiledb_is_array(const char *path);

/** A fragment that is open. */
struct cairn_tiledb_reader {
	struct cairn_tiledb_array *array; /* borrowed */
	char name[CAIRN_TILEDB_NAME_MAX + 1];
	struct cairn_tiledb_name when;
	int dir_fd;
	uint64_t meta_bytes;
	struct cairn_tiledb_schema schema; /* the one it was written with */
	struct cairn_tiledb_fragment fragment;
};

/** Read what a fragment says of itself. @return as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_reader_open(struct cairn_tiledb_reader *out,
							  struct cairn_tiledb_array *array, const char *name,
							  struct cairn_diag *diag);
/** For CLEANUP(). */
void cairn_tiledb_reader_fini(struct cairn_tiledb_reader *r);

/** The cells of one field in one tile. Zeroed is empty; reused from tile to tile. */
struct cairn_tiledb_column {
	const struct cairn_tiledb_field *field;
	uint64_t n_cells;
	struct cairn_buf stored;
	struct cairn_buf files[CAIRN_TILEDB_FILES]; /* unfiltered */
};
void cairn_tiledb_column_fini(struct cairn_tiledb_column *column);

/**
 * Read the cells of a field in a tile.
 * @param slot  of a field that is stored: not a dimension of a dense array
 * @return CAIRN_OK; as cairn_tiledb_array_open()
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_reader_column(struct cairn_tiledb_reader *r, uint64_t tile, uint32_t slot,
							    struct cairn_tiledb_column *out, struct cairn_diag *diag);

/** Value of a cell, and whether it is null. */
struct cairn_tiledb_view cairn_tiledb_column_value(const struct cairn_tiledb_column *column, uint64_t cell,
						   bool *is_null);

/** "a3_var.tdb": a data file of a slot. */
enum { CAIRN_TILEDB_FILE_NAME_BYTES = 32 };
void cairn_tiledb_file_name(char out[static CAIRN_TILEDB_FILE_NAME_BYTES], const struct cairn_tiledb_schema *schema,
			    uint32_t slot, enum cairn_tiledb_file file);

/**
 * Read every tile and compare with it everything that the metadata say of it: sizes of files, minima, maxima, sums,
 * nulls, the R-tree, the non-empty domain, the order of rows. Of dense fragments statistics are not judged (cells
 * outside of the written range are stored, but do not count), nor are sums of floats, nor the order where there are
 * several dimensions.
 * @param progress  called with bytes read so far; may be NULL
 * @return CAIRN_OK; CAIRN_E_MISMATCH; as cairn_tiledb_array_open()
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_verify(struct cairn_tiledb_reader *r,
						     void (*progress)(void *ctx, uint64_t bytes), void *ctx,
						     struct cairn_diag *diag);

#endif
