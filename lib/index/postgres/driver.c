#include "index/postgres/driver.h"

#include "index/postgres/pool.h"

static struct cairn_pg *driver_pg(const struct cairn_db *db)
{
	return (struct cairn_pg *)(uintptr_t)db;
}

static const PGresult *driver_result(const struct cairn_db_rows *rows)
{
	return driver_pg(rows->db)->results[rows->place];
}

static void driver_queue(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
			 const struct cairn_db_args *args)
{
	unsigned place = cairn_pg_queue(driver_pg(db), sql->postgres, args);
	if (rows) {
		rows->place = place;
		rows->row = -1;
	}
}

static enum cairn_status driver_exchange(struct cairn_db *db)
{
	return cairn_pg_exchange(driver_pg(db));
}

static enum cairn_status driver_next(struct cairn_db_rows *rows)
{
	return ++rows->row < PQntuples(driver_result(rows)) ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

static int64_t driver_changed(const struct cairn_db_rows *rows)
{
	return cairn_pg_changed(driver_pg(rows->db)->results[rows->place]);
}

static void driver_end(struct cairn_db_rows *rows)
{
	(void)rows;
}

static void driver_give(struct cairn_db *db)
{
	struct cairn_pg_reader *reader = (struct cairn_pg_reader *)driver_pg(db);
	reader->pg.silence_ms = CAIRN_PG_SILENCE_MS;
	cairn_pg_givep(&reader);
}

static void driver_advise(struct cairn_db *db, enum cairn_db_advice advice)
{
	struct cairn_pg *pg = driver_pg(db);
	pg->silence_ms = CAIRN_PG_SCAN_MS;
	if (advice == CAIRN_DB_SCANS)
		cairn_pg_scan(pg);
	else
		cairn_pg_take_long(pg);
}

static bool driver_is_null(const struct cairn_db_rows *rows, int column)
{
	return PQgetisnull(driver_result(rows), rows->row, column);
}

static int64_t driver_get_int(const struct cairn_db_rows *rows, int column)
{
	return cairn_pg_get_int8(driver_result(rows), rows->row, column);
}

static const uint8_t *driver_get_bytes(const struct cairn_db_rows *rows, int column, size_t *len)
{
	return cairn_pg_get_bytes(driver_result(rows), rows->row, column, len);
}

static const char *driver_get_text(const struct cairn_db_rows *rows, int column)
{
	return PQgetvalue(driver_result(rows), rows->row, column);
}

struct cairn_db *cairn_pg_db(struct cairn_pg *pg)
{
	static const struct cairn_db_driver DRIVER = {
		.queue = driver_queue,
		.exchange = driver_exchange,
		.next = driver_next,
		.changed = driver_changed,
		.end = driver_end,
		.give = driver_give,
		.advise = driver_advise,
		.is_null = driver_is_null,
		.get_int = driver_get_int,
		.get_bytes = driver_get_bytes,
		.get_text = driver_get_text,
	};
	pg->db.driver = &DRIVER;
	return &pg->db;
}
