/* Creates an index, or migrates an older version of the schema to this program's version. */
#ifndef CAIRN_INDEX_SQLITE_MIGRATE_H
#define CAIRN_INDEX_SQLITE_MIGRATE_H

#include "index/sqlite/util.h"

enum {
	CAIRN_MIGRATE_APPLICATION_ID = 0x4341524e, /* "CARN", in the header of the file */
	CAIRN_MIGRATE_PAGE_BYTES = 4096,
};

/** schema/NNNN_*.sql: script i migrates version i to i + 1. */
extern const char *const cairn_migrate_scripts[];
extern const int cairn_migrate_latest;

/** Checks that this program can read the index. Writes nothing. @param[out] version  version of the schema; 0: empty
 * @return CAIRN_OK; CAIRN_E_CONFLICT made by a newer version, or not Cairn's; CAIRN_E_IO, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_migrate_judge(sqlite3 *db, const char *path, int64_t *version,
						     struct cairn_diag *diag);

/** Does what cairn_migrate_judge() does, and requires this program's version. @return as cairn_migrate_judge();
 * CAIRN_E_CONFLICT also for an older index: rule index.older */
CAIRN_MUST_USE enum cairn_status cairn_migrate_must_be_latest(sqlite3 *db, const char *path, struct cairn_diag *diag);

/** Checks that an index has only the tables and database indexes that the scripts of its version make. A trigger, a
 * view or a virtual table would run foreign SQL. Call it before any other query.
 * @param version  from cairn_migrate_judge()
 * @return CAIRN_OK, also if some are missing; CAIRN_E_CONFLICT something else exists (index.schema, with its name);
 *         CAIRN_E_IO, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_migrate_check_schema(sqlite3 *db, const char *path, int64_t version,
							    struct cairn_diag *diag);

/** Migrates a database, one transaction for each version, or creates its tables.
 * @param path  for the messages
 * @param[out] from  the version before; 0: it was empty
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  made by a newer version, or not Cairn's; nothing was written CAIRN_E_IO,
 *         CAIRN_E_FULL, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_migrate(sqlite3 *db, const char *path, int64_t *from, struct cairn_diag *diag);

#endif
