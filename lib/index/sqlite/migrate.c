#include "index/sqlite/migrate.h"

#include "index/sqlite/log.h"
#include "index/sqlite/offsets.h"

#include "base/crash_point.h"

#include <inttypes.h>
#include <stdio.h>

enum { MIGRATE_OFFSETS = 5 }; /* the version whose script leaves the terms to code */

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

static enum cairn_status migrate_step(sqlite3 *db, int64_t version)
{
	char stamp[64];
	(void)snprintf(stamp, sizeof(stamp), "PRAGMA user_version = %" PRIi64, version);
	enum cairn_status status = cairn_sql_exec(db, "BEGIN IMMEDIATE");
	cairn_crash_point(CAIRN_CRASH_MIGRATE_BEGUN);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, cairn_migrate_scripts[version - 1]);
	if (status == CAIRN_OK && version == MIGRATE_OFFSETS)
		status = cairn_offsets_migrate(db);
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
		status = cairn_sql_exec(db, page); /* cannot be changed once the log is in use */
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
