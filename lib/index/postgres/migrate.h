/* Of which version an index is, and bringing it forward. */
#ifndef CAIRN_INDEX_POSTGRES_MIGRATE_H
#define CAIRN_INDEX_POSTGRES_MIGRATE_H

#include "base/status.h"

/* schema/postgres, made by embed.py: script i brings version i forward. */
extern const char *const cairn_pg_migrate_scripts[];
extern const int cairn_pg_migrate_latest;

struct cairn_pg;

/** @param[out] version  0: its schema is not there, or empty
 *  @return CAIRN_OK; CAIRN_E_CONFLICT not Cairn's, or of a newer version; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_pg_judge(struct cairn_pg *pg, int *version, struct cairn_diag *diag);

/* What backend.h says of these. */
CAIRN_MUST_USE enum cairn_status cairn_pg_migrate(const char *where, struct cairn_diag *diag, int *from, int *to);
CAIRN_MUST_USE enum cairn_status cairn_pg_version(const char *where, int *version, int *latest,
						  struct cairn_diag *diag);

#endif
