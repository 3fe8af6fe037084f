/* From nothing, or an older version of the schema, to the one this program knows. */
#ifndef CAIRN_INDEX_SQLITE_MIGRATE_H
#define CAIRN_INDEX_SQLITE_MIGRATE_H

#include "index/sqlite/util.h"

enum {
	CAIRN_MIGRATE_APPLICATION_ID = 0x4341524e, /* "CARN", in the header of the file */
	CAIRN_MIGRATE_PAGE_BYTES = 4096,
};

/** schema/NNNN_*.sql: script i makes version i + 1 of version i. */
extern const char *const cairn_migrate_scripts[];
extern const int cairn_migrate_latest;

/** Is it an index that this program can read? Nothing is written. @param[out] version  of its schema; 0: it is empty
 *  @return CAIRN_OK; CAIRN_E_CONFLICT of a newer version, or not Cairn's; CAIRN_E_IO, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_migrate_judge(sqlite3 *db, const char *path, int64_t *version,
						     struct cairn_diag *diag);

/** The same, and it must be of this program's version. @return likewise; CAIRN_E_CONFLICT also for an older one: rule
 *  index.older */
CAIRN_MUST_USE enum cairn_status cairn_migrate_must_be_latest(sqlite3 *db, const char *path, struct cairn_diag *diag);

/**
 * Has an index only the tables and trees that the scripts of its version make? A trigger, a view or a table that only
 * looks like one is SQL of somebody else. Nothing else is to be asked of a database before.
 * @param version  that cairn_migrate_judge() has told
 * @return CAIRN_OK, also when some are missing; CAIRN_E_CONFLICT "index.schema" with the name; CAIRN_E_IO,
 * CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_migrate_check_schema(sqlite3 *db, const char *path, int64_t version,
							    struct cairn_diag *diag);

/**
 * Bring a database forward, one transaction for each version; make an empty one.
 * @param path  for the messages
 * @param[out] from  the version before; 0: it was empty
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  of a newer version, or not Cairn's; nothing was written
 *         CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_migrate(sqlite3 *db, const char *path, int64_t *from, struct cairn_diag *diag);

#endif
