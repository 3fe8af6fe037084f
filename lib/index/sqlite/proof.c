/* Writes the outcomes of proofs of SHA-256. */
#include "index/proof.h"
#include "index/sqlite/engine.h"

#include <string.h>

static CAIRN_WRITES(TX_ADD_PROOF, "INSERT OR IGNORE INTO proof(file, sha256) SELECT id, ?2 FROM file"
				  " WHERE id = ?1 AND hash = ?3");

static enum cairn_status proof_add(struct cairn_tx *tx, int64_t file, const struct cairn_hash *hash,
				   const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	return cairn_tx_run(tx, &TX_ADD_PROOF,
			    CAIRN_ARGS(cairn_db_int(file), cairn_db_bytes(sha256, CAIRN_SHA256_BYTES),
				       cairn_db_bytes(hash->b, sizeof(hash->b))));
}

static CAIRN_WRITES(
	TX_RECORD_OUTCOME,
	"UPDATE file_owner SET proof = ?4, due = NULL WHERE file = (SELECT id FROM file WHERE id = ?1 AND hash = ?5)"
	" AND scope = ?2 AND sha256 = ?3");
static CAIRN_WRITES(TX_PUT_OFF_CLAIM,
		    "UPDATE file_owner SET due = ?4 WHERE file = (SELECT id FROM file WHERE id = ?1 AND hash = ?5)"
		    " AND scope = ?2 AND sha256 = ?3");

/* Removes the bytes from pull requests that name the file by a false SHA-256. */
static CAIRN_WRITES(TX_DROP_FALSE, "UPDATE content SET file = NULL WHERE file = ?1 AND sha256 = ?3 AND repo IN"
				   " (SELECT r.id FROM proposed p CROSS JOIN repo r ON r.scope = p.scope"
				   " WHERE p.file = ?1 AND p.holder = ?2)");

static enum cairn_status proof_drop_false(struct cairn_tx *tx, const struct cairn_index_outcome *o)
{
	return cairn_tx_run(tx, &TX_DROP_FALSE,
			    CAIRN_ARGS(cairn_db_int(o->file_id), cairn_db_int(o->owner_id),
				       cairn_db_bytes(o->said, sizeof(o->said))));
}

static enum cairn_status proof_record(struct cairn_tx *tx, const struct cairn_index_outcome *o, int64_t again_unix_s)
{
	enum cairn_status status = o->is_unread ? CAIRN_OK : proof_add(tx, o->file_id, &o->file, o->proof);
	bool is_true = !o->is_unread && memcmp(o->said, o->proof, sizeof(o->said)) == 0;
	sqlite3_stmt *set = cairn_tx_stmt(tx, o->is_unread ? &TX_PUT_OFF_CLAIM : &TX_RECORD_OUTCOME);
	sqlite3_bind_int64(set, 1, o->file_id);
	sqlite3_bind_int64(set, 2, o->owner_id);
	cairn_sql_bind_blob(set, 3, o->said, sizeof(o->said));
	sqlite3_bind_int64(set, 4, o->is_unread ? again_unix_s : is_true ? CAIRN_INDEX_PROVED : CAIRN_INDEX_FALSE);
	cairn_sql_bind_blob(set, 5, o->file.b, sizeof(o->file.b));
	if (status == CAIRN_OK)
		status = cairn_sql_run(set);
	if (status != CAIRN_OK || o->is_unread)
		return status;
	return is_true ? cairn_tx_follow_proof(tx, o->file_id, o->owner_id, o->said) : proof_drop_false(tx, o);
}

enum cairn_status cairn_tx_record_outcomes(struct cairn_tx *tx, struct cairn_index_record_outcomes *record)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < record->n && status == CAIRN_OK; i++)
		status = proof_record(tx, &record->outcomes[i], record->again_unix_s);
	return status;
}

static CAIRN_WRITES(TX_FIND_OWNED, "SELECT w.file, w.scope FROM file f CROSS JOIN file_owner w ON w.file = f.id"
				   " AND w.scope = (SELECT id FROM scope WHERE name = ?2) WHERE f.hash = ?1 LIMIT 1");

static enum cairn_status proof_find(struct cairn_tx *tx, const struct cairn_index_prove_file *prove, int64_t *file,
				    int64_t *owner)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_FIND_OWNED);
	cairn_sql_bind_hash(find, 1, &prove->hash);
	cairn_sql_bind_text(find, 2, prove->owner);
	enum cairn_status status = cairn_sql_find(find);
	if (status != CAIRN_OK)
		return status;
	*file = sqlite3_column_int64(find, 0);
	*owner = sqlite3_column_int64(find, 1);
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_ADD_PROVED,
		    "INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
		    " VALUES(?1, ?2, ?3, unixepoch(), 3, NULL) ON CONFLICT DO UPDATE SET proof = 3, due = NULL");

enum cairn_status cairn_tx_prove_file(struct cairn_tx *tx, struct cairn_index_prove_file *prove)
{
	int64_t file = 0, owner = 0;
	enum cairn_status status = proof_find(tx, prove, &file, &owner);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&prove->write.diag, status, "file.unknown", CAIRN_NO_OFFSET,
				  "the file was taken from its owner");
	if (status == CAIRN_OK)
		status = proof_add(tx, file, &prove->hash, prove->sha256);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *add = cairn_tx_stmt(tx, &TX_ADD_PROVED), *drop = cairn_tx_stmt(tx, &CAIRN_TX_DROP_NO_CLAIM);
	sqlite3_bind_int64(add, 1, file);
	sqlite3_bind_int64(add, 2, owner);
	cairn_sql_bind_blob(add, 3, prove->sha256, sizeof(prove->sha256));
	status = cairn_sql_run(add);
	sqlite3_bind_int64(drop, 1, file);
	sqlite3_bind_int64(drop, 2, owner);
	if (status == CAIRN_OK)
		status = cairn_sql_run(drop);
	return status == CAIRN_OK ? cairn_tx_follow_proof(tx, file, owner, prove->sha256) : status;
}
