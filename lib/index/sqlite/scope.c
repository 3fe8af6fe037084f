/* Owners, which the rows call scopes, by their names and by their repositories. */
#include "index/sqlite/write.h"

enum cairn_status cairn_tx_scope(struct cairn_tx *tx, const char *name, int64_t *id)
{
	*id = 0;
	if (name[0] == '\0')
		return CAIRN_OK;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = tx->stmt[CAIRN_TX_FIND_SCOPE];
	cairn_sql_bind_text(find, 1, name);
	bool row;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK)
		return status;
	if (row) {
		*id = sqlite3_column_int64(find, 0);
		return CAIRN_OK;
	}
	/* Repositories bring theirs: a token may outlive the repository that it is for. */
	if (cairn_index_is_repo_owner(name))
		return CAIRN_E_NOT_FOUND;
	cairn_sql_bind_text(tx->stmt[CAIRN_TX_ADD_SCOPE], 1, name);
	status = cairn_sql_run(tx->stmt[CAIRN_TX_ADD_SCOPE]);
	*id = sqlite3_last_insert_rowid(tx->db);
	return status;
}

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
