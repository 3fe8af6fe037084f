/* Accounts, and who belongs to which organisation. */
#include "index/sqlite/engine.h"

#include "base/clock.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum cairn_status account_columns(sqlite3_stmt *row, struct cairn_index_account *out)
{
	*out = (struct cairn_index_account){
		.id = sqlite3_column_int64(row, 0),
		.kind = (enum cairn_index_account_kind)sqlite3_column_int64(row, 1),
		.created_unix_s = sqlite3_column_int64(row, 5),
		.disabled_unix_s = sqlite3_column_int64(row, 6),
	};
	bool ok = cairn_sql_text(row, 2, out->name, sizeof(out->name)) &&
		  cairn_sql_text(row, 3, out->fullname, sizeof(out->fullname)) &&
		  cairn_sql_text(row, 4, out->email, sizeof(out->email));
	return ok ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static enum cairn_status account_one(sqlite3_stmt *stmt, struct cairn_index_account *out)
{
	enum cairn_status status = cairn_sql_find(stmt);
	return status == CAIRN_OK ? account_columns(stmt, out) : status;
}

enum cairn_status cairn_sqlite_account(struct cairn_index *ix, const char *name, struct cairn_index_account *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_ACCOUNT];
	cairn_sql_bind_text(stmt, 1, name);
	return account_one(stmt, out);
}

enum cairn_status cairn_sqlite_account_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_account *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_ACCOUNT_BY_ID];
	sqlite3_bind_int64(stmt, 1, id);
	return account_one(stmt, out);
}

enum cairn_status cairn_sqlite_each_account(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					    void (*visit)(void *ctx, const struct cairn_index_account *account),
					    void *ctx, int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_ACCOUNT];
	uint32_t page = cairn_sqlite_page(stmt, from_id, limit);
	struct cairn_index_account account = {.id = from_id};
	for (uint32_t n = 0; n < page; n++) {
		status = account_one(stmt, &account);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		account.room = cairn_quota_room(stmt, 7);
		visit(ctx, &account);
	}
	*next_id = account.id;
	return CAIRN_OK;
}

enum cairn_status cairn_sqlite_role(struct cairn_index *ix, int64_t organisation, int64_t user,
				    enum cairn_index_role *role)
{
	*role = CAIRN_INDEX_ROLE_NONE;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_ROLE];
	sqlite3_bind_int64(stmt, 1, organisation);
	sqlite3_bind_int64(stmt, 2, user);
	bool row;
	status = cairn_sql_step(stmt, &row);
	if (status == CAIRN_OK && row)
		*role = (enum cairn_index_role)sqlite3_column_int64(stmt, 0);
	return status;
}

static enum cairn_status account_each_membership(struct cairn_index *ix, enum cairn_reader_stmt which, int64_t of,
						 int64_t from_id, cairn_index_visit_member *visit, void *ctx,
						 int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[which];
	uint32_t page = cairn_sqlite_page(stmt, from_id, 0);
	sqlite3_bind_int64(stmt, 3, of);
	struct cairn_index_account account = {.id = from_id};
	for (uint32_t n = 0; n < page; n++) {
		status = account_one(stmt, &account);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		visit(ctx, &account, (enum cairn_index_role)sqlite3_column_int64(stmt, 7));
	}
	*next_id = account.id;
	return CAIRN_OK;
}

enum cairn_status cairn_sqlite_each_member(struct cairn_index *ix, int64_t organisation, int64_t from_id,
					   cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, CAIRN_READ_EACH_MEMBER, organisation, from_id, visit, ctx, next_id);
}

enum cairn_status cairn_sqlite_each_organisation(struct cairn_index *ix, int64_t user, int64_t from_id,
						 cairn_index_visit_member *visit, void *ctx, int64_t *next_id)
{
	return account_each_membership(ix, CAIRN_READ_EACH_ORGANISATION, user, from_id, visit, ctx, next_id);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_tx_add_account(struct cairn_tx *tx, struct cairn_index_add_account *add)
{
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_ADD_ACCOUNT];
	sqlite3_bind_int64(stmt, 1, (int64_t)add->kind);
	cairn_sql_bind_text(stmt, 2, add->name);
	cairn_sql_bind_text(stmt, 3, add->fullname);
	cairn_sql_bind_text(stmt, 4, add->email);
	sqlite3_bind_int64(stmt, 5, cairn_clock_unix_s());
	enum cairn_status status = cairn_sql_run(stmt);
	if (status != CAIRN_OK)
		return status;
	if (sqlite3_changes(tx->db) == 0)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "account.known", CAIRN_NO_OFFSET,
				  "there is an account of this name already, or its name is too long; take another");
	add->id = sqlite3_last_insert_rowid(tx->db);
	return CAIRN_OK;
}

/* @param[out] id  0: there is no such account of this kind (0: of either)
 * @param[out] disabled  may be NULL */
static enum cairn_status account_find(struct cairn_tx *tx, const char *name, int kind, int64_t *id, bool *disabled)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = tx->stmt[CAIRN_TX_FIND_ACCOUNT];
	cairn_sql_bind_text(find, 1, name);
	bool row;
	*id = 0;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK || !row || (kind != 0 && sqlite3_column_int64(find, 1) != kind))
		return status;
	*id = sqlite3_column_int64(find, 0);
	if (disabled)
		*disabled = sqlite3_column_type(find, 2) != SQLITE_NULL;
	return CAIRN_OK;
}

enum cairn_status cairn_tx_disable_account(struct cairn_tx *tx, struct cairn_index_disable_account *disable)
{
	int64_t id;
	bool disabled = false;
	disable->changed = false;
	enum cairn_status status = account_find(tx, disable->name, 0, &id, &disabled);
	if (status != CAIRN_OK)
		return status;
	if (id == 0)
		return cairn_fail(&disable->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no account of this name");
	/* Since when it is so first is what counts. */
	if (disabled == disable->disabled)
		return CAIRN_OK;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_DISABLE_ACCOUNT];
	sqlite3_bind_int64(stmt, 1, id);
	if (disable->disabled)
		sqlite3_bind_int64(stmt, 2, cairn_clock_unix_s());
	else
		sqlite3_bind_null(stmt, 2);
	disable->changed = true;
	return cairn_sql_run(stmt);
}

/* Without an admin nobody but an operator could say who belongs to it. */
static enum cairn_status account_check_admin(struct cairn_tx *tx, int64_t organisation, int64_t user,
					     struct cairn_index_set_member *set)
{
	bool last = false;
	if (!set->keeps_admin || set->role == CAIRN_INDEX_ROLE_ADMIN)
		return CAIRN_OK;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = tx->stmt[CAIRN_TX_LAST_ADMIN];
	sqlite3_bind_int64(find, 1, organisation);
	sqlite3_bind_int64(find, 2, user);
	sqlite3_bind_int64(find, 3, CAIRN_INDEX_ROLE_ADMIN);
	enum cairn_status status = cairn_sql_step(find, &last);
	if (status != CAIRN_OK || !last)
		return status;
	return cairn_fail(&set->write.diag, CAIRN_E_CONFLICT, "member.last_admin", CAIRN_NO_OFFSET,
			  "\"%s\" is the only admin of \"%s\": make somebody else one before, or ask an operator",
			  set->user, set->organisation);
}

enum cairn_status cairn_tx_set_member(struct cairn_tx *tx, struct cairn_index_set_member *set)
{
	int64_t organisation, user;
	enum cairn_status status = account_find(tx, set->organisation, CAIRN_INDEX_ORGANISATION, &organisation, NULL);
	if (status == CAIRN_OK && organisation == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "account.unknown", CAIRN_NO_OFFSET,
				  "there is no organisation of this name");
	if (status == CAIRN_OK)
		status = account_find(tx, set->user, CAIRN_INDEX_USER, &user, NULL);
	if (status == CAIRN_OK && user == 0)
		return cairn_fail(&set->write.diag, CAIRN_E_NOT_FOUND, "user.unknown", CAIRN_NO_OFFSET,
				  "there is no user of this name");
	if (status == CAIRN_OK)
		status = account_check_admin(tx, organisation, user, set);
	if (status != CAIRN_OK)
		return status;
	bool drop = set->role == CAIRN_INDEX_ROLE_NONE;
	sqlite3_stmt *stmt = tx->stmt[drop ? CAIRN_TX_DROP_MEMBERSHIP : CAIRN_TX_SET_MEMBERSHIP];
	sqlite3_bind_int64(stmt, 1, organisation);
	sqlite3_bind_int64(stmt, 2, user);
	if (!drop)
		sqlite3_bind_int64(stmt, 3, (int64_t)set->role);
	status = cairn_sql_run(stmt);
	set->changed = status == CAIRN_OK && sqlite3_changes(tx->db) > 0;
	return status;
}
