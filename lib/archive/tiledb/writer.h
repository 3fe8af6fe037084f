/* Writing sparse arrays of one dimension of texts: a fragment at a time, its rows sorted. */
#ifndef CAIRN_ARCHIVE_TILEDB_WRITER_H
#define CAIRN_ARCHIVE_TILEDB_WRITER_H

#include "archive/tiledb/array.h"

/**
 * Make the folder of an array with its schema; it has no rows yet.
 * @param parent_fd  folder to make it in
 * @param schema     one dimension of type ASCII and any length; filters none, zstd, SHA-256, or both in this order
 * @return CAIRN_OK; CAIRN_E_CONFLICT there is something of that name; CAIRN_E_USAGE, CAIRN_E_LIMIT the schema has a
 * filter that is only read, or is too long; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_array_make(int parent_fd, const char *name,
							 const struct cairn_tiledb_schema *schema,
							 const char *schema_name, struct cairn_diag *diag);

/** A fragment on its way. Memory: the rows of one tile, and some hundred bytes for each tile. One thread at a time. */
struct cairn_tiledb_writer;

/** A cell: an attribute's, or the dimension's. */
struct cairn_tiledb_cell {
	struct cairn_tiledb_view value; /* of the length of its type, unless that is free; of a null, any such bytes */
	bool is_null;
};

/**
 * Begin a fragment in a new folder. It does not exist for readers until cairn_tiledb_commit().
 * @param parent_fd    folder to make it in; must stay open
 * @param name         of the fragment, cairn_tiledb_name_text()
 * @param schema       borrowed until the writer is freed
 * @param schema_name  of the array's schema file
 * @return CAIRN_OK; CAIRN_E_CONFLICT there is such a fragment; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_open(struct cairn_tiledb_writer **out, int parent_fd,
							  const char *name, const struct cairn_tiledb_schema *schema,
							  const char *schema_name, struct cairn_diag *diag);

/**
 * Add a row.
 * @param row  the attributes in the order of the schema, then the dimension
 * @return CAIRN_OK; CAIRN_E_USAGE not at or behind the row before; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_LIMIT;
 * CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_add(struct cairn_tiledb_writer *w,
							 const struct cairn_tiledb_cell *row, struct cairn_diag *diag);

/** End the fragment, which must have rows: everything is on the disk, durably. @return as cairn_tiledb_writer_add() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_end(struct cairn_tiledb_writer *w, struct cairn_diag *diag);

/** A fragment that was not ended is removed. For CLEANUP(). */
void cairn_tiledb_writer_freep(struct cairn_tiledb_writer **w);

/** Let a fragment that lies in __fragments exist, durably.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT it does already; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_commit(int array_fd, const char *fragment, struct cairn_diag *diag);

#endif
