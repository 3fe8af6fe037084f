#include "base/sys.h"
#include "index/rows.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Is the file an index of Cairn? The version is checked when it is opened. */
static enum cairn_status backup_check(sqlite3 *db, const char *path, struct cairn_diag *diag)
{
	int64_t application = 0;
	enum cairn_status status = cairn_sql_ask(db, "PRAGMA application_id", &application);
	if (status != CAIRN_OK)
		return cairn_sql_fail(db, diag, "cannot read the index");
	if (application != CAIRN_MIGRATE_APPLICATION_ID)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "index.foreign", CAIRN_NO_OFFSET,
				  "%s is not an index of Cairn", path);
	return CAIRN_OK;
}

/* Copies in one step, so that all pages are from one read transaction. */
static enum cairn_status backup_pages(sqlite3 *to, sqlite3 *from, struct cairn_diag *diag)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
	if (!backup)
		return cairn_sql_fail(to, diag, "cannot copy the index");
	(void)sqlite3_backup_step(backup, -1);
	return sqlite3_backup_finish(backup) == SQLITE_OK ? CAIRN_OK
							  : cairn_sql_fail(to, diag, "cannot copy the index");
}

enum cairn_status cairn_sqlite_backup(const char *dir, const char *path, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *from = NULL;
	CLEANUP(cairn_sql_closep) sqlite3 *to = NULL;
	char from_path[CAIRN_SQL_PATH_BYTES];
	enum cairn_status status = cairn_sql_index_path(from_path, dir, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_sys_unlink(path) < 0 && errno != ENOENT)
		return cairn_fail(diag, CAIRN_E_IO, "index.open", CAIRN_NO_OFFSET, "cannot replace %s", path);
	status = cairn_sql_open(&from, from_path, SQLITE_OPEN_READONLY, NULL, diag);
	if (status == CAIRN_OK)
		status = backup_check(from, from_path, diag);
	if (status == CAIRN_OK)
		status = cairn_sql_open(&to, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, diag);
	/* Does not sync: the caller makes the file durable. */
	if (status == CAIRN_OK && cairn_sql_exec(to, "PRAGMA synchronous = OFF") != CAIRN_OK)
		status = cairn_sql_fail(to, diag, "cannot copy the index");
	if (status == CAIRN_OK)
		status = backup_pages(to, from, diag);
	/* The header asks for a log, which a file for reading does not need. */
	if (status == CAIRN_OK && cairn_sql_exec(to, "PRAGMA journal_mode = DELETE") != CAIRN_OK)
		status = cairn_sql_fail(to, diag, "cannot copy the index");
	return status;
}

/* @param room  for CAIRN_XORB_CHUNKS_MAX */
static uint64_t backup_layout(sqlite3_stmt *stmt, int column, struct cairn_span *room)
{
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, column, &len);
	size_t n = len / CAIRN_ROWS_SPAN_BYTES;
	if (n == 0 || n > CAIRN_XORB_CHUNKS_MAX || cairn_rows_spans(room, (uint32_t)n, bytes, len) != CAIRN_OK)
		return 0;
	return cairn_spans_layout(room, (uint32_t)n);
}

enum cairn_status cairn_sqlite_backup_each(const char *where, const char *path,
					   enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								      uint64_t stored_bytes, uint64_t layout),
					   void *ctx, struct cairn_diag *diag)
{
	static const char *const SQL[] = {
		"SELECT x.hash, x.stored, l.spans FROM xorb x LEFT JOIN list l ON l.xorb = x.id"
		" WHERE x.stored > 0 ORDER BY x.id"};
	(void)where;
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	sqlite3_stmt *stmt[1] = {NULL};
	struct cairn_span *spans = malloc(CAIRN_XORB_CHUNKS_MAX * sizeof(*spans));
	if (!spans)
		return CAIRN_E_NOMEM;
	int64_t version = 0;
	enum cairn_status status = cairn_sql_open(&db, path, SQLITE_OPEN_READONLY, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_judge(db, path, &version, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_check_schema(db, path, version, diag);
	if (status == CAIRN_OK && cairn_sql_prepare(db, SQL, stmt, 1) != CAIRN_OK)
		status = cairn_sql_fail(db, diag, "cannot read the index");
	bool row = status == CAIRN_OK;
	while (row) {
		struct cairn_hash hash;
		if (cairn_sql_step(stmt[0], &row) != CAIRN_OK) {
			status = cairn_sql_fail(db, diag, "cannot read the index");
			break;
		}
		if (!row)
			break;
		if (!cairn_sql_hash(stmt[0], 0, &hash))
			status = cairn_fail(diag, CAIRN_E_IO, "index.row", CAIRN_NO_OFFSET,
					    "a row of the index's table xorb is damaged");
		else
			status = visit(ctx, &hash, (uint64_t)sqlite3_column_int64(stmt[0], 1),
				       backup_layout(stmt[0], 2, spans));
		if (status != CAIRN_OK)
			break;
	}
	cairn_sql_finalize(stmt, 1);
	free(spans);
	return status;
}
