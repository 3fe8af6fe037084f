/* The files of owners. */
#include "index/sqlite/write.h"

#include "base/sum.h"

enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t scope, bool *added)
{
	sqlite3_stmt *own = tx->stmt[CAIRN_TX_ADD_OWNER];
	sqlite3_bind_int64(own, 1, file);
	sqlite3_bind_int64(own, 2, scope);
	enum cairn_status status = cairn_sql_run(own);
	*added = status == CAIRN_OK && sqlite3_changes(tx->db) > 0;
	return *added ? cairn_tx_count_file(tx, scope, file, 1) : status;
}

/* An owner's row without a claim exists only while there is no claim. */
static enum cairn_status own_drop_no_claim(struct cairn_tx *tx, int64_t file, int64_t scope)
{
	sqlite3_stmt *drop = tx->stmt[CAIRN_TX_DROP_NO_CLAIM];
	sqlite3_bind_int64(drop, 1, file);
	sqlite3_bind_int64(drop, 2, scope);
	return cairn_sql_run(drop);
}

enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t scope,
				 const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added)
{
	sqlite3_stmt *add = tx->stmt[CAIRN_TX_ADD_CLAIM];
	enum cairn_status status = cairn_tx_own(tx, file, scope, added);
	if (status != CAIRN_OK)
		return status;
	sqlite3_bind_int64(add, 1, file);
	sqlite3_bind_int64(add, 2, scope);
	cairn_sql_bind_blob(add, 3, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(add, 4, CAIRN_INDEX_CLAIMS_MAX);
	sqlite3_bind_int64(add, 5, CAIRN_INDEX_LIES_MAX);
	status = cairn_sql_run(add);
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	*added = true;
	return own_drop_no_claim(tx, file, scope);
}

enum cairn_status cairn_tx_follow_proof(struct cairn_tx *tx, int64_t file, int64_t scope,
					const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	sqlite3_stmt *follow = tx->stmt[CAIRN_TX_FOLLOW_PROOF];
	cairn_sql_bind_blob(follow, 1, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(follow, 2, scope);
	sqlite3_bind_int64(follow, 3, file);
	return cairn_sql_run(follow);
}

enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t scope,
				      const uint8_t sha256[static CAIRN_SHA256_BYTES], enum cairn_index_belief belief)
{
	bool added;
	sqlite3_stmt *add = tx->stmt[CAIRN_TX_ADD_COPIED];
	enum cairn_status status = cairn_tx_own(tx, file, scope, &added);
	if (status != CAIRN_OK)
		return status;
	sqlite3_bind_int64(add, 1, file);
	sqlite3_bind_int64(add, 2, scope);
	cairn_sql_bind_blob(add, 3, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(add, 4, CAIRN_INDEX_CLAIMS_MAX);
	sqlite3_bind_int64(add, 5, CAIRN_INDEX_LIES_MAX);
	sqlite3_bind_int64(add, 6, belief);
	status = cairn_sql_run(add);
	if (status == CAIRN_OK)
		status = own_drop_no_claim(tx, file, scope);
	return status == CAIRN_OK && belief == CAIRN_INDEX_PROVED ? cairn_tx_follow_proof(tx, file, scope, sha256)
								  : status;
}

enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = tx->stmt[CAIRN_TX_HAS_FILE_OWNER];
	bool owned = true;
	cairn_advance(&tx->counts.collection);
	sqlite3_bind_int64(stmt, 1, file);
	enum cairn_status status = cairn_sql_step(stmt, &owned);
	return status == CAIRN_OK && !owned ? cairn_tx_drop_file(tx, file) : status;
}

enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t scope)
{
	sqlite3_stmt *drop = tx->stmt[CAIRN_TX_DISOWN];
	sqlite3_bind_int64(drop, 1, file);
	sqlite3_bind_int64(drop, 2, scope);
	enum cairn_status status = cairn_sql_run(drop);
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	status = cairn_tx_count_file(tx, scope, file, -1);
	return status == CAIRN_OK ? cairn_tx_was_disowned(tx, file) : status;
}
