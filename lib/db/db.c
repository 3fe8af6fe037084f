#include "db/db.h"

#include <string.h>

/* The linker defines both: they delimit the section into which CAIRN_SQL() puts the statements. */
extern const struct cairn_sql __start_cairn_sql[], __stop_cairn_sql[];

const struct cairn_sql *cairn_db_statements(size_t *n)
{
	*n = (size_t)(__stop_cairn_sql - __start_cairn_sql);
	return __start_cairn_sql;
}

struct cairn_db_arg cairn_db_text(const char *text)
{
	return (struct cairn_db_arg){.type = CAIRN_DB_TEXT, .null = !text, .p = text, .len = text ? strlen(text) : 0};
}

struct cairn_db_arg cairn_db_path(const char *path)
{
	struct cairn_db_arg arg = cairn_db_text(path);
	arg.type = CAIRN_DB_PATH;
	return arg;
}

void cairn_db_queue(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
		    const struct cairn_db_args *args)
{
	static const struct cairn_db_args NONE = {0};
	if (rows)
		rows->db = db;
	db->driver->queue(db, rows, sql, args ? args : &NONE);
	if (rows)
		rows->exchange = db->exchange;
}

enum cairn_status cairn_db_exchange(struct cairn_db *db)
{
	return db->driver->exchange(db);
}

enum cairn_status cairn_db_ask(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
			       const struct cairn_db_args *args)
{
	cairn_db_queue(db, rows, sql, args);
	return cairn_db_exchange(db);
}

enum cairn_status cairn_db_find(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
				const struct cairn_db_args *args)
{
	enum cairn_status status = cairn_db_ask(db, rows, sql, args);
	return status == CAIRN_OK ? cairn_db_next(rows) : status;
}

enum cairn_status cairn_db_run(struct cairn_db *db, const struct cairn_sql *sql, const struct cairn_db_args *args,
			       int64_t *n)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_ask(db, &rows, sql, args);
	if (n)
		*n = status == CAIRN_OK ? db->driver->changed(&rows) : 0;
	return status;
}

void cairn_db_advise(struct cairn_db *db, enum cairn_db_advice advice)
{
	if (db->driver->advise)
		db->driver->advise(db, advice);
}

static bool db_is_stale(const struct cairn_db_rows *rows)
{
	return rows->exchange != rows->db->exchange;
}

enum cairn_status cairn_db_next(struct cairn_db_rows *rows)
{
	return rows->damaged || db_is_stale(rows) ? CAIRN_E_DAMAGED : rows->db->driver->next(rows);
}

void cairn_db_end(struct cairn_db_rows *rows)
{
	struct cairn_db *db = rows->db;
	bool lent = rows->lent;
	if (!db)
		return;
	db->driver->end(rows);
	*rows = (struct cairn_db_rows){0};
	if (lent)
		db->driver->give(db);
}

bool cairn_db_is_null(const struct cairn_db_rows *rows, int column)
{
	return db_is_stale(rows) || rows->db->driver->is_null(rows, column);
}

int64_t cairn_db_get_int(const struct cairn_db_rows *rows, int column)
{
	return db_is_stale(rows) ? 0 : rows->db->driver->get_int(rows, column);
}

const uint8_t *cairn_db_get_bytes(const struct cairn_db_rows *rows, int column, size_t *len)
{
	*len = 0;
	return db_is_stale(rows) ? NULL : rows->db->driver->get_bytes(rows, column, len);
}

const char *cairn_db_borrow_text(const struct cairn_db_rows *rows, int column)
{
	const char *text = db_is_stale(rows) ? NULL : rows->db->driver->get_text(rows, column);
	return text ? text : "";
}

void cairn_db_get_text(struct cairn_db_rows *rows, int column, char *out, size_t size)
{
	size_t len;
	const uint8_t *text = cairn_db_get_bytes(rows, column, &len);
	out[0] = '\0';
	if (len >= size) {
		rows->damaged = true;
		return;
	}
	if (len > 0)
		memcpy(out, text, len);
	out[len] = '\0';
}

void cairn_db_get_fixed(struct cairn_db_rows *rows, int column, void *out, size_t len)
{
	size_t has;
	const uint8_t *bytes = cairn_db_get_bytes(rows, column, &has);
	if (has == len)
		memcpy(out, bytes, len);
	else
		rows->damaged = true;
}

enum cairn_status cairn_db_whole(const struct cairn_db_rows *rows)
{
	return rows->damaged || db_is_stale(rows) ? CAIRN_E_DAMAGED : CAIRN_OK;
}
