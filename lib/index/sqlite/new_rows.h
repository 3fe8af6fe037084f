/* Rows that one statement adds together. Beginning and ending a statement, with its cursors, costs about as much as
 * adding a row; and a cursor that stays finds the place behind the last row at once. */
#ifndef CAIRN_INDEX_SQLITE_NEW_ROWS_H
#define CAIRN_INDEX_SQLITE_NEW_ROWS_H

#include "index/sqlite/util.h"

/* SQLite keeps a copy of each page that a statement changes, once, to undo it: so the more rows the better, as long as
 * they are small beside its page cache. */
enum { CAIRN_NEW_ROWS_MAX = 512, CAIRN_NEW_ROWS_FEW = 16 };

/** What a row is made of; the statement says which column takes what. Plain value. */
struct cairn_new_row {
	int64_t a, b, c;
	const uint8_t *bytes, *more; /* borrowed until the rows are added */
	size_t len, more_len;
};

/** Zeroed: none yet. Of one thread. */
struct cairn_new_rows {
	unsigned n;
	struct cairn_new_row row[CAIRN_NEW_ROWS_MAX];
};

/** Where statements of one connection take their rows from. Stays in its place as long as the connection. */
struct cairn_new_rows_source {
	const struct cairn_new_rows *rows; /* NULL: none */
};

/** Let statements of this connection read new_row(a, b, c, bytes, more). @return CAIRN_OK; CAIRN_E_NOMEM, CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_new_rows_register(sqlite3 *db, struct cairn_new_rows_source *source);

/** The two statements that add such rows, prepared. Both take what all rows have in common as ?5 and on; bound before.
 */
struct cairn_new_rows_stmts {
	sqlite3_stmt *many; /* selects from new_row */
	sqlite3_stmt *one;  /* takes a, b, c and bytes as ?1 to ?4; it is faster up to CAIRN_NEW_ROWS_FEW */
};

/**
 * Add the rows, and forget them.
 * @param[out] n_added  rows that it added: what a statement ignores is not
 * @return CAIRN_OK, also of no rows at all; as cairn_sql_run()
 */
CAIRN_MUST_USE enum cairn_status cairn_new_rows_add(struct cairn_new_rows_source *source,
						    struct cairn_new_rows_stmts stmts, struct cairn_new_rows *rows,
						    uint64_t *n_added);

#endif
