/* The only header that includes SQLite: opens, prepares, binds and steps, and maps failures to statuses. */
#ifndef CAIRN_INDEX_SQLITE_UTIL_H
#define CAIRN_INDEX_SQLITE_UTIL_H

#include "db/db.h"

#include <sqlite3.h>

enum {
	CAIRN_SQL_BUSY_MS = 5000, /* how long a statement waits for another process */
};

/** Selects the latest CAIRN_INDEX_SAME_MAX files of an owner's claims of SHA-256 ?1. */
#define CAIRN_CLAIM_LAST(owner)                                                                                        \
	"SELECT file, proof FROM file_owner INDEXED BY file_owner_claim WHERE scope = " owner                          \
	" AND sha256 = ?1 ORDER BY file DESC LIMIT " CAIRN_INDEX_SAME_MAX

/** Returns the status of a failed call of SQLite: CAIRN_E_FULL, CAIRN_E_NOMEM or CAIRN_E_IO. */
enum cairn_status cairn_sql_status(sqlite3 *db, int rc);

/** Does what cairn_sql_status() does, for the last failure of db, and puts SQLite's message into diag. */
enum cairn_status cairn_sql_fail(sqlite3 *db, struct cairn_diag *diag, const char *doing);

enum { CAIRN_SQL_PATH_BYTES = 4200 };

/** Returns the path of the index of a data folder. @return CAIRN_OK; CAIRN_E_IO the path is too long */
CAIRN_MUST_USE enum cairn_status cairn_sql_index_path(char out[static CAIRN_SQL_PATH_BYTES], const char *dir,
						      struct cairn_diag *diag);

/** Opens a connection for one thread at a time, with a busy timeout.
 * @param flags  SQLITE_OPEN_READONLY, or READWRITE with or without CREATE
 * @param vfs    CAIRN_SQL_LOG_VFS (log.h); NULL: the system's
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM; *out is NULL on failure */
CAIRN_MUST_USE enum cairn_status cairn_sql_open(sqlite3 **out, const char *path, int flags, const char *vfs,
						struct cairn_diag *diag);

/** Does this version of SQLite (3051002 is 3.51.2) lose commits if a checkpoint copies the whole log while a commit is
 * made? https://www.sqlite.org/wal.html calls that the WAL-reset bug. */
bool cairn_sql_loses_commits(int version);

/** Closes a connection whose statements are finalized. For CLEANUP(); NULL is harmless. */
void cairn_sql_closep(sqlite3 **db);

/** Runs statements without parameters, and ignores their rows. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_exec(sqlite3 *db, const char *sql);

/** Returns the first column of the first row. @return CAIRN_OK; CAIRN_E_NOT_FOUND no row; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_ask(sqlite3 *db, const char *sql, int64_t *value);

/** Prepares n statements for the life of the connection. @param[out] stmts  n statements, NULL before the call; after a
 * failure the caller finalizes them. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_prepare(sqlite3 *db, const char *const *sql, sqlite3_stmt **stmts,
						   unsigned n);
void cairn_sql_finalize(sqlite3_stmt **stmts, unsigned n);

/** Makes one step. @return CAIRN_OK, with *row true if there is a row; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_step(sqlite3_stmt *stmt, bool *row);

/** Steps a lookup by key. @return CAIRN_OK, with the row ready to be read; CAIRN_E_NOT_FOUND; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_find(sqlite3_stmt *stmt);

/** Steps a statement without rows, and resets it. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_run(sqlite3_stmt *stmt);

/** Resets a statement at the end of a scope: CLEANUP(cairn_sql_resetp) sqlite3_stmt *s = ...; */
void cairn_sql_resetp(sqlite3_stmt **stmt);

/** Parameters are borrowed until the statement is reset. Binding cannot fail: the numbers are the statement's own. */
void cairn_sql_bind_blob(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);
void cairn_sql_bind_hash(sqlite3_stmt *stmt, int at, const struct cairn_hash *hash);
void cairn_sql_bind_text(sqlite3_stmt *stmt, int at, const char *text);
void cairn_sql_bind(sqlite3_stmt *stmt, int at, const struct cairn_db_arg *arg);

/** Returns a blob column, borrowed until the next step. @return its bytes; NULL if it is empty or NULL */
const uint8_t *cairn_sql_blob(sqlite3_stmt *stmt, int at, size_t *len);

/** Copies a column of text. @return false: it does not fit, and out is empty */
bool cairn_sql_text(sqlite3_stmt *stmt, int at, char *out, size_t size);

/** Reads a column of 32 bytes. @return false: it has another length */
bool cairn_sql_hash(sqlite3_stmt *stmt, int at, struct cairn_hash *out);

#endif
