/* Removes the bytes of mirrored repositories from a backup of an index, which nobody else has open. */
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"
#include "index/sqlite/quota.h"

enum {
	UNMIRROR_SINCE = 32,       /* older backups have no tables of the mirror */
	UNMIRROR_USED_SINCE = 34,  /* older ones do not note when a repository was read last */
	UNMIRROR_AHEAD_SINCE = 36, /* older ones do not note when a repository was fetched ahead of requests */
};

static const char UNMIRROR_FIND[] =
	"CREATE TEMP TABLE mirrored(repo INTEGER PRIMARY KEY, scope INTEGER NOT NULL);"
	"CREATE TEMP TABLE lost_file(id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE lost_xorb(id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE lost_shard(id INTEGER PRIMARY KEY);"
	"INSERT INTO mirrored SELECT r.id, r.scope FROM repo r CROSS JOIN account a ON a.id = r.account"
	" WHERE a.mirrored = 1";

static const char UNMIRROR_COUNT[] = "SELECT count(*) FROM content WHERE repo IN (SELECT repo FROM mirrored)"
				     " AND (file IS NOT NULL OR body IS NOT NULL)";
static const char UNMIRROR_SUM[] =
	"SELECT coalesce(sum(size), 0) FROM content WHERE repo IN (SELECT repo FROM mirrored)"
	" AND (file IS NOT NULL OR body IS NOT NULL)";

/* Removes a file that only mirrored repositories own, and a xorb that only such files need, or that the mirror stored
 * for a file that has not arrived completely. */
static const char UNMIRROR_FILES[] =
	"DELETE FROM mirror_place; DELETE FROM mirror_part; DELETE FROM mirror_file;"
	"UPDATE content SET file = NULL, body = NULL WHERE repo IN (SELECT repo FROM mirrored);"
	"INSERT INTO lost_file SELECT DISTINCT file FROM file_owner WHERE scope IN (SELECT scope FROM mirrored);"
	"DELETE FROM file_owner WHERE scope IN (SELECT scope FROM mirrored);"
	"DELETE FROM lost_file WHERE EXISTS(SELECT 1 FROM file_owner w WHERE w.file = lost_file.id);"
	"INSERT OR IGNORE INTO lost_xorb SELECT xorb FROM reference WHERE file IN (SELECT id FROM lost_file);"
	"INSERT OR IGNORE INTO lost_xorb SELECT xorb FROM unregistered WHERE holder IN (SELECT id FROM account"
	" WHERE mirrored = 1);"
	"DELETE FROM reference WHERE file IN (SELECT id FROM lost_file);"
	"DELETE FROM proof WHERE file IN (SELECT id FROM lost_file);"
	"DELETE FROM file WHERE id IN (SELECT id FROM lost_file)";

static const char UNMIRROR_XORBS[] =
	"DELETE FROM lost_xorb WHERE EXISTS(SELECT 1 FROM reference r WHERE r.xorb = lost_xorb.id);"
	"INSERT INTO lost_shard SELECT DISTINCT shard FROM member WHERE xorb IN (SELECT id FROM lost_xorb);"
	"DELETE FROM unregistered WHERE xorb IN (SELECT id FROM lost_xorb);"
	"DELETE FROM dedupe WHERE xorb IN (SELECT id FROM lost_xorb);"
	"DELETE FROM member WHERE xorb IN (SELECT id FROM lost_xorb);"
	"DELETE FROM list WHERE xorb IN (SELECT id FROM lost_xorb);"
	"DELETE FROM xorb WHERE id IN (SELECT id FROM lost_xorb);"
	"DELETE FROM shard WHERE id IN (SELECT id FROM lost_shard)"
	" AND NOT EXISTS(SELECT 1 FROM member m WHERE m.shard = shard.id)";

static const char UNMIRROR_COUNTS[] =
	CAIRN_SQLITE_RECOUNT ", collection = collection + 1;"
			     "UPDATE repo AS r SET stored = " CAIRN_QUOTA_STORED
			     " WHERE dropped IS NULL AND id IN (SELECT repo FROM mirrored)";

static enum cairn_status unmirror_run(sqlite3 *db, uint64_t *n_files, uint64_t *bytes)
{
	static const char *const STEPS[] = {UNMIRROR_FILES, UNMIRROR_XORBS, UNMIRROR_COUNTS, "COMMIT",
					    "VACUUM"}; /* else the bytes stay in unused pages */
	int64_t n = 0, sum = 0;
	enum cairn_status status = cairn_sql_exec(db, UNMIRROR_FIND);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, UNMIRROR_COUNT, &n);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, UNMIRROR_SUM, &sum);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "BEGIN");
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]) && status == CAIRN_OK; i++)
		status = cairn_sql_exec(db, STEPS[i]);
	*n_files = (uint64_t)n;
	*bytes = (uint64_t)sum;
	return status;
}

enum cairn_status cairn_sqlite_backup_unmirror(const char *where, const char *path, uint64_t *n_files, uint64_t *bytes,
					       struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	int64_t version = 0, n_mirrored = 0;
	(void)where;
	*n_files = *bytes = 0;
	enum cairn_status status = cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_judge(db, path, &version, diag);
	if (status != CAIRN_OK || version < UNMIRROR_SINCE)
		return status;
	status = cairn_sql_ask(db, "SELECT count(*) FROM account WHERE mirrored = 1", &n_mirrored);
	/* Does not sync: the caller makes the backup durable. */
	if (status == CAIRN_OK && n_mirrored > 0)
		status = cairn_sql_exec(db, "PRAGMA synchronous = OFF");
	if (status == CAIRN_OK && n_mirrored > 0 && version >= UNMIRROR_USED_SINCE)
		status = cairn_sql_exec(db, "UPDATE mirror_repo SET used = 0");
	if (status == CAIRN_OK && n_mirrored > 0 && version >= UNMIRROR_AHEAD_SINCE)
		status = cairn_sql_exec(db, "UPDATE mirror_repo SET fetched = 0 WHERE every > 0");
	if (status == CAIRN_OK && n_mirrored > 0)
		status = unmirror_run(db, n_files, bytes);
	return status == CAIRN_OK ? CAIRN_OK : cairn_sql_fail(db, diag, "cannot leave out mirrored files");
}
