/* Quotas: what a repository holds is counted with each row that makes it hold more or less. */
#ifndef CAIRN_INDEX_SQLITE_QUOTA_H
#define CAIRN_INDEX_SQLITE_QUOTA_H

#include "index/quota.h"
#include "index/sqlite/util.h"

/** Columns of an account a and a repository r of its. @param sum  whether to add up what the account holds */
#define CAIRN_QUOTA_COLUMNS(sum)                                                                                       \
	"a.name, a.quota, iif(" sum ", (SELECT coalesce(sum(x.stored), 0) FROM repo x WHERE x.account = a.id"          \
	" AND x.dropped IS NULL), 0), r.kind, r.name, r.quota, r.stored"

/** What repository r should be said to hold. */
#define CAIRN_QUOTA_STORED                                                                                             \
	"((SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = r.scope) w"        \
	" CROSS JOIN file f ON f.id = w.file)"                                                                         \
	" + (SELECT coalesce(sum(size), 0) FROM content WHERE repo = r.id AND key IS NOT NULL))"

/** What owner s, who is no repository, should be said to hold. */
#define CAIRN_QUOTA_OWNED                                                                                              \
	"(SELECT coalesce(sum(f.size), 0) FROM (SELECT DISTINCT file FROM file_owner WHERE scope = s.id) w"            \
	" CROSS JOIN file f ON f.id = w.file)"

/** A row of these columns. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_quota_row(sqlite3_stmt *row, struct cairn_index_quota *out);
/** Two of them, from a column on: the limit, and what is stored. */
struct cairn_index_room cairn_quota_room(sqlite3_stmt *row, int column);

struct cairn_tx;

/** By how much the write at hand makes a repository and its account hold more, or another owner. */
struct cairn_tx_growth {
	int64_t scope; /* the owner; 0: none */
	int64_t repo_bytes, account_bytes;
	int64_t uncounted; /* an owner of whom nothing is counted; 0: not known */
};

/** An owner has so many bytes more, or fewer. Of one that is no repository and has no quota nothing is counted. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t scope, int64_t bytes);
/** The same by the size of a file, which is there: once more (1), or no more (-1). */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t scope, int64_t file, int times);

/** After a write: what has grown must be within its quotas. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo,
 * quota.account) */
CAIRN_MUST_USE enum cairn_status cairn_tx_check_quota(struct cairn_tx *tx, struct cairn_diag *diag);

CAIRN_MUST_USE enum cairn_status cairn_tx_set_quota(struct cairn_tx *tx, struct cairn_index_set_quota *set);

#endif
