/* Adds many rows with one statement. Beginning and ending a statement costs about as much as adding a row, and an open
 * cursor finds the place after its last row at once. */
#ifndef CAIRN_INDEX_SQLITE_NEW_ROWS_H
#define CAIRN_INDEX_SQLITE_NEW_ROWS_H

#include "index/sqlite/util.h"

/* SQLite copies each page that a statement changes once, to undo it. So more rows are better, as long as they are small
 * compared with the page cache. */
enum { CAIRN_NEW_ROWS_MAX = 512, CAIRN_NEW_ROWS_FEW = 16 };

/** The values of a row, which the statement assigns to columns. Plain value. */
struct cairn_new_row {
	int64_t a, b, c;
	const uint8_t *bytes, *more; /* borrowed until the rows are added */
	size_t len, more_len;
};

/** Zeroed: no rows. Used by one thread. */
struct cairn_new_rows {
	unsigned n;
	struct cairn_new_row row[CAIRN_NEW_ROWS_MAX];
};

/** The source of rows for the statements of one connection. Must not move while the connection is open. */
struct cairn_new_rows_source {
	const struct cairn_new_rows *rows; /* NULL: none */
};

/** Lets statements read new_row(a, b, c, bytes, more). @return CAIRN_OK; CAIRN_E_NOMEM, CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_new_rows_register(sqlite3 *db, struct cairn_new_rows_source *source);

/** Two prepared statements that add the same rows. First bind the values that all rows share, from ?5 on. */
struct cairn_new_rows_stmts {
	sqlite3_stmt *many; /* selects from new_row */
	sqlite3_stmt *one;  /* binds a, b, c and bytes as ?1 to ?4; faster up to CAIRN_NEW_ROWS_FEW */
};

/** Adds the rows, and empties the list.
 * @param[out] n_added  rows added, without those that the statement ignored
 * @return CAIRN_OK, also if the list was empty; otherwise as cairn_sql_run() */
CAIRN_MUST_USE enum cairn_status cairn_new_rows_add(struct cairn_new_rows_source *source,
						    struct cairn_new_rows_stmts stmts, struct cairn_new_rows *rows,
						    uint64_t *n_added);

#endif
