#include "index/sqlite/util.h"

#include "index/sqlite/log.h"
#include "index/sqlite/sys_vfs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum cairn_status cairn_sql_status(sqlite3 *db, int rc)
{
	int error;
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return CAIRN_E_NOMEM;
	case SQLITE_FULL:
		return CAIRN_E_FULL;
	case SQLITE_IOERR:
		/* When the disk is full, growing the shared memory of the log fails as an I/O error. */
		error = sqlite3_system_errno(db);
		return error == ENOSPC || error == EDQUOT ? CAIRN_E_FULL : CAIRN_E_IO;
	default:
		return CAIRN_E_IO;
	}
}

enum cairn_status cairn_sql_fail(sqlite3 *db, struct cairn_diag *diag, const char *doing)
{
	int rc = sqlite3_extended_errcode(db);
	if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
		return cairn_fail(diag, CAIRN_E_IO, "index.corrupt", CAIRN_NO_OFFSET,
				  "%s: %s (SQLite %d): stop the daemon and run cairn fsck", doing, sqlite3_errmsg(db),
				  rc);
	return cairn_fail(diag, cairn_sql_status(db, rc), "index.database", CAIRN_NO_OFFSET, "%s: %s (SQLite %d)",
			  doing, sqlite3_errmsg(db), rc);
}

enum cairn_status cairn_sql_index_path(char out[static CAIRN_SQL_PATH_BYTES], const char *dir, struct cairn_diag *diag)
{
	int n = snprintf(out, CAIRN_SQL_PATH_BYTES, "%s/index.sqlite", dir);
	if (n >= 0 && n < CAIRN_SQL_PATH_BYTES)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_IO, "index.open", CAIRN_NO_OFFSET, "the path is too long");
}

/* Switches off SQLite's memory statistics, which are not used, and take a global lock at each allocation. Possible only
 * before SQLite's first use. */
static void sql_configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	cairn_sql_sys_register(); /* before the log's VFS, which is built on it */
	cairn_sql_log_register();
}

/* Forbids SQL stored in a database, which may come from an untrusted backup. Cairn's has no triggers or views. */
static void sql_distrust(sqlite3 *db)
{
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

enum cairn_status cairn_sql_open(sqlite3 **out, const char *path, int flags, const char *vfs, struct cairn_diag *diag)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	*out = NULL;
	pthread_once(&once, sql_configure);
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, vfs);
	if (!db)
		return CAIRN_E_NOMEM;
	if (rc != SQLITE_OK) {
		enum cairn_status status = cairn_sql_status(db, rc);
		return cairn_fail(diag, status, "index.open", CAIRN_NO_OFFSET, "cannot open %s: %s", path,
				  sqlite3_errmsg(db));
	}
	sql_distrust(db);
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, CAIRN_SQL_BUSY_MS);
	*out = db;
	db = NULL;
	return CAIRN_OK;
}

bool cairn_sql_loses_commits(int version)
{
	enum { BEGAN = 3007000, MENDED = 3051003, MENDED_3_50 = 3050007, MENDED_3_44 = 3044006, RELEASE = 1000 };
	if (version / RELEASE == MENDED_3_50 / RELEASE)
		return version < MENDED_3_50;
	if (version / RELEASE == MENDED_3_44 / RELEASE)
		return version < MENDED_3_44;
	return version >= BEGAN && version < MENDED;
}

void cairn_sql_closep(sqlite3 **db)
{
	(void)sqlite3_close(*db);
	*db = NULL;
}

enum cairn_status cairn_sql_exec(sqlite3 *db, const char *sql)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? CAIRN_OK : cairn_sql_status(db, rc);
}

enum cairn_status cairn_sql_ask(sqlite3 *db, const char *sql, int64_t *value)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*value = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	if (rc == SQLITE_DONE)
		return CAIRN_E_NOT_FOUND;
	return rc == SQLITE_ROW ? CAIRN_OK : cairn_sql_status(db, rc);
}

enum cairn_status cairn_sql_prepare(sqlite3 *db, const char *const *sql, sqlite3_stmt **stmts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &stmts[i], NULL);
		if (rc != SQLITE_OK)
			return cairn_sql_status(db, rc);
	}
	return CAIRN_OK;
}

void cairn_sql_finalize(sqlite3_stmt **stmts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		(void)sqlite3_finalize(stmts[i]);
		stmts[i] = NULL;
	}
}

enum cairn_status cairn_sql_step(sqlite3_stmt *stmt, bool *row)
{
	int rc = sqlite3_step(stmt);
	*row = rc == SQLITE_ROW;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return CAIRN_OK;
	return cairn_sql_status(sqlite3_db_handle(stmt), rc);
}

enum cairn_status cairn_sql_find(sqlite3_stmt *stmt)
{
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	return status == CAIRN_OK && !row ? CAIRN_E_NOT_FOUND : status;
}

enum cairn_status cairn_sql_run(sqlite3_stmt *stmt)
{
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	(void)sqlite3_reset(stmt);
	return status;
}

void cairn_sql_resetp(sqlite3_stmt **stmt)
{
	if (*stmt)
		(void)sqlite3_reset(*stmt);
}

void cairn_sql_bind_blob(sqlite3_stmt *stmt, int at, const void *bytes, size_t len)
{
	/* A NULL pointer would bind NULL, which is not the same as an empty blob. */
	if (len == 0)
		(void)sqlite3_bind_zeroblob(stmt, at, 0);
	else
		(void)sqlite3_bind_blob64(stmt, at, bytes, len, SQLITE_STATIC);
}

void cairn_sql_bind_hash(sqlite3_stmt *stmt, int at, const struct cairn_hash *hash)
{
	(void)sqlite3_bind_blob(stmt, at, hash->b, CAIRN_HASH_BYTES, SQLITE_STATIC);
}

void cairn_sql_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	(void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

void cairn_sql_bind(sqlite3_stmt *stmt, int at, const struct cairn_db_arg *arg)
{
	if (arg->null)
		(void)sqlite3_bind_null(stmt, at);
	else if (arg->type == CAIRN_DB_INT)
		(void)sqlite3_bind_int64(stmt, at, arg->number);
	else if (arg->type == CAIRN_DB_TEXT || arg->type == CAIRN_DB_PATH)
		(void)sqlite3_bind_text(stmt, at, arg->p, (int)arg->len, SQLITE_STATIC);
	else
		cairn_sql_bind_blob(stmt, at, arg->p, arg->len);
}

const uint8_t *cairn_sql_blob(sqlite3_stmt *stmt, int at, size_t *len)
{
	const uint8_t *bytes = sqlite3_column_blob(stmt, at);
	*len = (size_t)sqlite3_column_bytes(stmt, at);
	return bytes;
}

bool cairn_sql_text(sqlite3_stmt *stmt, int at, char *out, size_t size)
{
	size_t len;
	const uint8_t *text = cairn_sql_blob(stmt, at, &len);
	out[0] = '\0';
	if (len >= size)
		return false;
	if (len > 0)
		memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

bool cairn_sql_hash(sqlite3_stmt *stmt, int at, struct cairn_hash *out)
{
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, at, &len);
	if (!bytes || len != CAIRN_HASH_BYTES)
		return false;
	memcpy(out->b, bytes, CAIRN_HASH_BYTES);
	return true;
}
