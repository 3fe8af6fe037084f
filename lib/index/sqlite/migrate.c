#include "index/sqlite/migrate.h"

#include "index/sqlite/log.h"
#include "index/sqlite/offsets.h"

#include "base/crash_point.h"

#include <inttypes.h>
#include <stdio.h>

enum { MIGRATE_OFFSETS = 5 }; /* the version whose terms are migrated by code */

static enum cairn_status migrate_refuse_foreign(const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "index.foreign", CAIRN_NO_OFFSET,
			  "%s is not an index of Cairn; move it away, or name another data folder", path);
}

enum cairn_status cairn_migrate_judge(sqlite3 *db, const char *path, int64_t *version, struct cairn_diag *diag)
{
	int64_t application = 0, objects = 0;
	enum cairn_status status = cairn_sql_ask(db, "PRAGMA application_id", &application);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "PRAGMA user_version", version);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (status != CAIRN_OK && (sqlite3_errcode(db) & 0xff) == SQLITE_NOTADB)
		return migrate_refuse_foreign(path, diag);
	if (status != CAIRN_OK)
		return cairn_sql_fail(db, diag, "cannot read the index");
	bool empty = application == 0 && *version == 0 && objects == 0;
	if (!empty && application != CAIRN_MIGRATE_APPLICATION_ID)
		return migrate_refuse_foreign(path, diag);
	if (*version <= cairn_migrate_latest)
		return CAIRN_OK;
	cairn_fail(diag, CAIRN_E_CONFLICT, "index.newer", CAIRN_NO_OFFSET,
		   "%s is of schema version %" PRIi64 ", this program knows up to %d; run the newer Cairn", path,
		   *version, cairn_migrate_latest);
	cairn_diag_numbers(diag, (uint64_t)cairn_migrate_latest, (uint64_t)*version);
	return CAIRN_E_CONFLICT;
}

enum cairn_status cairn_migrate_must_be_latest(sqlite3 *db, const char *path, struct cairn_diag *diag)
{
	int64_t version = 0;
	enum cairn_status status = cairn_migrate_judge(db, path, &version, diag);
	if (status != CAIRN_OK || version == cairn_migrate_latest)
		return status;
	(void)cairn_fail(diag, CAIRN_E_CONFLICT, "index.older", CAIRN_NO_OFFSET,
			 "%.100s is of schema version %d, this program checks version %d: check it with the Cairn that "
			 "it is of, or bring it forward first (start the daemon, or give --repair)",
			 path, (int)version, cairn_migrate_latest);
	cairn_diag_numbers(diag, (uint64_t)cairn_migrate_latest, (uint64_t)version);
	return CAIRN_E_CONFLICT;
}

/* Runs the script of a version, and the code for the rest. */
static enum cairn_status migrate_run(sqlite3 *db, int64_t version)
{
	enum cairn_status status = cairn_sql_exec(db, cairn_migrate_scripts[version - 1]);
	return status == CAIRN_OK && version == MIGRATE_OFFSETS ? cairn_offsets_migrate(db) : status;
}

/* Makes the schema of the scripts in memory. */
static enum cairn_status migrate_make_expected(sqlite3 **known, int64_t version, struct cairn_diag *diag)
{
	enum cairn_status status =
		cairn_sql_open(known, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, diag);
	for (int64_t next = 1; status == CAIRN_OK && next <= version; next++)
		status = migrate_run(*known, next);
	return status;
}

/* @param row  type, name and root page; a table without one is virtual @param known  looks up by type and name */
static enum cairn_status migrate_check_row(sqlite3_stmt *row, sqlite3_stmt *known, const char *path,
					   struct cairn_diag *diag)
{
	const char *type = (const char *)sqlite3_column_text(row, 0), *name = (const char *)sqlite3_column_text(row, 1);
	bool found = false;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *asked = known;
	cairn_sql_bind_text(asked, 1, type);
	cairn_sql_bind_text(asked, 2, name);
	enum cairn_status status = cairn_sql_step(asked, &found);
	if (status != CAIRN_OK || (found && sqlite3_column_int64(row, 2) > 0))
		return status;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "index.schema", CAIRN_NO_OFFSET,
			  "%.100s has the %.20s %.60s, which no index of Cairn has: whoever added it can have changed "
			  "more; use another copy, or drop it",
			  path, type ? type : "?", name ? name : "?");
}

enum cairn_status cairn_migrate_check_schema(sqlite3 *db, const char *path, int64_t version, struct cairn_diag *diag)
{
	static const char *const ROWS[] = {"SELECT type, name, rootpage FROM sqlite_schema"
					   " WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')"};
	static const char *const KNOWN[] = {"SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2"};
	CLEANUP(cairn_sql_closep) sqlite3 *known = NULL;
	sqlite3_stmt *rows[1] = {NULL}, *asked[1] = {NULL};
	bool row = true;
	enum cairn_status status = migrate_make_expected(&known, version, diag);
	if (status == CAIRN_OK)
		status = cairn_sql_prepare(known, KNOWN, asked, 1);
	if (status == CAIRN_OK && cairn_sql_prepare(db, ROWS, rows, 1) != CAIRN_OK)
		status = cairn_sql_fail(db, diag, "cannot read the index");
	while (status == CAIRN_OK && row) {
		if (cairn_sql_step(rows[0], &row) != CAIRN_OK)
			status = cairn_sql_fail(db, diag, "cannot read the index");
		else if (row)
			status = migrate_check_row(rows[0], asked[0], path, diag);
	}
	cairn_sql_finalize(rows, 1);
	cairn_sql_finalize(asked, 1);
	return status;
}

static enum cairn_status migrate_step(sqlite3 *db, int64_t version)
{
	char stamp[64];
	(void)snprintf(stamp, sizeof(stamp), "PRAGMA user_version = %" PRIi64, version);
	enum cairn_status status = cairn_sql_exec(db, "BEGIN IMMEDIATE");
	cairn_crash_point(CAIRN_CRASH_MIGRATE_BEGUN);
	if (status == CAIRN_OK)
		status = migrate_run(db, version);
	cairn_crash_point(CAIRN_CRASH_MIGRATE_RUN);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, stamp);
	cairn_crash_point(CAIRN_CRASH_MIGRATE_STAMPED);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "COMMIT");
	cairn_crash_point(CAIRN_CRASH_MIGRATE_DONE);
	return status;
}

enum cairn_status cairn_migrate(sqlite3 *db, const char *path, int64_t *from, struct cairn_diag *diag)
{
	int64_t version = 0;
	enum cairn_status status = cairn_migrate_judge(db, path, &version, diag);
	*from = version;
	if (status != CAIRN_OK)
		return status;
	char page[64];
	(void)snprintf(page, sizeof(page), "PRAGMA page_size = %d", CAIRN_MIGRATE_PAGE_BYTES);
	if (version == 0)
		status = cairn_sql_exec(db, page); /* cannot be changed once there is a log */
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
	cairn_sql_log_spill(path);
	for (int64_t next = version + 1; status == CAIRN_OK && next <= cairn_migrate_latest; next++)
		status = migrate_step(db, next);
	cairn_sql_log_spill(NULL);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	status = cairn_sql_fail(db, diag, "cannot bring the index to this program's version");
	if (!sqlite3_get_autocommit(db))
		(void)!cairn_sql_exec(db, "ROLLBACK");
	return status;
}
