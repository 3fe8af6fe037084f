/* Quotas: each row that changes the size of a repository updates it. */
#ifndef CAIRN_INDEX_SQLITE_QUOTA_H
#define CAIRN_INDEX_SQLITE_QUOTA_H

#include "index/quota.h"
#include "index/records.h"
#include "index/sqlite/util.h"

#define CAIRN_QUOTA_SUM(counts, from) "(SELECT coalesce(sum(" counts "), 0) FROM " from ")"
#define CAIRN_QUOTA_FILES(owner)                                                                                       \
	CAIRN_QUOTA_SUM(CAIRN_SQLITE_FILE_COUNTS("f.size"),                                                            \
			"(SELECT DISTINCT file FROM file_owner WHERE scope = " owner                                   \
			") w CROSS JOIN file f ON f.id = w.file")
/* Queries each table by repository, or by line. */
#define CAIRN_QUOTA_COMMITS CAIRN_QUOTA_SUM(CAIRN_SQL_COMMIT_COUNTS(SQLITE), "commit_ WHERE repo = r.id")
#define CAIRN_QUOTA_ENTRIES                                                                                            \
	CAIRN_QUOTA_SUM(CAIRN_SQL_ENTRY_COUNTS(SQLITE),                                                                \
			"line l CROSS JOIN entry e WHERE l.repo = r.id AND e.line = l.id")
#define CAIRN_QUOTA_REFS    CAIRN_QUOTA_SUM(CAIRN_SQL_REF_COUNTS(SQLITE), "ref WHERE repo = r.id")
#define CAIRN_QUOTA_PULLS   CAIRN_QUOTA_SUM(CAIRN_SQL_PULL_COUNTS(SQLITE), "pull WHERE repo = r.id")
#define CAIRN_QUOTA_OBJECTS CAIRN_QUOTA_SUM(CAIRN_SQL_OBJECT_COUNTS(SQLITE), "object WHERE repo = r.id")
#define CAIRN_QUOTA_TEXTS   CAIRN_QUOTA_SUM("size", "content WHERE repo = r.id AND key IS NOT NULL")

#define CAIRN_QUOTA_FORMER CAIRN_QUOTA_SUM(CAIRN_SQL_FORMER_COUNTS, "former WHERE repo = r.id")

/** The size that the row of repository r should have. */
#define CAIRN_QUOTA_STORED                                                                                             \
	"(" CAIRN_SQL_REPO_COUNTS " + " CAIRN_QUOTA_FORMER                                                             \
	" + " CAIRN_QUOTA_FILES("r.scope") " + " CAIRN_QUOTA_TEXTS " + " CAIRN_QUOTA_COMMITS " + " CAIRN_QUOTA_ENTRIES \
					   " + " CAIRN_QUOTA_REFS " + " CAIRN_QUOTA_PULLS " + " CAIRN_QUOTA_OBJECTS    \
					   ")"

/** The size that the row of owner s should have, who is not a repository. */
#define CAIRN_QUOTA_OWNED CAIRN_QUOTA_FILES("s.id")

/** Counts the rows anew for the row of state. */
#define CAIRN_SQLITE_RECOUNT                                                                                           \
	"UPDATE state SET files = (SELECT count(*) FROM file), xorbs = (SELECT count(*) FROM xorb),"                   \
	" shards = (SELECT count(*) FROM shard), eligible = (SELECT count(*) FROM dedupe),"                            \
	" stored_bytes = (SELECT coalesce(sum(stored), 0) FROM xorb)"

struct cairn_tx;

/** Records that an owner holds more or fewer bytes. An owner that is not a repository counts only with a quota. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t owner, int64_t bytes);
/** Records that an owner has more or fewer rows.
 * @param may_be_refused  false: no quota refuses the write because of them */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_rows(struct cairn_tx *tx, int64_t owner, int64_t bytes,
						     bool may_be_refused);
/** Records that an owner has one file more (1) or less (-1). The file must exist. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t owner, int64_t file, int times);

#endif
