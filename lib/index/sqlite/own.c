/* The files of owners. */
#include "index/sqlite/write.h"

#include "base/sum.h"

/* Adds an owner without a claim, unless the file has this owner. */
static CAIRN_WRITES(TX_ADD_OWNER, "INSERT INTO file_owner(file, scope, sha256, at) SELECT ?1, ?2, x'', unixepoch()"
				  " WHERE NOT EXISTS(SELECT 1 FROM file_owner WHERE file = ?1 AND scope = ?2)");

enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t owner, bool *added)
{
	enum cairn_status status = cairn_tx_run(tx, &TX_ADD_OWNER, CAIRN_ARGS(cairn_db_int(file), cairn_db_int(owner)));
	*added = status == CAIRN_OK && sqlite3_changes(tx->db) > 0;
	return *added ? cairn_tx_count_file(tx, owner, file, 1) : status;
}

/* Drops an owner's row without a claim, which exists only while there is no claim. */
static enum cairn_status own_drop_no_claim(struct cairn_tx *tx, int64_t file, int64_t owner)
{
	return cairn_tx_run(tx, &CAIRN_TX_DROP_NO_CLAIM, CAIRN_ARGS(cairn_db_int(file), cairn_db_int(owner)));
}

/* Is owner ?2 below the limit of claims on file ?1? */
#define TX_HAS_ROOM                                                                                                    \
	"(SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND sha256 > x'' AND proof > 0) < ?4"         \
	" AND (SELECT count(*) FROM file_owner WHERE file = ?1 AND scope = ?2 AND proof = 0) < ?5"

/* Adds a claim, unless the owner has reached the limit of claims on that file. */
static CAIRN_WRITES(TX_ADD_CLAIM, "INSERT OR IGNORE INTO file_owner(file, scope, sha256, at)"
				  " SELECT ?1, ?2, ?3, unixepoch() WHERE " TX_HAS_ROOM);

enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
				 const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added)
{
	enum cairn_status status = cairn_tx_own(tx, file, owner, added);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(tx, &TX_ADD_CLAIM,
			      CAIRN_ARGS(cairn_db_int(file), cairn_db_int(owner),
					 cairn_db_bytes(sha256, CAIRN_SHA256_BYTES),
					 cairn_db_int(CAIRN_INDEX_CLAIMS_MAX), cairn_db_int(CAIRN_INDEX_LIES_MAX)));
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	*added = true;
	return own_drop_no_claim(tx, file, owner);
}

/* Gives entries the proved file; an entry keeps the size in its pointer. */
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
	return cairn_tx_run(
		tx, &TX_FOLLOW_PROOF,
		CAIRN_ARGS(cairn_db_bytes(sha256, CAIRN_SHA256_BYTES), cairn_db_int(owner), cairn_db_int(file)));
}

static CAIRN_WRITES(TX_ADD_COPIED, "INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
				   " SELECT ?1, ?2, ?3, unixepoch(), iif(?6 = 3, 3, 1), iif(?6 = 3, NULL, 0)"
				   " WHERE ?6 = 3 OR (" TX_HAS_ROOM ") ON CONFLICT DO UPDATE SET proof = 3, due = NULL"
				   " WHERE excluded.proof = 3");

enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
				      const uint8_t sha256[static CAIRN_SHA256_BYTES], enum cairn_index_belief belief)
{
	bool added;
	enum cairn_status status = cairn_tx_own(tx, file, owner, &added);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(tx, &TX_ADD_COPIED,
			      CAIRN_ARGS(cairn_db_int(file), cairn_db_int(owner),
					 cairn_db_bytes(sha256, CAIRN_SHA256_BYTES),
					 cairn_db_int(CAIRN_INDEX_CLAIMS_MAX), cairn_db_int(CAIRN_INDEX_LIES_MAX),
					 cairn_db_int(belief)));
	if (status == CAIRN_OK)
		status = own_drop_no_claim(tx, file, owner);
	return status == CAIRN_OK && belief == CAIRN_INDEX_PROVED ? cairn_tx_follow_proof(tx, file, owner, sha256)
								  : status;
}

static CAIRN_WRITES(TX_HAS_FILE_OWNER, "SELECT 1 FROM file_owner WHERE file = ?1 LIMIT 1");

enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file)
{
	bool owned;
	cairn_advance(&tx->counts.collection);
	enum cairn_status status = cairn_tx_has(tx, &TX_HAS_FILE_OWNER, CAIRN_ARGS(cairn_db_int(file)), &owned);
	return status == CAIRN_OK && !owned ? cairn_tx_drop_file(tx, file) : status;
}

static CAIRN_WRITES(TX_DISOWN, "DELETE FROM file_owner WHERE file = ?1 AND scope = ?2");

enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t owner)
{
	enum cairn_status status = cairn_tx_run(tx, &TX_DISOWN, CAIRN_ARGS(cairn_db_int(file), cairn_db_int(owner)));
	if (status != CAIRN_OK || sqlite3_changes(tx->db) == 0)
		return status;
	status = cairn_tx_count_file(tx, owner, file, -1);
	return status == CAIRN_OK ? cairn_tx_was_disowned(tx, file) : status;
}
