#include "index/sqlite/driver.h"

#include <stdio.h>

static struct cairn_sqlite_db *driver_db(struct cairn_db *db)
{
	return (struct cairn_sqlite_db *)db;
}

static enum cairn_status driver_prepare(struct cairn_sqlite_db *db, const struct cairn_sql *sql,
					struct cairn_sqlite_prepared *prepared)
{
	int rc = sqlite3_prepare_v3(db->conn, sql->sqlite, -1, SQLITE_PREPARE_PERSISTENT, &prepared->stmt, NULL);
	if (rc != SQLITE_OK)
		return cairn_sql_status(db->conn, rc);
	prepared->sql = sql;
	prepared->n_args = (uint8_t)sqlite3_bind_parameter_count(prepared->stmt);
	for (int i = 0; i < CAIRN_DB_ARGS_MAX; i++) {
		char name[8];
		(void)snprintf(name, sizeof(name), "$%d", i + 1);
		prepared->at[i] = (uint8_t)sqlite3_bind_parameter_index(prepared->stmt, name);
	}
	return CAIRN_OK;
}

/* If rows of a statement are still being read, prepares it a second time. */
static enum cairn_status driver_find(struct cairn_sqlite_db *db, const struct cairn_sql *sql,
				     struct cairn_sqlite_prepared **out)
{
	unsigned place = (unsigned)((uintptr_t)sql / sizeof(*sql));
	for (unsigned i = 0; i < CAIRN_SQLITE_PREPARED_MAX; i++) {
		*out = &db->prepared[(place + i) % CAIRN_SQLITE_PREPARED_MAX];
		if (!(*out)->sql)
			return driver_prepare(db, sql, *out);
		if ((*out)->sql == sql && !sqlite3_stmt_busy((*out)->stmt))
			return CAIRN_OK;
	}
	return CAIRN_E_LIMIT;
}

static void driver_bind(const struct cairn_sqlite_prepared *prepared, const struct cairn_db_args *args)
{
	for (unsigned i = 0; i < args->n; i++)
		cairn_sql_bind(prepared->stmt, prepared->at[i], &args->arg[i]);
}

static enum cairn_status driver_do(struct cairn_sqlite_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
				   const struct cairn_db_args *args)
{
	struct cairn_sqlite_prepared *prepared;
	bool row = false;
	enum cairn_status status = driver_find(db, sql, &prepared);
	if (status != CAIRN_OK)
		return status;
	if (args->n != prepared->n_args)
		return CAIRN_E_LIMIT;
	driver_bind(prepared, args);
	status = cairn_sql_step(prepared->stmt, &row);
	if (rows && status == CAIRN_OK) {
		rows->changed = sqlite3_changes(db->conn);
		rows->at = row ? prepared->stmt : NULL;
	}
	if (!rows || !row)
		(void)sqlite3_reset(prepared->stmt);
	return status;
}

static void driver_end(struct cairn_db_rows *rows)
{
	if (rows->at)
		(void)sqlite3_reset(rows->at);
	rows->at = NULL;
}

static void driver_queue(struct cairn_db *base, struct cairn_db_rows *rows, const struct cairn_sql *sql,
			 const struct cairn_db_args *args)
{
	struct cairn_sqlite_db *db = driver_db(base);
	if (rows) {
		driver_end(rows);
		rows->row = -1;
	}
	if (!db->asked)
		db->db.exchange++;
	db->asked = true;
	if (db->queued == CAIRN_OK)
		db->queued = driver_do(db, rows, sql, args);
}

static enum cairn_status driver_exchange(struct cairn_db *base)
{
	struct cairn_sqlite_db *db = driver_db(base);
	enum cairn_status status = db->queued;
	db->queued = CAIRN_OK;
	db->asked = false;
	return status;
}

static enum cairn_status driver_next(struct cairn_db_rows *rows)
{
	bool row = true;
	if (!rows->at)
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = rows->row < 0 ? CAIRN_OK : cairn_sql_step(rows->at, &row);
	rows->row = 0;
	if (status == CAIRN_OK && row)
		return CAIRN_OK;
	driver_end(rows);
	return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status;
}

static int64_t driver_changed(const struct cairn_db_rows *rows)
{
	return rows->changed;
}

static void driver_give(struct cairn_db *base)
{
	struct cairn_sqlite_db *db = driver_db(base);
	if (db->give)
		db->give(db);
}

static bool driver_is_null(const struct cairn_db_rows *rows, int column)
{
	return sqlite3_column_type(rows->at, column) == SQLITE_NULL;
}

static int64_t driver_get_int(const struct cairn_db_rows *rows, int column)
{
	return sqlite3_column_int64(rows->at, column);
}

static const uint8_t *driver_get_bytes(const struct cairn_db_rows *rows, int column, size_t *len)
{
	return cairn_sql_blob(rows->at, column, len);
}

static const char *driver_get_text(const struct cairn_db_rows *rows, int column)
{
	return (const char *)sqlite3_column_text(rows->at, column);
}

void cairn_sqlite_db_init(struct cairn_sqlite_db *db, sqlite3 *conn, void (*give)(struct cairn_sqlite_db *db))
{
	static const struct cairn_db_driver DRIVER = {
		.queue = driver_queue,
		.exchange = driver_exchange,
		.next = driver_next,
		.changed = driver_changed,
		.end = driver_end,
		.give = driver_give,
		.is_null = driver_is_null,
		.get_int = driver_get_int,
		.get_bytes = driver_get_bytes,
		.get_text = driver_get_text,
	};
	*db = (struct cairn_sqlite_db){.db = {.driver = &DRIVER}, .conn = conn, .give = give};
}

void cairn_sqlite_db_fini(struct cairn_sqlite_db *db)
{
	for (unsigned i = 0; i < CAIRN_SQLITE_PREPARED_MAX; i++)
		(void)sqlite3_finalize(db->prepared[i].stmt);
	*db = (struct cairn_sqlite_db){0};
}
