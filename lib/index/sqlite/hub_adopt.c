/* Gives files of one repository to another, with the claims: proved ones stay proved, others become
 * CAIRN_INDEX_COPIED. */
#include "index/sqlite/commit.h"

/* A claim that is not false. */
struct adopt_claim {
	int64_t file; /* 0: no such claim */
	enum cairn_index_belief belief;
};

/* Skips a file that the source lacks: its commit reports it. */
static enum cairn_status adopt_by_sha256(struct cairn_tx *tx, const uint8_t sha256[static CAIRN_SHA256_BYTES],
					 int64_t source, struct adopt_claim *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &CAIRN_TX_FIND_CLAIMED);
	*out = (struct adopt_claim){0};
	cairn_sql_bind_blob(find, 1, sha256, CAIRN_SHA256_BYTES);
	sqlite3_bind_int64(find, 2, source);
	enum cairn_status status = cairn_sql_find(find);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	out->file = sqlite3_column_int64(find, 0);
	out->belief = (enum cairn_index_belief)sqlite3_column_int(find, 2);
	return CAIRN_OK;
}

enum cairn_status cairn_tx_adopt_operation(struct cairn_tx *tx, const struct cairn_index_operation *operation,
					   int64_t source, int64_t owner)
{
	struct adopt_claim claim;
	if (operation->kind != CAIRN_INDEX_PUT_FILE)
		return CAIRN_OK;
	enum cairn_status status = adopt_by_sha256(tx, operation->sha256, source, &claim);
	if (status != CAIRN_OK || claim.file == 0)
		return status;
	return cairn_tx_copy_claim(tx, claim.file, owner, operation->sha256, claim.belief);
}

enum cairn_status cairn_tx_adopt_named(struct cairn_tx *tx, const struct cairn_index_add_repo *add, int64_t owner,
				       struct cairn_diag *diag)
{
	int64_t source = 0;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->source, &source, diag);
	for (uint32_t i = 0; i < add->n && status == CAIRN_OK; i++)
		status = cairn_tx_adopt_operation(tx, &add->operations[i], source, owner);
	return status;
}

static CAIRN_WRITES(TX_FIND_CLAIM,
		    "SELECT f.id, w.proof FROM file f JOIN file_owner w ON w.file = f.id AND w.scope = ?2"
		    " AND w.sha256 = ?3 WHERE f.hash = ?1 AND w.proof > 0");

static enum cairn_status adopt_find(struct cairn_tx *tx, const struct cairn_index_adopted *file, int64_t owner,
				    struct adopt_claim *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_FIND_CLAIM);
	*out = (struct adopt_claim){0};
	cairn_sql_bind_hash(find, 1, &file->file);
	sqlite3_bind_int64(find, 2, owner);
	cairn_sql_bind_blob(find, 3, file->sha256, sizeof(file->sha256));
	enum cairn_status status = cairn_sql_find(find);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	out->file = sqlite3_column_int64(find, 0);
	out->belief = (enum cairn_index_belief)sqlite3_column_int(find, 1);
	return CAIRN_OK;
}

/* Tests at the end whether the claim was stored: claims on a file are limited, and false ones are refused. */
static enum cairn_status adopt_file(struct cairn_tx *tx, struct cairn_index_adopted *file, int64_t source,
				    int64_t owner)
{
	struct adopt_claim claim;
	enum cairn_status status = adopt_find(tx, file, source, &claim);
	if (status == CAIRN_OK && claim.file != 0)
		status = cairn_tx_copy_claim(tx, claim.file, owner, file->sha256, claim.belief);
	if (status == CAIRN_OK && claim.file != 0)
		status = adopt_find(tx, file, owner, &claim);
	file->failed = claim.file == 0;
	return status;
}

enum cairn_status cairn_tx_adopt_files(struct cairn_tx *tx, struct cairn_index_adopt_files *adopt)
{
	int64_t source = 0, owner = 0;
	if (adopt->n > CAIRN_INDEX_ADOPTED_MAX)
		return CAIRN_E_LIMIT;
	enum cairn_status status = cairn_records_find_repo(&tx->records, adopt->source, &source, &adopt->write.diag);
	if (status == CAIRN_OK)
		status = cairn_records_find_repo(&tx->records, adopt->repo, &owner, &adopt->write.diag);
	for (uint32_t i = 0; i < adopt->n && status == CAIRN_OK; i++)
		status = adopt_file(tx, &adopt->files[i], source, owner);
	return status;
}
