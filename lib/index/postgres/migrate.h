/* Checks the version of an index, and migrates it. */
#ifndef CAIRN_INDEX_POSTGRES_MIGRATE_H
#define CAIRN_INDEX_POSTGRES_MIGRATE_H

#include "base/status.h"

/* Scripts of schema/postgres, compiled in by embed.py: script i migrates from version i. */
extern const char *const cairn_pg_migrate_scripts[];
extern const int cairn_pg_migrate_latest;

struct cairn_pg;

/** Reads the version of a schema, and checks that it is Cairn's. @param[out] version  0: the schema is missing or empty
 * @return CAIRN_OK; CAIRN_E_CONFLICT not Cairn's, or made by a newer version; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_pg_judge(struct cairn_pg *pg, int *version, struct cairn_diag *diag);

#endif
