/* Repositories of the hub: their names, and who may see them. */
#include "index/sqlite/commit.h"
#include "index/sqlite/engine.h"

#include "base/clock.h"

#include <string.h>

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
		.gate = (enum cairn_index_gate)sqlite3_column_int64(stmt, 10),
		.guard = sqlite3_column_int64(stmt, 12),
	};
	bool ok = cairn_sql_text(stmt, 3, out->account_name, sizeof(out->account_name)) &&
		  cairn_sql_text(stmt, 4, out->name, sizeof(out->name)) &&
		  cairn_sql_text(stmt, 11, out->sdk, sizeof(out->sdk));
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

enum cairn_status cairn_sqlite_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
					  cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	unsigned which = CAIRN_READ_REPOS_BY_UPDATE + 2 * (unsigned)list->sort + (list->ascending ? 1 : 0);
	uint32_t limit = list->limit < CAIRN_INDEX_REPOS_MAX ? list->limit : CAIRN_INDEX_REPOS_MAX;
	struct cairn_index_repo repo = {0};
	char after_name[sizeof(list->after_name)];
	memcpy(after_name, list->after_name, sizeof(after_name));
	*more = false;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[which];
	sqlite3_bind_int64(stmt, 1, (int64_t)list->kind);
	sqlite3_bind_int64(stmt, 2, list->account);
	cairn_sql_bind_text(stmt, 3, list->search ? list->search : "");
	sqlite3_bind_int64(stmt, 4, list->all);
	sqlite3_bind_int64(stmt, 5, list->reader);
	sqlite3_bind_int64(stmt, 6, limit);
	sqlite3_bind_int64(stmt, 8, list->after_id);
	if (list->sort == CAIRN_INDEX_BY_UPDATE)
		sqlite3_bind_int64(stmt, 7, list->after_unix_ms);
	if (list->sort == CAIRN_INDEX_BY_NAME)
		cairn_sql_bind_text(stmt, 9, after_name);
	for (uint32_t n = 0; n < limit; n++) {
		status = repo_one(stmt, &repo);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		visit(ctx, &repo);
		list->after_id = repo.id;
		list->after_unix_ms = repo.updated_unix_ms;
		memcpy(list->after_name, repo.name, sizeof(list->after_name));
	}
	*more = true;
	return CAIRN_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

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

/* The branch main, and its first commit. */
static enum cairn_status repo_begin(struct cairn_tx *tx, struct cairn_index_add_repo *add)
{
	struct cairn_diag *diag = &add->write.diag;
	struct cairn_commits_new c = {
		.repo = add->id, .message = &add->first, .operations = add->operations, .n = add->n};
	enum cairn_status status = cairn_tx_find_repo(tx, add->id, &c.scope, diag);
	if (status == CAIRN_OK && add->source != 0)
		status = cairn_tx_adopt_named(tx, add, c.scope, diag);
	if (status == CAIRN_OK)
		status = cairn_tx_first_line(tx, &c, diag);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *ref = tx->stmt[CAIRN_TX_ADD_REF];
	sqlite3_bind_int64(ref, 1, add->id);
	sqlite3_bind_int64(ref, 2, CAIRN_INDEX_BRANCH);
	cairn_sql_bind_text(ref, 3, "main");
	sqlite3_bind_int64(ref, 4, c.line);
	sqlite3_bind_int64(ref, 5, 0);
	status = cairn_sql_run(ref);
	return status == CAIRN_OK ? cairn_tx_count_main(tx, add->id) : status;
}

enum cairn_status cairn_tx_add_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add)
{
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_ADD_REPO];
	sqlite3_bind_int64(stmt, 1, add->account);
	sqlite3_bind_int64(stmt, 2, (int64_t)add->kind);
	cairn_sql_bind_text(stmt, 3, add->name);
	sqlite3_bind_int64(stmt, 4, add->is_private);
	sqlite3_bind_int64(stmt, 5, cairn_clock_unix_ms());
	cairn_sql_bind_text(stmt, 6, add->sdk ? add->sdk : "");
	sqlite3_bind_int64(stmt, 7, add->guard);
	enum cairn_status status = cairn_sql_run(stmt);
	if (status != CAIRN_OK)
		return status;
	if (sqlite3_changes(tx->db) == 0)
		return repo_known(&add->write.diag);
	add->id = sqlite3_last_insert_rowid(tx->db);
	status = repo_add_owner(tx, add->id);
	return status == CAIRN_OK && add->kind != CAIRN_INDEX_BUCKET ? repo_begin(tx, add) : status;
}

enum cairn_status cairn_tx_set_repo(struct cairn_tx *tx, struct cairn_index_set_repo *set)
{
	int64_t scope;
	enum cairn_status status = cairn_tx_find_repo(tx, set->id, &scope, &set->write.diag);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_SET_REPO];
	(void)sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, set->id);
	if (!set->keeps_private)
		sqlite3_bind_int64(stmt, 2, set->is_private);
	sqlite3_bind_int64(stmt, 3, cairn_clock_unix_ms());
	if (!set->keeps_gate)
		sqlite3_bind_int64(stmt, 4, (int64_t)set->gate);
	return cairn_sql_run(stmt);
}

/* Another account gets what the repository holds; the repository itself holds no more than before. */
static enum cairn_status repo_count_moved(struct cairn_tx *tx, const struct cairn_index_move_repo *move, int64_t scope)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_MOVED_BYTES];
	sqlite3_bind_int64(stmt, 1, move->id);
	sqlite3_bind_int64(stmt, 2, move->account);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status == CAIRN_OK && row)
		tx->growth = (struct cairn_tx_growth){.scope = scope, .account_bytes = sqlite3_column_int64(stmt, 0)};
	return status;
}

enum cairn_status cairn_tx_move_repo(struct cairn_tx *tx, struct cairn_index_move_repo *move)
{
	int64_t scope;
	enum cairn_status status = cairn_tx_find_repo(tx, move->id, &scope, &move->write.diag);
	if (status == CAIRN_OK)
		status = repo_count_moved(tx, move, scope);
	sqlite3_bind_int64(tx->stmt[CAIRN_TX_ADD_FORMER], 1, move->id);
	if (status == CAIRN_OK)
		status = cairn_sql_run(tx->stmt[CAIRN_TX_ADD_FORMER]);
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
	cairn_index_gone_owner(gone, drop->id);
	sqlite3_stmt *rename = tx->stmt[CAIRN_TX_RENAME_SCOPE], *stmt = tx->stmt[CAIRN_TX_DROP_REPO];
	sqlite3_bind_int64(rename, 1, scope);
	cairn_sql_bind_text(rename, 2, gone);
	status = cairn_sql_run(rename);
	sqlite3_bind_int64(tx->stmt[CAIRN_TX_DROP_FORMER], 1, drop->id);
	if (status == CAIRN_OK)
		status = cairn_sql_run(tx->stmt[CAIRN_TX_DROP_FORMER]);
	sqlite3_bind_int64(stmt, 1, drop->id);
	sqlite3_bind_int64(stmt, 2, cairn_clock_unix_ms());
	tx->counts.collection++;
	return status == CAIRN_OK ? cairn_sql_run(stmt) : status;
}
