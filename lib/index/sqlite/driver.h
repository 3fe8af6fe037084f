/* Statements over a connection to SQLite: prepared when they are first asked, and kept. */
#ifndef CAIRN_INDEX_SQLITE_DRIVER_H
#define CAIRN_INDEX_SQLITE_DRIVER_H

#include "db/db.h"
#include "index/sqlite/util.h"

enum { CAIRN_SQLITE_KNOWN_MAX = 256 };

/** Zeroed: without a connection. */
struct cairn_sqlite_db {
	struct cairn_db db;                       /* first */
	sqlite3 *conn;                            /* borrowed */
	void (*give)(struct cairn_sqlite_db *db); /* back to where it is from; NULL: it stays */
	enum cairn_status queued;                 /* CAIRN_OK, or what failed first since the last exchange */
	struct cairn_sqlite_known {
		const struct cairn_sql *sql; /* NULL: free */
		sqlite3_stmt *stmt;
		uint8_t at[CAIRN_DB_ARGS_MAX]; /* where SQLite has $1, $2 ...; 0: nowhere */
	} known[CAIRN_SQLITE_KNOWN_MAX];       /* by their addresses, the next place when one is taken */
};

void cairn_sqlite_db_init(struct cairn_sqlite_db *db, sqlite3 *conn, void (*give)(struct cairn_sqlite_db *db));
/** Before the connection is closed. */
void cairn_sqlite_db_fini(struct cairn_sqlite_db *db);

#endif
