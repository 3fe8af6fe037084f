/* Reads and writes the metadata of a fragment: the whole of __fragment_metadata.tdb. */
#ifndef CAIRN_ARCHIVE_TILEDB_FRAGMENT_H
#define CAIRN_ARCHIVE_TILEDB_FRAGMENT_H

#include "archive/tiledb/rtree.h"

/** The data files of a field. */
enum cairn_tiledb_file {
	CAIRN_TILEDB_FILE_FIXED,    /* values of fixed length, or the start of each value of any length */
	CAIRN_TILEDB_FILE_VAR,      /* values of any length */
	CAIRN_TILEDB_FILE_VALIDITY, /* one byte a cell: 1 is a value, 0 is null */
	CAIRN_TILEDB_FILES,
};

/** Vectors with an entry for each tile of a field, in the order of the file. */
enum cairn_tiledb_vector {
	CAIRN_TILEDB_OFFSETS, /* start of the tile in each of the field's files */
	CAIRN_TILEDB_VAR_OFFSETS,
	CAIRN_TILEDB_VAR_SIZES, /* bytes without filters */
	CAIRN_TILEDB_VALIDITY_OFFSETS,
	CAIRN_TILEDB_MINS, /* values; of any length: their starts in var */
	CAIRN_TILEDB_MAXS,
	CAIRN_TILEDB_SUMS,
	CAIRN_TILEDB_NULLS,
	CAIRN_TILEDB_VECTORS,
};

/** The metadata of one slot of the schema. Owned. */
struct cairn_tiledb_slot {
	uint64_t file_bytes[CAIRN_TILEDB_FILES];
	struct cairn_buf vectors[CAIRN_TILEDB_VECTORS]; /* u64 each, except for MINS and MAXS of fixed length */
	struct cairn_buf var_min, var_max;
	struct cairn_buf min, max; /* minimum and maximum of the whole fragment */
	uint64_t sum, n_nulls;
};

/** The metadata of a fragment. Zeroed is empty. */
struct cairn_tiledb_fragment {
	uint32_t version;
	char schema_name[CAIRN_TILEDB_NAME_MAX + 1];
	bool dense;
	bool has_timestamps;
	bool has_domain;
	struct cairn_buf domain; /* the non-empty domain, an MBR */
	uint64_t n_tiles;
	uint64_t last_tile_cells; /* dense: cells of each tile */
	struct cairn_tiledb_rtree rtree;
	uint32_t n_slots;
	struct cairn_tiledb_slot *slots; /* owned; n_slots */

	/* offsets in the file, for messages */
	uint64_t rtree_at, footer_at;
	uint64_t *vector_at; /* owned; [n_slots * CAIRN_TILEDB_VECTORS] */
};

/** Begins empty metadata with n_slots slots. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_fragment_init(struct cairn_tiledb_fragment *f, uint32_t n_slots);
void cairn_tiledb_fragment_fini(struct cairn_tiledb_fragment *f);

/** Returns entry i of a vector of numbers; i must be in range. */
uint64_t cairn_tiledb_vector_at(const struct cairn_tiledb_slot *slot, enum cairn_tiledb_vector which, uint64_t i);

/** Reads the minimum (MINS) or maximum (MAXS) of tile i. @return false: the vector lacks it */
bool cairn_tiledb_minmax_at(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema,
			    uint32_t slot, enum cairn_tiledb_vector which, uint64_t i, struct cairn_tiledb_view *out);

uint64_t cairn_tiledb_tile_cells(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema,
				 uint64_t tile);
/** Returns the number of cells of all tiles. */
uint64_t cairn_tiledb_cells(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema);

/** Reads the name of the schema that a metadata file refers to, which is needed to read the rest.
 * @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_fragment_schema(struct cairn_tiledb_view file,
							      char out[static CAIRN_TILEDB_NAME_MAX + 1],
							      struct cairn_diag *diag);

/** Reads a metadata file, and checks every count against the others.
 * @param version   version in the fragment's name
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT; CAIRN_E_MISMATCH; CAIRN_E_NOMEM. An error's offset is in the file;
 *         for an error within a block, it is the block's. */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_fragment_read(struct cairn_tiledb_fragment *out,
							    struct cairn_tiledb_codec *codec,
							    const struct cairn_tiledb_schema *schema, uint32_t version,
							    struct cairn_tiledb_view file, struct cairn_diag *diag);

/** Appends a metadata file of version 22. @param checksums  write checksums of blocks; the footer never has one @return
 * CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_fragment_write(struct cairn_buf *out,
							     const struct cairn_tiledb_fragment *f, bool checksums);

#endif
