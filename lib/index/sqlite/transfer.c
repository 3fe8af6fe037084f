/* Copies rows on a connection of its own; another process may have the index open. */
#include "index/tables.h"

#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"

#include <stdio.h>
#include <stdlib.h>

enum transfer_stmt { TRANSFER_FIRST, TRANSFER_NEXT, TRANSFER_DROP, TRANSFER_PUT, TRANSFER_STMTS };

enum { TRANSFER_SQL_BYTES_MAX = 2048 };

struct sqlite_transfer {
	struct cairn_index_transfer transfer; /* first */
	sqlite3 *db;
	sqlite3_stmt *stmt[CAIRN_TABLES][TRANSFER_STMTS]; /* prepared at their first use */
};

static struct sqlite_transfer *transfer_of(struct cairn_index_transfer *t)
{
	return (struct sqlite_transfer *)t;
}

static enum cairn_status transfer_fail(struct cairn_index_transfer *t, struct cairn_diag *diag)
{
	return cairn_sql_fail(transfer_of(t)->db, diag, "the rows of the index");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void cairn_sqlite_transfer_free(struct cairn_index_transfer *t)
{
	struct sqlite_transfer *s = transfer_of(t);
	for (int i = 0; i < CAIRN_TABLES; i++)
		cairn_sql_finalize(s->stmt[i], TRANSFER_STMTS);
	cairn_sql_closep(&s->db);
	free(s);
}

enum cairn_status cairn_sqlite_transfer_open(struct cairn_index_transfer **out, const char *where, bool writes,
					     struct cairn_diag *diag)
{
	char path[CAIRN_SQL_PATH_BYTES];
	struct sqlite_transfer *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_sql_index_path(path, where, diag);
	if (status == CAIRN_OK)
		status =
			cairn_sql_open(&s->db, path, writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_must_be_latest(s->db, path, diag);
	/* Rows arrive in an order that violates constraints between tables. A daemon may have the source open: a third
	 * connection with checkpoints would break the order that avoids the WAL-reset bug (../README.md). */
	if (status == CAIRN_OK && writes &&
	    cairn_sql_exec(s->db,
			   "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA wal_autocheckpoint = 0") !=
		    CAIRN_OK)
		status = transfer_fail(&s->transfer, diag);
	if (status == CAIRN_OK)
		*out = &s->transfer;
	else
		cairn_sqlite_transfer_free(&s->transfer);
	return status;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static const char *transfer_name(const struct cairn_column *column)
{
	return column->sqlite_name ? column->sqlite_name : column->name;
}

static bool transfer_is_text(const struct cairn_column *column)
{
	return column->type == CAIRN_COLUMN_TEXT || column->type == CAIRN_COLUMN_PATH;
}

/* @param keys_only  sort by bytes; names by themselves do not */
static void transfer_columns(struct cairn_buf *sql, const struct cairn_table *table, bool keys_only)
{
	unsigned n = keys_only ? cairn_table_keys(table) : table->n_columns;
	for (unsigned c = 0; c < n; c++) {
		const struct cairn_column *column = &table->columns[c];
		const char *name = column->type == CAIRN_COLUMN_COPY ? "NULL" : transfer_name(column);
		cairn_buf_printf(sql, "%s%s%s", c > 0 ? ", " : "", name,
				 keys_only && column->type == CAIRN_COLUMN_TEXT ? " COLLATE BINARY" : "");
	}
}

static void transfer_marks(struct cairn_buf *sql, unsigned n)
{
	for (unsigned c = 0; c < n; c++)
		cairn_buf_printf(sql, "%s?%u", c > 0 ? ", " : "", c + 1);
}

/* The database index has the key's last column in descending order, so a search cannot use all columns. */
static const char TRANSFER_ENTRY[] = "(line, folder, name) >= (?1, ?2, ?3) AND ";

static void transfer_select(struct cairn_buf *sql, const struct cairn_table *table, bool behind)
{
	unsigned n_keys = cairn_table_keys(table);
	cairn_buf_printf(sql, "SELECT ");
	transfer_columns(sql, table, false);
	cairn_buf_printf(sql, " FROM %s", table->name);
	if (behind) {
		cairn_buf_printf(sql, " WHERE %s(",
				 table == &CAIRN_INDEX_TABLES[CAIRN_TABLE_ENTRY] ? TRANSFER_ENTRY : "");
		transfer_columns(sql, table, true);
		cairn_buf_printf(sql, ") > (");
		transfer_marks(sql, n_keys);
		cairn_buf_printf(sql, ")");
	}
	cairn_buf_printf(sql, " ORDER BY ");
	transfer_columns(sql, table, true);
	cairn_buf_printf(sql, " LIMIT ?%u", n_keys + 1);
}

static void transfer_insert(struct cairn_buf *sql, const struct cairn_table *table)
{
	unsigned n = 0;
	cairn_buf_printf(sql, "INSERT OR REPLACE INTO %s(", table->name);
	for (unsigned c = 0; c < table->n_columns; c++)
		if (table->columns[c].type != CAIRN_COLUMN_COPY)
			cairn_buf_printf(sql, "%s%s", n++ > 0 ? ", " : "", transfer_name(&table->columns[c]));
	cairn_buf_printf(sql, ") VALUES(");
	transfer_marks(sql, n);
	cairn_buf_printf(sql, ")");
}

static void transfer_delete(struct cairn_buf *sql, const struct cairn_table *table)
{
	cairn_buf_printf(sql, "DELETE FROM %s WHERE (", table->name);
	transfer_columns(sql, table, true);
	cairn_buf_printf(sql, ") = (");
	transfer_marks(sql, cairn_table_keys(table));
	cairn_buf_printf(sql, ")");
}

/* Prepares a statement at its first use. @return NULL: preparing it failed */
static sqlite3_stmt *transfer_stmt(struct sqlite_transfer *s, enum cairn_index_table which, enum transfer_stmt stmt)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf sql = cairn_buf_init(TRANSFER_SQL_BYTES_MAX);
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[which];
	if (s->stmt[which][stmt])
		return s->stmt[which][stmt];
	if (stmt == TRANSFER_PUT)
		transfer_insert(&sql, table);
	else if (stmt == TRANSFER_DROP)
		transfer_delete(&sql, table);
	else
		transfer_select(&sql, table, stmt == TRANSFER_NEXT);
	cairn_buf_add(&sql, "", 1);
	const char *text = (const char *)sql.bytes;
	if (sql.status != CAIRN_OK || cairn_sql_prepare(s->db, &text, &s->stmt[which][stmt], 1) != CAIRN_OK)
		return NULL;
	return s->stmt[which][stmt];
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void transfer_bind(sqlite3_stmt *stmt, int at, const struct cairn_column *column,
			  const struct cairn_index_rows *rows, uint32_t row, unsigned c)
{
	const struct cairn_value *value = cairn_index_rows_value(rows, row, c);
	const char *bytes = (const char *)cairn_index_rows_at(rows, value);
	if (value->kind == CAIRN_VALUE_NULL)
		(void)sqlite3_bind_null(stmt, at);
	else if (value->kind == CAIRN_VALUE_NUMBER)
		(void)sqlite3_bind_int64(stmt, at, value->number);
	else if (transfer_is_text(column))
		(void)sqlite3_bind_text64(stmt, at, bytes, value->len, SQLITE_STATIC, SQLITE_UTF8);
	else
		cairn_sql_bind_blob(stmt, at, bytes, value->len);
}

static void transfer_bind_key(sqlite3_stmt *stmt, const struct cairn_index_rows *rows, uint32_t row)
{
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[rows->table];
	for (unsigned c = 0; c < cairn_table_keys(table); c++)
		transfer_bind(stmt, (int)c + 1, &table->columns[c], rows, row, c);
}

static void transfer_take(struct cairn_index_rows *out, sqlite3_stmt *stmt)
{
	(void)cairn_index_rows_add(out);
	for (unsigned c = 0; c < out->n_columns; c++) {
		int type = sqlite3_column_type(stmt, (int)c);
		size_t len;
		if (type == SQLITE_NULL)
			continue;
		if (type == SQLITE_INTEGER) {
			cairn_index_rows_number(out, c, sqlite3_column_int64(stmt, (int)c));
			continue;
		}
		const uint8_t *bytes = cairn_sql_blob(stmt, (int)c, &len);
		cairn_index_rows_bytes(out, c, bytes, len);
	}
}

enum cairn_status cairn_sqlite_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
					     const struct cairn_index_rows *after, uint32_t row, uint32_t limit,
					     struct cairn_index_rows *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp)
	sqlite3_stmt *stmt = transfer_stmt(transfer_of(t), table, after ? TRANSFER_NEXT : TRANSFER_FIRST);
	if (!stmt)
		return transfer_fail(t, diag);
	if (after)
		transfer_bind_key(stmt, after, row);
	(void)sqlite3_bind_int64(stmt, (int)cairn_table_keys(&CAIRN_INDEX_TABLES[table]) + 1, limit);
	for (;;) {
		bool any;
		if (cairn_sql_step(stmt, &any) != CAIRN_OK)
			return transfer_fail(t, diag);
		if (!any)
			return CAIRN_OK;
		transfer_take(out, stmt);
	}
}

enum cairn_status cairn_sqlite_transfer_state(struct cairn_index_transfer *t, struct cairn_index_state *out,
					      struct cairn_diag *diag)
{
	static const char *const SQL[] = {
		"SELECT frozen, collection, files, xorbs, shards, eligible, stored_bytes FROM state"};
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum cairn_status status = cairn_sql_prepare(transfer_of(t)->db, SQL, &stmt, 1);
	if (status == CAIRN_OK)
		status = cairn_sql_step(stmt, &row);
	if (row)
		*out = (struct cairn_index_state){
			.frozen = (enum cairn_index_frozen)sqlite3_column_int(stmt, 0),
			.collection = sqlite3_column_int64(stmt, 1),
			.n_files = sqlite3_column_int64(stmt, 2),
			.n_xorbs = sqlite3_column_int64(stmt, 3),
			.n_shards = sqlite3_column_int64(stmt, 4),
			.n_eligible = sqlite3_column_int64(stmt, 5),
			.stored_bytes = sqlite3_column_int64(stmt, 6),
		};
	cairn_sql_finalize(&stmt, 1);
	return status == CAIRN_OK && row ? CAIRN_OK : transfer_fail(t, diag);
}

enum cairn_status cairn_sqlite_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
					     int64_t *number, struct cairn_diag *diag)
{
	char sql[256];
	const char *name = CAIRN_INDEX_TABLES[table].name;
	(void)snprintf(sql, sizeof(sql),
		       "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '%s'), 0),"
		       " coalesce((SELECT max(id) FROM %s), 0))",
		       name, name);
	return cairn_sql_ask(transfer_of(t)->db, sql, number) == CAIRN_OK ? CAIRN_OK : transfer_fail(t, diag);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_sqlite_transfer_freeze(struct cairn_index_transfer *t, enum cairn_index_frozen frozen,
					       struct cairn_diag *diag)
{
	char sql[64];
	(void)snprintf(sql, sizeof(sql), "UPDATE state SET frozen = %d", (int)frozen);
	return cairn_sql_exec(transfer_of(t)->db, sql) == CAIRN_OK ? CAIRN_OK : transfer_fail(t, diag);
}

static enum cairn_status transfer_each(struct sqlite_transfer *s, const struct cairn_index_rows *rows,
				       enum transfer_stmt which)
{
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[rows->table];
	sqlite3_stmt *stmt = rows->n > 0 ? transfer_stmt(s, rows->table, which) : NULL;
	enum cairn_status status = rows->n == 0 || stmt ? CAIRN_OK : CAIRN_E_IO;
	for (uint32_t i = 0; i < rows->n && status == CAIRN_OK; i++) {
		int at = 0;
		for (unsigned c = 0; which == TRANSFER_PUT && c < table->n_columns; c++)
			if (table->columns[c].type != CAIRN_COLUMN_COPY)
				transfer_bind(stmt, ++at, &table->columns[c], rows, i, c);
		if (which == TRANSFER_DROP)
			transfer_bind_key(stmt, rows, i);
		status = cairn_sql_run(stmt);
	}
	return status;
}

enum cairn_status cairn_sqlite_transfer_write(struct cairn_index_transfer *t,
					      const struct cairn_index_rows *const *drop,
					      const struct cairn_index_rows *const *put, size_t n,
					      struct cairn_diag *diag)
{
	struct sqlite_transfer *s = transfer_of(t);
	enum cairn_status status = cairn_sql_exec(s->db, "BEGIN IMMEDIATE");
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = transfer_each(s, drop[i], TRANSFER_DROP);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = transfer_each(s, put[i], TRANSFER_PUT);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(s->db, "COMMIT");
	if (status == CAIRN_OK)
		return CAIRN_OK;
	status = transfer_fail(t, diag);
	if (!sqlite3_get_autocommit(s->db))
		(void)!cairn_sql_exec(s->db, "ROLLBACK");
	return status;
}

enum cairn_status cairn_sqlite_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag)
{
	/* No daemon has the index open while it is filled, so checkpoints are safe; its log must not grow without
	 * end. */
	if (cairn_sql_exec(transfer_of(t)->db, "PRAGMA wal_autocheckpoint = 1000") != CAIRN_OK)
		return transfer_fail(t, diag);
	enum cairn_status status = cairn_sqlite_transfer_freeze(t, CAIRN_INDEX_FILLING, diag);
	for (unsigned i = 0; i < CAIRN_INDEX_OWN_TABLES && status == CAIRN_OK; i++)
		if (cairn_sql_exec(transfer_of(t)->db, CAIRN_INDEX_EMPTY_OWN[i]) != CAIRN_OK)
			status = transfer_fail(t, diag);
	return status;
}

static enum cairn_status transfer_set_state(struct sqlite_transfer *s, const struct cairn_index_state *state)
{
	char sql[256];
	(void)snprintf(sql, sizeof(sql),
		       "UPDATE state SET collection = %lld, files = %lld, xorbs = %lld, shards = %lld, eligible = %lld,"
		       " stored_bytes = %lld",
		       (long long)state->collection, (long long)state->n_files, (long long)state->n_xorbs,
		       (long long)state->n_shards, (long long)state->n_eligible, (long long)state->stored_bytes);
	return cairn_sql_exec(s->db, sql);
}

/* Sets the last number that a table has given to a row, so that none is given again. Tables without AUTOINCREMENT
 * (scope, content) store no such number. */
static enum cairn_status transfer_set_last(struct sqlite_transfer *s, enum cairn_index_table table, int64_t last)
{
	char sql[256];
	const char *name = CAIRN_INDEX_TABLES[table].name;
	(void)snprintf(sql, sizeof(sql), "UPDATE sqlite_sequence SET seq = max(seq, %lld) WHERE name = '%s'",
		       (long long)last, name);
	enum cairn_status status = cairn_sql_exec(s->db, sql);
	(void)snprintf(
		sql, sizeof(sql),
		"INSERT INTO sqlite_sequence(name, seq) SELECT '%s', %lld WHERE EXISTS(SELECT 1 FROM sqlite_schema"
		" WHERE name = '%s' AND sql LIKE '%%AUTOINCREMENT%%')"
		" AND NOT EXISTS(SELECT 1 FROM sqlite_sequence WHERE name = '%s')",
		name, (long long)last, name, name);
	return status == CAIRN_OK ? cairn_sql_exec(s->db, sql) : status;
}

static enum cairn_status transfer_check(struct sqlite_transfer *s, struct cairn_diag *diag)
{
	int64_t n = 0;
	if (cairn_sql_ask(s->db, "SELECT count(*) FROM pragma_foreign_key_check", &n) != CAIRN_OK)
		return transfer_fail(&s->transfer, diag);
	return n == 0 ? CAIRN_OK
		      : cairn_fail(diag, CAIRN_E_DAMAGED, "index.rows", CAIRN_NO_OFFSET,
				   "%lld rows name others that are not there: check the index that they are from",
				   (long long)n);
}

enum cairn_status cairn_sqlite_transfer_end(struct cairn_index_transfer *t, const struct cairn_index_state *state,
					    const int64_t *last, struct cairn_diag *diag)
{
	struct sqlite_transfer *s = transfer_of(t);
	enum cairn_status status =
		cairn_sql_exec(s->db, "DELETE FROM list WHERE NOT EXISTS(SELECT 1 FROM xorb WHERE id = list.xorb)");
	if (status == CAIRN_OK)
		status = transfer_set_state(s, state);
	for (int i = 0; i < CAIRN_TABLES && status == CAIRN_OK; i++)
		if (CAIRN_INDEX_TABLES[i].has_numbers)
			status = transfer_set_last(s, i, last[i]);
	return status == CAIRN_OK ? transfer_check(s, diag) : transfer_fail(t, diag);
}
