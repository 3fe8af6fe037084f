/* The driver for SQLite: prepares a statement at its first use, and keeps it. */
#ifndef CAIRN_INDEX_SQLITE_DRIVER_H
#define CAIRN_INDEX_SQLITE_DRIVER_H

#include "db/db.h"
#include "index/sqlite/util.h"

enum { CAIRN_SQLITE_PREPARED_MAX = 256 };

/** A connection with the statements that it has prepared. Zeroed: no connection. */
struct cairn_sqlite_db {
	struct cairn_db db;                       /* first */
	sqlite3 *conn;                            /* borrowed */
	void (*give)(struct cairn_sqlite_db *db); /* returns the connection to its pool; NULL: there is no pool */
	bool asked;                               /* a statement was queued since the last exchange */
	enum cairn_status queued;                 /* CAIRN_OK, or the first failure since the last exchange */
	struct cairn_sqlite_prepared {
		const struct cairn_sql *sql; /* NULL: free */
		sqlite3_stmt *stmt;
		uint8_t at[CAIRN_DB_ARGS_MAX]; /* SQLite's numbers of $1, $2 ... */
		uint8_t n_args;
	} prepared[CAIRN_SQLITE_PREPARED_MAX]; /* a hash table by address, with linear probing */
};

void cairn_sqlite_db_init(struct cairn_sqlite_db *db, sqlite3 *conn, void (*give)(struct cairn_sqlite_db *db));
/** Call it before the connection is closed. */
void cairn_sqlite_db_fini(struct cairn_sqlite_db *db);

#endif
