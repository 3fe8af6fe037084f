/* Repositories of the hub: their names, and who may see them. */
#include "index/sqlite/engine.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_one(sqlite3_stmt *stmt, struct cairn_index_repo *out)
{
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_index_repo){
		.id = sqlite3_column_int64(stmt, 0),
		.kind = (enum cairn_index_repo_kind)sqlite3_column_int64(stmt, 1),
		.account = sqlite3_column_int64(stmt, 2),
		.is_private = sqlite3_column_int64(stmt, 5) != 0,
		.created_unix_ms = sqlite3_column_int64(stmt, 6),
		.updated_unix_ms = sqlite3_column_int64(stmt, 7),
		.n_files = (uint64_t)sqlite3_column_int64(stmt, 8),
		.bytes = (uint64_t)sqlite3_column_int64(stmt, 9),
	};
	bool ok = cairn_sql_text(stmt, 3, out->account_name, sizeof(out->account_name)) &&
		  cairn_sql_text(stmt, 4, out->name, sizeof(out->name));
	return ok ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_sqlite_repo(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *account,
				    const char *name, struct cairn_index_repo *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_REPO];
	sqlite3_bind_int64(stmt, 1, (int64_t)kind);
	cairn_sql_bind_text(stmt, 2, account);
	cairn_sql_bind_text(stmt, 3, name);
	return repo_one(stmt, out);
}

enum cairn_status cairn_sqlite_each_repo(struct cairn_index *ix, int64_t account, enum cairn_index_repo_kind kind,
					 int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_REPO];
	uint32_t page = cairn_sqlite_page(stmt, from_id, 0);
	sqlite3_bind_int64(stmt, 3, account);
	sqlite3_bind_int64(stmt, 4, (int64_t)kind);
	struct cairn_index_repo repo = {.id = from_id};
	for (uint32_t n = 0; n < page; n++) {
		status = repo_one(stmt, &repo);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		visit(ctx, &repo);
	}
	*next_id = repo.id;
	return CAIRN_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_tx_find_repo(struct cairn_tx *tx, int64_t repo, int64_t *scope, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_FIND_REPO];
	sqlite3_bind_int64(stmt, 1, repo);
	bool row;
	*scope = 0;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status == CAIRN_OK && !row)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
	if (status == CAIRN_OK)
		*scope = sqlite3_column_int64(stmt, 0);
	return status;
}

static enum cairn_status repo_known(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "repo.known", CAIRN_NO_OFFSET,
			  "there is a repository of this name already, or its name is too long; take another");
}

/* The name of an owner goes with the repository's number. */
static enum cairn_status repo_add_owner(struct cairn_tx *tx, int64_t repo)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	cairn_sql_bind_text(tx->stmt[CAIRN_TX_ADD_SCOPE], 1, owner);
	enum cairn_status status = cairn_sql_run(tx->stmt[CAIRN_TX_ADD_SCOPE]);
	sqlite3_stmt *set = tx->stmt[CAIRN_TX_SET_REPO_SCOPE];
	sqlite3_bind_int64(set, 1, repo);
	sqlite3_bind_int64(set, 2, sqlite3_last_insert_rowid(tx->db));
	return status == CAIRN_OK ? cairn_sql_run(set) : status;
}

enum cairn_status cairn_tx_add_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add)
{
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_ADD_REPO];
	sqlite3_bind_int64(stmt, 1, add->account);
	sqlite3_bind_int64(stmt, 2, (int64_t)add->kind);
	cairn_sql_bind_text(stmt, 3, add->name);
	sqlite3_bind_int64(stmt, 4, add->is_private);
	sqlite3_bind_int64(stmt, 5, cairn_clock_unix_ms());
	enum cairn_status status = cairn_sql_run(stmt);
	if (status != CAIRN_OK)
		return status;
	if (sqlite3_changes(tx->db) == 0)
		return repo_known(&add->write.diag);
	add->id = sqlite3_last_insert_rowid(tx->db);
	return repo_add_owner(tx, add->id);
}

enum cairn_status cairn_tx_set_repo(struct cairn_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t scope;
	enum cairn_status status = cairn_tx_find_repo(tx, set->id, &scope, &set->write.diag);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_SET_REPO];
	sqlite3_bind_int64(stmt, 1, set->id);
	sqlite3_bind_int64(stmt, 2, set->is_private);
	sqlite3_bind_int64(stmt, 3, cairn_clock_unix_ms());
	return cairn_sql_run(stmt);
}

enum cairn_status cairn_tx_move_repo(struct cairn_tx *tx, struct cairn_index_move_repo *move)
{
	int64_t scope;
	enum cairn_status status = cairn_tx_find_repo(tx, move->id, &scope, &move->write.diag);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_MOVE_REPO];
	sqlite3_bind_int64(stmt, 1, move->id);
	sqlite3_bind_int64(stmt, 2, move->account);
	cairn_sql_bind_text(stmt, 3, move->name);
	sqlite3_bind_int64(stmt, 4, cairn_clock_unix_ms());
	status = cairn_sql_run(stmt);
	return status == CAIRN_OK && sqlite3_changes(tx->db) == 0 ? repo_known(&move->write.diag) : status;
}

/* The owner loses its name, so that no token that is about opens anything, or brings anything. */
enum cairn_status cairn_tx_drop_repo(struct cairn_tx *tx, struct cairn_index_drop_repo *drop)
{
	int64_t scope = 0;
	char gone[CAIRN_INDEX_OWNER_BYTES];
	enum cairn_status status = cairn_tx_find_repo(tx, drop->id, &scope, &drop->write.diag);
	if (status != CAIRN_OK)
		return status;
	(void)snprintf(gone, sizeof(gone), "gone/%" PRId64, drop->id);
	sqlite3_stmt *rename = tx->stmt[CAIRN_TX_RENAME_SCOPE], *stmt = tx->stmt[CAIRN_TX_DROP_REPO];
	sqlite3_bind_int64(rename, 1, scope);
	cairn_sql_bind_text(rename, 2, gone);
	status = cairn_sql_run(rename);
	sqlite3_bind_int64(stmt, 1, drop->id);
	sqlite3_bind_int64(stmt, 2, cairn_clock_unix_ms());
	tx->counts.collection++;
	return status == CAIRN_OK ? cairn_sql_run(stmt) : status;
}
