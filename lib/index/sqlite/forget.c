/* Removes the ownership of files. */
#include "index/sqlite/write.h"

/* @param[out] id  0: no such file */
static enum cairn_status forget_find(struct cairn_tx *tx, const struct cairn_hash *hash, int64_t *id)
{
	return cairn_tx_number(tx, &CAIRN_TX_FIND_FILE, CAIRN_ARGS(cairn_db_hash(hash)), id);
}

static CAIRN_WRITES(TX_DROP_FILE_OWNER,
		    "DELETE FROM file_owner WHERE file = ?1 AND scope = (SELECT id FROM scope WHERE name = ?2)");
static CAIRN_WRITES(TX_DROP_FILE_OWNERS, "DELETE FROM file_owner WHERE file = ?1");

/* Removes the file from pull requests of the repository, or of the bucket that holds it for them. */
static CAIRN_WRITES(TX_DROP_FILE_PROPOSED, "DELETE FROM proposed WHERE file = ?1 AND (scope = (SELECT id FROM scope"
					   " WHERE name = ?2) OR holder = (SELECT id FROM scope WHERE name = ?2))");
static CAIRN_WRITES(TX_DROP_ALL_PROPOSED, "DELETE FROM proposed WHERE file = ?1");

/* @param[in,out] changed  set if there was a row */
static enum cairn_status forget_rows(struct cairn_tx *tx, const struct cairn_statement *of, int64_t id,
				     const char *owner, bool *changed)
{
	sqlite3_stmt *drop = cairn_tx_stmt(tx, of);
	sqlite3_bind_int64(drop, 1, id);
	if (owner)
		cairn_sql_bind_text(drop, 2, owner);
	enum cairn_status status = cairn_sql_run(drop);
	*changed = *changed || (status == CAIRN_OK && sqlite3_changes(tx->db) > 0);
	return status;
}

/* @param[out] changed  the file was the owner's, or in a pull request of the owner */
static enum cairn_status forget_owner(struct cairn_tx *tx, int64_t id, const char *owner, bool *changed)
{
	*changed = false;
	enum cairn_status status =
		forget_rows(tx, owner ? &TX_DROP_FILE_PROPOSED : &TX_DROP_ALL_PROPOSED, id, owner, changed);
	return status == CAIRN_OK
		       ? forget_rows(tx, owner ? &TX_DROP_FILE_OWNER : &TX_DROP_FILE_OWNERS, id, owner, changed)
		       : status;
}

enum cairn_status cairn_tx_forget_file(struct cairn_tx *tx, struct cairn_index_forget_file *forget)
{
	int64_t id;
	forget->forgotten = false;
	enum cairn_status status = forget_find(tx, &forget->hash, &id);
	if (status != CAIRN_OK || id == 0)
		return status;
	status = cairn_tx_drop_objects(tx, id, forget->owner);
	if (status == CAIRN_OK)
		status = forget_owner(tx, id, forget->owner, &forget->forgotten);
	if (status != CAIRN_OK || !forget->forgotten)
		return status;
	return cairn_tx_was_disowned(tx, id);
}
