/* The one includer of SQLite, and what every user of it needs: open, prepare, bind, step, and a status for each
 * failure. */
#ifndef CAIRN_INDEX_SQLITE_UTIL_H
#define CAIRN_INDEX_SQLITE_UTIL_H

#include "hash/hash.h"

#include <sqlite3.h>

enum {
	CAIRN_SQL_BUSY_MS = 5000, /* how long a statement waits for another process */
};

/** Which files an owner's claims of SHA-256 ?1 mean, the last CAIRN_INDEX_SAME_MAX of them. */
#define CAIRN_CLAIM_LAST(owner)                                                                                        \
	"SELECT file, proof FROM file_owner INDEXED BY file_owner_claim WHERE scope = " owner                          \
	" AND sha256 = ?1 ORDER BY file DESC LIMIT " CAIRN_INDEX_SAME_MAX

/** @return CAIRN_E_FULL, CAIRN_E_NOMEM or CAIRN_E_IO for a failed rc of db */
enum cairn_status cairn_sql_status(sqlite3 *db, int rc);

/** The same for the last failure of db, with SQLite's own words in diag. */
enum cairn_status cairn_sql_fail(sqlite3 *db, struct cairn_diag *diag, const char *doing);

enum { CAIRN_SQL_PATH_BYTES = 4200 };

/** The path of the index of a data folder. @return CAIRN_OK; CAIRN_E_IO it is too long */
CAIRN_MUST_USE enum cairn_status cairn_sql_index_path(char out[static CAIRN_SQL_PATH_BYTES], const char *dir,
						      struct cairn_diag *diag);

/**
 * Open a connection for one thread at a time, with a busy timeout.
 * @param flags  SQLITE_OPEN_READONLY, or READWRITE with or without CREATE
 * @param vfs    CAIRN_SQL_LOG_VFS (log.h); NULL: the system's
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM; *out is NULL on failure
 */
CAIRN_MUST_USE enum cairn_status cairn_sql_open(sqlite3 **out, const char *path, int flags, const char *vfs,
						struct cairn_diag *diag);

/** Does this version of SQLite (3051002 is 3.51.2) lose commits when a checkpoint of a log that is copied whole runs
 * beside a commit? https://www.sqlite.org/wal.html calls that the WAL-reset bug. */
bool cairn_sql_loses_commits(int version);

/** As cairn_index_reset_bug(). */
const char *cairn_sql_reset_bug(void);

/** Close a connection whose statements are finalized. For CLEANUP(); NULL is harmless. */
void cairn_sql_closep(sqlite3 **db);

/** Run statements that have no parameters and whose rows do not matter. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_exec(sqlite3 *db, const char *sql);

/** First column of the first row, as an integer. @return CAIRN_OK; CAIRN_E_NOT_FOUND no row; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_ask(sqlite3 *db, const char *sql, int64_t *value);

/** Prepare n statements that stay for the life of the connection. @param[out] stmts  n of them, NULL before the call;
 *  what was prepared before a failure is there to be finalized. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_prepare(sqlite3 *db, const char *const *sql, sqlite3_stmt **stmts,
						   unsigned n);
void cairn_sql_finalize(sqlite3_stmt **stmts, unsigned n);

/** One step. @return CAIRN_OK, with *row telling whether there is one; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_step(sqlite3_stmt *stmt, bool *row);

/** Step a look-up by key. @return CAIRN_OK with the row there to be read; CAIRN_E_NOT_FOUND; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_find(sqlite3_stmt *stmt);

/** Step a statement that gives no row, and reset it. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_sql_run(sqlite3_stmt *stmt);

/** Reset at the end of a scope: CLEANUP(cairn_sql_resetp) sqlite3_stmt *s = ...; */
void cairn_sql_resetp(sqlite3_stmt **stmt);

/** Parameters are borrowed until the statement is reset. Binding them cannot fail: the numbers are the statement's own.
 */
void cairn_sql_bind_blob(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);
void cairn_sql_bind_hash(sqlite3_stmt *stmt, int at, const struct cairn_hash *hash);
void cairn_sql_bind_text(sqlite3_stmt *stmt, int at, const char *text);

/** A blob column, borrowed until the next step. @return its bytes, NULL when it is empty or NULL */
const uint8_t *cairn_sql_blob(sqlite3_stmt *stmt, int at, size_t *len);

/** A column of text, copied. @return false: it does not fit, and nothing is there */
bool cairn_sql_text(sqlite3_stmt *stmt, int at, char *out, size_t size);

/** A column of 32 bytes. @return false when it is not */
bool cairn_sql_hash(sqlite3_stmt *stmt, int at, struct cairn_hash *out);

#endif
