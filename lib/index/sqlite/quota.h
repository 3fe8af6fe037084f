/* Quotas: what a repository holds is counted with each row that makes it hold more or less. */
#ifndef CAIRN_INDEX_SQLITE_QUOTA_H
#define CAIRN_INDEX_SQLITE_QUOTA_H

#include "index/quota.h"
#include "index/sqlite/util.h"

/** What repository r should be said to hold. */
#define CAIRN_QUOTA_STORED                                                                                             \
	"((SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = r.scope) w"        \
	" CROSS JOIN file f ON f.id = w.file)"                                                                         \
	" + (SELECT coalesce(sum(size), 0) FROM content WHERE repo = r.id AND key IS NOT NULL))"

/** What owner s, who is no repository, should be said to hold. */
#define CAIRN_QUOTA_OWNED                                                                                              \
	"(SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = s.id) w"            \
	" CROSS JOIN file f ON f.id = w.file)"

struct cairn_tx;

/** An owner has so many bytes more, or fewer. Of one that is no repository and has no quota nothing is counted. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t scope, int64_t bytes);
/** The same by the size of a file, which is there: once more (1), or no more (-1). */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t scope, int64_t file, int times);

#endif
