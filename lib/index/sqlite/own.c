/* The files of owners. */
#include "index/sqlite/write.h"

#include "base/sum.h"

/* Adds an owner without a claim, unless the file has this owner. */
static CAIRN_WRITES(TX_ADD_OWNER, "INSERT INTO file_owner(file, scope, sha256, at) SELECT ?1, ?2, x'', unixepoch()"
				  " WHERE NOT EXISTS(SELECT 1 FROM file_owner WHERE file = ?1 AND scope = ?2)");

enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t owner, bool *added)
{
	sqlite3_stmt *own = cairn_tx_stmt(tx, &TX_ADD_OWNER);
	sqlite3_bind_int64(own, 1, file);
	sqlite3_bind_int64(own, 2, owner);
	enum cairn_status status = cairn_sql_run(own);
	*added = status == CAIRN_OK && sqlite3_changes(tx->db) > 0;
	return *added ? cairn_tx_count_file(tx, owner, file, 1) : status;
}

/* An owner's row without a claim exists only while there is no claim. */
static enum cairn_status own_drop_no_claim(struct cairn_tx *tx, int64_t file, int64_t owner)
{
	sqlite3_stmt *drop = cairn_tx_stmt(tx, &CAIRN_TX_DROP_NO_CLAIM);
	sqlite3_bind_int64(drop, 1, file);
	sqlite3_bind_int64(drop, 2, owner);
	return cairn_sql_run(drop);
}

/* Has owner ?2 room for another claim on file ?1? */
#define TX_HAS_ROOM                                                                                                    \
	"(SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND sha256 > x'' AND proof > 0) < ?4"         \
	" AND (SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND proof = 0) < ?5"

/* Adds a claim, unless the owner has reached the limit of claims on that file. */
static CAIRN_WRITES(TX_ADD_CLAIM, "INSERT OR IGNORE INTO file_owner(file, scope, sha256, at)"
				  " SELECT ?1, ?2, ?3, unixepoch() WHERE " TX_HAS_ROOM);

enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
				 const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added)
{
	sqlite3_stmt *add = cairn_tx_stmt(tx, &TX_ADD_CLAIM);
	enum cairn_status status = cairn_tx_own(tx, file, owner, added);
	if (status != CAIRN_OK)
		return status;
	sqlite3_bind_int64(add, 1, file);
	sqlite3_bind_int64(add, 2, owner);
	cairn_sql_bind_blob(add, 3, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(add, 4, CAIRN_INDEX_CLAIMS_MAX);
	sqlite3_bind_int64(add, 5, CAIRN_INDEX_LIES_MAX);
	status = cairn_sql_run(add);
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	*added = true;
	return own_drop_no_claim(tx, file, owner);
}

/* An entry keeps the size in its pointer. */
static CAIRN_WRITES(
	TX_FOLLOW_PROOF,
	"UPDATE content SET file = ?3 WHERE sha256 = ?1 AND repo IN (SELECT id FROM repo WHERE scope = ?2)"
	" AND size = (SELECT size FROM file WHERE id = ?3)"
	" AND file IN (SELECT w.file FROM (" CAIRN_CLAIM_LAST(
		"?2") ") w WHERE w.proof < 3)"
		      " AND EXISTS(SELECT 1 FROM file_owner w WHERE w.file = ?3 AND w.scope = ?2 AND w.sha256 = ?1"
		      " AND w.proof = 3)");

enum cairn_status cairn_tx_follow_proof(struct cairn_tx *tx, int64_t file, int64_t owner,
					const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	sqlite3_stmt *follow = cairn_tx_stmt(tx, &TX_FOLLOW_PROOF);
	cairn_sql_bind_blob(follow, 1, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(follow, 2, owner);
	sqlite3_bind_int64(follow, 3, file);
	return cairn_sql_run(follow);
}

static CAIRN_WRITES(TX_ADD_COPIED, "INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
				   " SELECT ?1, ?2, ?3, unixepoch(), iif(?6 = 3, 3, 1), iif(?6 = 3, NULL, 0)"
				   " WHERE ?6 = 3 OR (" TX_HAS_ROOM ") ON CONFLICT DO UPDATE SET proof = 3, due = NULL"
				   " WHERE excluded.proof = 3");

enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
				      const uint8_t sha256[static CAIRN_SHA256_BYTES], enum cairn_index_belief belief)
{
	bool added;
	sqlite3_stmt *add = cairn_tx_stmt(tx, &TX_ADD_COPIED);
	enum cairn_status status = cairn_tx_own(tx, file, owner, &added);
	if (status != CAIRN_OK)
		return status;
	sqlite3_bind_int64(add, 1, file);
	sqlite3_bind_int64(add, 2, owner);
	cairn_sql_bind_blob(add, 3, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(add, 4, CAIRN_INDEX_CLAIMS_MAX);
	sqlite3_bind_int64(add, 5, CAIRN_INDEX_LIES_MAX);
	sqlite3_bind_int64(add, 6, belief);
	status = cairn_sql_run(add);
	if (status == CAIRN_OK)
		status = own_drop_no_claim(tx, file, owner);
	return status == CAIRN_OK && belief == CAIRN_INDEX_PROVED ? cairn_tx_follow_proof(tx, file, owner, sha256)
								  : status;
}

static CAIRN_WRITES(TX_HAS_FILE_OWNER, "SELECT 1 FROM file_owner WHERE file = ?1 LIMIT 1");

enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_HAS_FILE_OWNER);
	bool owned = true;
	cairn_advance(&tx->counts.collection);
	sqlite3_bind_int64(stmt, 1, file);
	enum cairn_status status = cairn_sql_step(stmt, &owned);
	return status == CAIRN_OK && !owned ? cairn_tx_drop_file(tx, file) : status;
}

static CAIRN_WRITES(TX_DISOWN, "DELETE FROM file_owner WHERE file = ?1 AND scope = ?2");

enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t owner)
{
	sqlite3_stmt *drop = cairn_tx_stmt(tx, &TX_DISOWN);
	sqlite3_bind_int64(drop, 1, file);
	sqlite3_bind_int64(drop, 2, owner);
	enum cairn_status status = cairn_sql_run(drop);
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	status = cairn_tx_count_file(tx, owner, file, -1);
	return status == CAIRN_OK ? cairn_tx_was_disowned(tx, file) : status;
}
