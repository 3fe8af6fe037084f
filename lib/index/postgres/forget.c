/* Files that are taken from an owner, or given to one more. */
#include "index/postgres/write.h"

#include "base/clock.h"

static const char FORGET_FIND[] = "SELECT id FROM file WHERE hash = $1";
static const char FORGET_OWNER[] = "DELETE FROM file_owner WHERE file = $1 AND ($2::text IS NULL OR scope = (SELECT id "
				   "FROM scope WHERE name = $2))";
static const char FORGET_IS_OWNED[] = "SELECT 1 FROM file_owner WHERE file = $1 LIMIT 1";
static const char FORGET_SHARE[] = "INSERT INTO file_owner(file, scope, sha256, at) SELECT $1, $2, '', $3"
				   " WHERE NOT EXISTS(SELECT 1 FROM file_owner WHERE file = $1 AND scope = $2)";

/* @param[out] id  0: there is no such file */
static enum cairn_status forget_find(struct cairn_pg_tx *tx, const struct cairn_hash *hash, int64_t *id)
{
	const PGresult *r;
	struct cairn_pg_args args = {0};
	cairn_pg_hash(&args, hash);
	enum cairn_status status = cairn_pg_ask(&tx->pg, FORGET_FIND, &args, &r);
	*id = status == CAIRN_OK && PQntuples(r) > 0 ? cairn_pg_get_int8(r, 0, 0) : 0;
	return status;
}

enum cairn_status cairn_pg_forget_file(struct cairn_pg_tx *tx, struct cairn_index_forget_file *forget)
{
	int64_t id, n = 0;
	const PGresult *r;
	struct cairn_pg_args args = {0}, file = {0};
	forget->forgotten = false;
	enum cairn_status status = forget_find(tx, &forget->hash, &id);
	if (status != CAIRN_OK || id == 0)
		return status;
	cairn_pg_int8(&args, id);
	cairn_pg_text(&args, forget->owner);
	status = cairn_pg_run(&tx->pg, FORGET_OWNER, &args, &n);
	forget->forgotten = status == CAIRN_OK && n > 0;
	if (!forget->forgotten)
		return status;
	tx->counts.collection++;
	cairn_pg_int8(&file, id);
	status = cairn_pg_ask(&tx->pg, FORGET_IS_OWNED, &file, &r);
	return status == CAIRN_OK && PQntuples(r) == 0 ? cairn_pg_drop_file(tx, id) : status;
}

enum cairn_status cairn_pg_share_file(struct cairn_pg_tx *tx, struct cairn_index_share_file *share)
{
	int64_t id, owner, n = 0;
	struct cairn_pg_args args = {0};
	share->shared = false;
	enum cairn_status status = forget_find(tx, &share->hash, &id);
	if (status == CAIRN_OK && id == 0)
		return cairn_fail(&share->write.diag, CAIRN_E_NOT_FOUND, "file.unknown", CAIRN_NO_OFFSET,
				  "there is no such file to share");
	if (status == CAIRN_OK)
		status = cairn_pg_scope(tx, share->owner, &owner);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&share->write.diag, status, "repo.gone", CAIRN_NO_OFFSET,
				  "there is no such repository, or it was deleted");
	if (status != CAIRN_OK)
		return status;
	cairn_pg_int8(&args, id);
	cairn_pg_int8(&args, owner);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	status = cairn_pg_run(&tx->pg, FORGET_SHARE, &args, &n);
	share->shared = status == CAIRN_OK && n > 0;
	return status;
}
