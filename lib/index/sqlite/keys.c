/* API keys: only their digests are here. */
#include "index/operate.h"
#include "index/sqlite/engine.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static enum cairn_status keys_check(struct cairn_tx *tx, struct cairn_index_add_key *add)
{
	if (add->good_max == 0 && add->kept_max == 0)
		return CAIRN_OK;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *count = tx->stmt[CAIRN_TX_COUNT_KEYS];
	sqlite3_bind_int64(count, 1, add->account);
	sqlite3_bind_int64(count, 2, cairn_clock_unix_s());
	enum cairn_status status = cairn_sql_find(count);
	return status == CAIRN_OK
		       ? cairn_index_key_check(add, sqlite3_column_int64(count, 0), sqlite3_column_int64(count, 1))
		       : status;
}

enum cairn_status cairn_tx_add_key(struct cairn_tx *tx, struct cairn_index_add_key *add)
{
	enum cairn_status status = keys_check(tx, add);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_ADD_KEY];
	cairn_sql_bind_blob(stmt, 1, add->digest, sizeof(add->digest));
	cairn_sql_bind_text(stmt, 2, add->name);
	cairn_sql_bind_text(stmt, 3, add->repo);
	cairn_sql_bind_text(stmt, 4, add->scopes);
	sqlite3_bind_int64(stmt, 5, cairn_clock_unix_s());
	if (add->account)
		sqlite3_bind_int64(stmt, 6, add->account);
	else
		sqlite3_bind_null(stmt, 6);
	if (add->expires_unix_s)
		sqlite3_bind_int64(stmt, 7, add->expires_unix_s);
	else
		sqlite3_bind_null(stmt, 7);
	status = cairn_sql_run(stmt);
	if (status != CAIRN_OK)
		return status;
	if (sqlite3_changes(tx->db) == 0)
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "key.known", CAIRN_NO_OFFSET,
				  "this key is known already, or its name is too long; make another");
	add->id = sqlite3_last_insert_rowid(tx->db);
	return CAIRN_OK;
}

enum cairn_status cairn_tx_revoke_key(struct cairn_tx *tx, struct cairn_index_revoke_key *revoke)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = tx->stmt[CAIRN_TX_FIND_KEY];
	sqlite3_bind_int64(find, 1, revoke->id);
	bool row;
	revoke->revoked = false;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK)
		return status;
	if (!row)
		return cairn_fail(&revoke->write.diag, CAIRN_E_NOT_FOUND, "key.unknown", CAIRN_NO_OFFSET,
				  "there is no key of this number");
	/* When it was revoked first is what counts. */
	if (sqlite3_column_int64(find, 0) != 0)
		return CAIRN_OK;
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_REVOKE_KEY];
	sqlite3_bind_int64(stmt, 1, revoke->id);
	sqlite3_bind_int64(stmt, 2, cairn_clock_unix_s());
	revoke->revoked = true;
	return cairn_sql_run(stmt);
}

enum cairn_status cairn_tx_use_key(struct cairn_tx *tx, struct cairn_index_use_key *use)
{
	sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_USE_KEY];
	sqlite3_bind_int64(stmt, 1, use->id);
	sqlite3_bind_int64(stmt, 2, use->used_unix_s);
	return cairn_sql_run(stmt);
}

static bool keys_columns(sqlite3_stmt *row, struct cairn_index_key *out)
{
	struct cairn_hash digest;
	*out = (struct cairn_index_key){
		.id = sqlite3_column_int64(row, 0),
		.created_unix_s = sqlite3_column_int64(row, 5),
		.revoked_unix_s = sqlite3_column_int64(row, 6),
		.account = sqlite3_column_int64(row, 7),
		.expires_unix_s = sqlite3_column_int64(row, 9),
		.used_unix_s = sqlite3_column_int64(row, 10),
	};
	if (!cairn_sql_hash(row, 1, &digest))
		return false;
	memcpy(out->digest, digest.b, sizeof(out->digest));
	return cairn_sql_text(row, 2, out->name, sizeof(out->name)) &&
	       cairn_sql_text(row, 3, out->repo, sizeof(out->repo)) &&
	       cairn_sql_text(row, 4, out->scopes, sizeof(out->scopes)) &&
	       cairn_sql_text(row, 8, out->account_name, sizeof(out->account_name));
}

enum cairn_status cairn_sqlite_key(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
				   struct cairn_index_key *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_KEY];
	cairn_sql_bind_blob(stmt, 1, digest, CAIRN_SHA256_BYTES);
	status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	return keys_columns(stmt, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_sqlite_key_is_good(struct cairn_index *ix, int64_t id, bool *good)
{
	*good = false;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_KEY_IS_GOOD];
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, cairn_clock_unix_s());
	return cairn_sql_step(stmt, good);
}

enum cairn_status cairn_sqlite_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_key *key), void *ctx,
					int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_KEY];
	uint32_t page = cairn_sqlite_page(stmt, from_id, limit);
	struct cairn_index_key key = {.id = from_id};
	for (uint32_t n = 0; n < page; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		if (!keys_columns(stmt, &key))
			return CAIRN_E_DAMAGED;
		visit(ctx, &key);
	}
	*next_id = key.id;
	return CAIRN_OK;
}
