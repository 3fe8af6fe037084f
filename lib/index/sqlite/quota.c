#include "index/sqlite/quota.h"

#include "index/operate.h"
#include "index/sqlite/engine.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_room cairn_quota_room(sqlite3_stmt *row, int column)
{
	bool limited = sqlite3_column_type(row, column) != SQLITE_NULL;
	return (struct cairn_index_room){
		.limit_bytes = limited ? (uint64_t)sqlite3_column_int64(row, column) : CAIRN_INDEX_NO_QUOTA,
		.stored_bytes = (uint64_t)sqlite3_column_int64(row, column + 1),
	};
}

enum cairn_status cairn_quota_row(sqlite3_stmt *row, struct cairn_index_quota *out)
{
	*out = (struct cairn_index_quota){
		.account = cairn_quota_room(row, 1),
		.kind = (enum cairn_index_repo_kind)sqlite3_column_int64(row, 3),
		.repo = cairn_quota_room(row, 5),
	};
	bool ok = cairn_sql_text(row, 0, out->account_name, sizeof(out->account_name)) &&
		  (out->kind == 0 || cairn_sql_text(row, 4, out->repo_name, sizeof(out->repo_name)));
	return ok ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_sqlite_quota(struct cairn_index *ix, int64_t account, int64_t repo,
				     struct cairn_index_quota *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_QUOTA];
	sqlite3_bind_int64(stmt, 1, account);
	sqlite3_bind_int64(stmt, 2, repo);
	status = cairn_sql_find(stmt);
	return status == CAIRN_OK ? cairn_quota_row(stmt, out) : status;
}

enum cairn_status cairn_sqlite_each_owned_size(struct cairn_index *ix, int64_t repo,
					       void (*visit)(void *ctx, uint64_t size_bytes), void *ctx)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_OWNED_SIZES];
	sqlite3_bind_int64(stmt, 1, repo);
	for (bool row = true;;) {
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		visit(ctx, (uint64_t)sqlite3_column_int64(stmt, 0));
	}
}

enum cairn_status cairn_sqlite_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
					   struct cairn_index_room *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_OWNER_QUOTA];
	cairn_sql_bind_text(stmt, 1, owner);
	sqlite3_bind_int(stmt, 2, adds_up);
	status = cairn_sql_find(stmt);
	if (status == CAIRN_OK)
		*out = cairn_quota_room(stmt, 0);
	return status;
}

enum cairn_status cairn_sqlite_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
					  cairn_index_visit_quota *visit, void *ctx, bool *more)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	*more = false;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_QUOTA];
	uint32_t page = limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit;
	cairn_sql_bind_text(stmt, 1, after);
	sqlite3_bind_int64(stmt, 2, (int64_t)page + 1);
	for (uint32_t n = 0;; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		*more = status == CAIRN_OK && row && n == page;
		if (status != CAIRN_OK || !row || *more)
			return status;
		const char *place = (const char *)sqlite3_column_text(stmt, 0);
		if (!place)
			return CAIRN_E_NOMEM;
		const struct cairn_index_room room = cairn_quota_room(stmt, 1);
		visit(ctx, place, &room);
	}
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t scope, int64_t bytes)
{
	static const enum cairn_tx_stmt OF[] = {CAIRN_TX_COUNT_STORED, CAIRN_TX_COUNT_OWNED};
	bool counted = false;
	if (scope == 0 || bytes == 0 || scope == tx->growth.uncounted)
		return CAIRN_OK;
	for (size_t i = 0; i < sizeof(OF) / sizeof(OF[0]) && !counted; i++) {
		sqlite3_stmt *count = tx->stmt[OF[i]];
		sqlite3_bind_int64(count, 1, scope);
		sqlite3_bind_int64(count, 2, bytes);
		enum cairn_status status = cairn_sql_run(count);
		if (status != CAIRN_OK)
			return status;
		counted = sqlite3_changes(tx->db) > 0;
	}
	if (!counted) {
		tx->growth.uncounted = scope;
		return CAIRN_OK;
	}
	tx->growth.scope = scope;
	tx->growth.repo_bytes += bytes;
	tx->growth.account_bytes += bytes;
	return CAIRN_OK;
}

enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t scope, int64_t file, int times)
{
	int64_t size_bytes;
	if (scope == 0 || scope == tx->growth.uncounted)
		return CAIRN_OK;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_FILE_SIZE];
		sqlite3_bind_int64(stmt, 1, file);
		enum cairn_status status = cairn_sql_find(stmt);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_E_DAMAGED : status;
		size_bytes = sqlite3_column_int64(stmt, 0);
	}
	return cairn_tx_count_stored(tx, scope, times * size_bytes);
}

/* Of who is no repository. */
static enum cairn_status quota_check_owner(struct cairn_tx *tx, struct cairn_diag *diag)
{
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_OWNER_QUOTA];
	sqlite3_bind_int64(stmt, 1, tx->growth.scope);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	if (!cairn_sql_text(stmt, 0, name, sizeof(name)))
		return CAIRN_E_DAMAGED;
	const struct cairn_index_room room = cairn_quota_room(stmt, 1);
	return cairn_index_room_check(name, &room, 0, diag);
}

/* What did not grow may be over its quota: it may have been lowered since. */
enum cairn_status cairn_tx_check_quota(struct cairn_tx *tx, struct cairn_diag *diag)
{
	struct cairn_index_quota quota;
	if (tx->growth.account_bytes <= 0)
		return CAIRN_OK;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_QUOTA];
		sqlite3_bind_int64(stmt, 1, tx->growth.scope);
		enum cairn_status status = cairn_sql_find(stmt);
		if (status == CAIRN_OK)
			status = cairn_quota_row(stmt, &quota);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? quota_check_owner(tx, diag) : status;
	}
	if (tx->growth.repo_bytes <= 0)
		quota.repo.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	return cairn_index_quota_check(&quota, 0, diag);
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_tx_set_quota(struct cairn_tx *tx, struct cairn_index_set_quota *set)
{
	bool of_repo = set->repo != 0, of_owner = !of_repo && set->account == 0;
	int64_t id = of_repo ? set->repo : set->account;
	enum cairn_status status = of_owner ? cairn_tx_scope(tx, set->owner, &id) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *stmt = tx->stmt[of_repo    ? CAIRN_TX_SET_REPO_QUOTA
				      : of_owner ? CAIRN_TX_SET_OWNER_QUOTA
						 : CAIRN_TX_SET_ACCOUNT_QUOTA];
	sqlite3_bind_int64(stmt, 1, id);
	if (set->limit_bytes == CAIRN_INDEX_NO_QUOTA)
		sqlite3_bind_null(stmt, 2);
	else
		sqlite3_bind_int64(stmt, 2, (int64_t)set->limit_bytes);
	status = cairn_sql_run(stmt);
	if (status != CAIRN_OK || sqlite3_changes(tx->db) > 0)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, of_repo ? "repo.unknown" : "account.unknown",
			  CAIRN_NO_OFFSET, of_repo ? "Repository not found" : "there is no account of this name");
}
