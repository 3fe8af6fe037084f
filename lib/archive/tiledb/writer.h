/* Writes sparse arrays with one dimension of texts: one fragment at a time, with sorted rows. */
#ifndef CAIRN_ARCHIVE_TILEDB_WRITER_H
#define CAIRN_ARCHIVE_TILEDB_WRITER_H

#include "archive/tiledb/array.h"

/** Makes the folder of an array with its schema and no rows.
 * @param parent_fd  folder to make it in
 * @param schema     one dimension of type ASCII and any length; filters none, zstd, SHA-256, or both in this order
 * @return CAIRN_OK; CAIRN_E_CONFLICT the name exists; CAIRN_E_USAGE Cairn cannot apply a filter; CAIRN_E_LIMIT the
 *         schema is too long; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_array_make(int parent_fd, const char *name,
							 const struct cairn_tiledb_schema *schema,
							 const char *schema_name, struct cairn_diag *diag);

/** A fragment being written, by one thread at a time. Memory: the rows of one tile, and some hundred bytes per tile. */
struct cairn_tiledb_writer;

/** A cell of an attribute or of the dimension. */
struct cairn_tiledb_cell {
	struct cairn_tiledb_view value; /* of the length of its type, unless any is allowed; for a null, any bytes */
	bool is_null;
};

/** Begins a fragment in a new folder. Readers do not see it until cairn_tiledb_commit().
 * @param parent_fd    folder to make it in; must stay open
 * @param name         name of the fragment: cairn_tiledb_name_text()
 * @param schema       borrowed until the writer is freed
 * @param schema_name  name of the array's schema file
 * @return CAIRN_OK; CAIRN_E_CONFLICT the fragment exists; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_open(struct cairn_tiledb_writer **out, int parent_fd,
							  const char *name, const struct cairn_tiledb_schema *schema,
							  const char *schema_name, struct cairn_diag *diag);

/** Adds a row.
 * @param row  the attributes in the order of the schema, then the dimension
 * @return CAIRN_OK; CAIRN_E_USAGE the rows are unsorted; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_LIMIT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_add(struct cairn_tiledb_writer *w,
							 const struct cairn_tiledb_cell *row, struct cairn_diag *diag);

/** Ends the fragment, which must have rows, and makes it durable. @return as cairn_tiledb_writer_add() */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_writer_end(struct cairn_tiledb_writer *w, struct cairn_diag *diag);

/** Frees the writer, and removes a fragment that was not ended. For CLEANUP(). */
void cairn_tiledb_writer_freep(struct cairn_tiledb_writer **w);

/** Commits a fragment in __fragments durably, so that readers see it.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT it is committed already; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_commit(int array_fd, const char *fragment, struct cairn_diag *diag);

#endif
