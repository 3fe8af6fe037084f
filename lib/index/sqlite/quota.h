/* Quotas: the size of a repository is updated with each row that changes it. */
#ifndef CAIRN_INDEX_SQLITE_QUOTA_H
#define CAIRN_INDEX_SQLITE_QUOTA_H

#include "index/quota.h"
#include "index/sqlite/util.h"

/** The size that the row of repository r should have. */
#define CAIRN_QUOTA_STORED                                                                                             \
	"((SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = r.scope) w"        \
	" CROSS JOIN file f ON f.id = w.file)"                                                                         \
	" + (SELECT coalesce(sum(size), 0) FROM content WHERE repo = r.id AND key IS NOT NULL))"

/** The size that the row of owner s, not a repository, should have. */
#define CAIRN_QUOTA_OWNED                                                                                              \
	"(SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = s.id) w"            \
	" CROSS JOIN file f ON f.id = w.file)"

struct cairn_tx;

/** Records that an owner holds more or fewer bytes. Other owners than repositories count only with a quota. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t scope, int64_t bytes);
/** Records that an owner has a file more (1) or less (-1). The file must exist. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t scope, int64_t file, int times);

#endif
