#include "index/sqlite/new_rows.h"

#include <stdlib.h>

/* The virtual table that statements read (sqlite.org/vtab.html). */
struct new_rows_table {
	sqlite3_vtab base;
	const struct cairn_new_rows_source *source;
};

struct new_rows_cursor {
	sqlite3_vtab_cursor base;
	const struct cairn_new_rows *rows;
	unsigned at;
};

enum new_rows_column { NEW_ROWS_A, NEW_ROWS_B, NEW_ROWS_C, NEW_ROWS_BYTES, NEW_ROWS_MORE };

static int new_rows_connect(sqlite3 *db, void *source, int argc, const char *const *argv, sqlite3_vtab **out,
			    char **error)
{
	(void)argc;
	(void)argv;
	(void)error;
	int rc = sqlite3_declare_vtab(db,
				      "CREATE TABLE new_row(a INTEGER, b INTEGER, c INTEGER, bytes BLOB, more BLOB)");
	if (rc != SQLITE_OK)
		return rc;
	struct new_rows_table *table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->source = source;
	*out = &table->base;
	return SQLITE_OK;
}

static int new_rows_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

/* Plans the only way: a scan from the first row to the last. */
static int new_rows_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = CAIRN_NEW_ROWS_MAX;
	info->estimatedRows = CAIRN_NEW_ROWS_MAX;
	return SQLITE_OK;
}

static int new_rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct new_rows_cursor *cursor = calloc(1, sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	cursor->rows = ((struct new_rows_table *)table)->source->rows;
	*out = &cursor->base;
	return SQLITE_OK;
}

static int new_rows_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int new_rows_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	((struct new_rows_cursor *)cursor)->at = 0;
	return SQLITE_OK;
}

static int new_rows_next(sqlite3_vtab_cursor *cursor)
{
	((struct new_rows_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int new_rows_eof(sqlite3_vtab_cursor *cursor)
{
	const struct new_rows_cursor *c = (const struct new_rows_cursor *)cursor;
	return !c->rows || c->at >= c->rows->n;
}

static void new_rows_blob(sqlite3_context *out, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		sqlite3_result_zeroblob(out, 0);
	else
		sqlite3_result_blob64(out, bytes, len, SQLITE_STATIC);
}

static int new_rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
	const struct new_rows_cursor *c = (const struct new_rows_cursor *)cursor;
	const struct cairn_new_row *row = &c->rows->row[c->at];
	if (column == NEW_ROWS_BYTES)
		new_rows_blob(out, row->bytes, row->len);
	else if (column == NEW_ROWS_MORE)
		new_rows_blob(out, row->more, row->more_len);
	else
		sqlite3_result_int64(out, column == NEW_ROWS_A ? row->a : column == NEW_ROWS_B ? row->b : row->c);
	return SQLITE_OK;
}

static int new_rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	*out = ((const struct new_rows_cursor *)cursor)->at;
	return SQLITE_OK;
}

/* Without xCreate, the table exists in each connection by itself, and in no schema. */
static const sqlite3_module NEW_ROWS_MODULE = {
	.xConnect = new_rows_connect,
	.xBestIndex = new_rows_best_index,
	.xDisconnect = new_rows_disconnect,
	.xOpen = new_rows_open,
	.xClose = new_rows_close,
	.xFilter = new_rows_filter,
	.xNext = new_rows_next,
	.xEof = new_rows_eof,
	.xColumn = new_rows_column,
	.xRowid = new_rows_rowid,
};

enum cairn_status cairn_new_rows_register(sqlite3 *db, struct cairn_new_rows_source *source)
{
	int rc = sqlite3_create_module(db, "new_row", &NEW_ROWS_MODULE, source);
	return rc == SQLITE_OK ? CAIRN_OK : cairn_sql_status(db, rc);
}

static enum cairn_status new_rows_add_each(sqlite3_stmt *stmt, const struct cairn_new_rows *rows, uint64_t *n_added)
{
	enum cairn_status status = CAIRN_OK;
	for (unsigned i = 0; status == CAIRN_OK && i < rows->n; i++) {
		const struct cairn_new_row *row = &rows->row[i];
		/* Not all statements have all parameters, so ignores that a number is out of range. */
		(void)sqlite3_bind_int64(stmt, 1, row->a);
		(void)sqlite3_bind_int64(stmt, 2, row->b);
		(void)sqlite3_bind_int64(stmt, 3, row->c);
		cairn_sql_bind_blob(stmt, 4, row->bytes, row->len);
		status = cairn_sql_run(stmt);
		if (status == CAIRN_OK)
			*n_added += (uint64_t)sqlite3_changes(sqlite3_db_handle(stmt));
	}
	return status;
}

static enum cairn_status new_rows_add_all(struct cairn_new_rows_source *source, sqlite3_stmt *stmt,
					  const struct cairn_new_rows *rows, uint64_t *n_added)
{
	source->rows = rows;
	enum cairn_status status = cairn_sql_run(stmt);
	source->rows = NULL;
	if (status == CAIRN_OK)
		*n_added = (uint64_t)sqlite3_changes(sqlite3_db_handle(stmt));
	return status;
}

enum cairn_status cairn_new_rows_add(struct cairn_new_rows_source *source, struct cairn_new_rows_stmts stmts,
				     struct cairn_new_rows *rows, uint64_t *n_added)
{
	*n_added = 0;
	enum cairn_status status = rows->n <= CAIRN_NEW_ROWS_FEW ? new_rows_add_each(stmts.one, rows, n_added)
								 : new_rows_add_all(source, stmts.many, rows, n_added);
	rows->n = 0;
	return status;
}
