/* Removes the ownership of files. */
#include "index/postgres/own.h"

#include "base/sum.h"

static const char FORGET_FIND[] = "SELECT id FROM file WHERE hash = $1";
#define FORGET_SCOPE "($2::text IS NULL OR scope = (SELECT id FROM scope WHERE name = $2))"
/* Run before an owner, or everybody, loses a file: removes it from counts, rows of buckets and contents. */
static const char *const FORGET_USES[] = {
	"UPDATE repo SET stored = stored - (SELECT " CAIRN_POSTGRES_FILE_COUNTS(
		"size") " FROM file WHERE id = $1) WHERE scope ="
			" ANY(ARRAY(SELECT scope FROM file_owner WHERE file = $1 AND " FORGET_SCOPE "))",
	"UPDATE scope SET stored = stored - (SELECT " CAIRN_POSTGRES_FILE_COUNTS(
		"size") " FROM file WHERE id = $1) WHERE quota IS NOT NULL AND id ="
			" ANY(ARRAY(SELECT scope FROM file_owner WHERE file = $1)) AND ($2::text IS NULL OR name = $2)",
	"UPDATE repo SET files = files - n.n, bytes = bytes - n.n * (SELECT size FROM file WHERE id = $1),"
	" stored = stored - n.counts FROM (SELECT repo, count(*) AS n, sum(" CAIRN_SQL_OBJECT_COUNTS(
		POSTGRES) ")::bigint AS counts FROM object WHERE file = $1 GROUP BY repo) n"
			  " WHERE n.repo = repo.id AND " FORGET_SCOPE,
	"DELETE FROM object WHERE file = $1 AND repo IN (SELECT id FROM repo WHERE " FORGET_SCOPE ")",
	"UPDATE content SET file = NULL WHERE file = $1 AND repo IN (SELECT id FROM repo WHERE " FORGET_SCOPE ")",
	"DELETE FROM mirror_part p USING content c WHERE p.file = $1 AND c.id = p.content AND c.repo IN (SELECT id FROM"
	" repo WHERE " FORGET_SCOPE ")",
	/* pull requests that name the owner's file, in repositories that do not have it themselves */
	"UPDATE content SET file = NULL WHERE file = $1 AND repo IN (SELECT r.id FROM proposed p JOIN repo r"
	" ON r.scope = p.scope WHERE p.file = $1 AND p.holder = (SELECT id FROM scope WHERE name = $2)"
	" AND NOT EXISTS(SELECT 1 FROM file_owner o WHERE o.file = $1 AND o.scope = p.scope))",
};
/* Removes the file from pull requests of the repository, or of the bucket that holds it for them. */
static const char FORGET_PROPOSED[] = "DELETE FROM proposed WHERE file = $1 AND ($2::text IS NULL OR scope ="
				      " (SELECT id FROM scope WHERE name = $2) OR holder ="
				      " (SELECT id FROM scope WHERE name = $2))";
static const char FORGET_OWNER[] = "DELETE FROM file_owner WHERE file = $1 AND " FORGET_SCOPE;

/* @param[out] id  0: no such file */
static enum cairn_status forget_find(struct cairn_pg_tx *tx, const struct cairn_hash *hash, int64_t *id)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, FORGET_FIND, CAIRN_ARGS(cairn_db_hash(hash)), &r);
	*id = status == CAIRN_OK && PQntuples(r) > 0 ? cairn_pg_get_int8(r, 0, 0) : 0;
	return status;
}

enum cairn_status cairn_pg_forget_file(struct cairn_pg_tx *tx, struct cairn_index_forget_file *forget)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array file = {0};
	int64_t id;
	forget->forgotten = false;
	enum cairn_status status = forget_find(tx, &forget->hash, &id);
	if (status != CAIRN_OK || id == 0)
		return status;
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(id), cairn_db_text(forget->owner));
	for (size_t i = 0; i < sizeof(FORGET_USES) / sizeof(FORGET_USES[0]); i++)
		(void)cairn_pg_queue(&tx->pg, FORGET_USES[i], args);
	unsigned proposed = cairn_pg_queue(&tx->pg, FORGET_PROPOSED, args);
	unsigned owners = cairn_pg_queue(&tx->pg, FORGET_OWNER, args);
	cairn_pg_add_int8(&file, id);
	unsigned files = cairn_pg_queue_drop_files(tx, &file);
	status = cairn_pg_exchange(&tx->pg);
	if (status != CAIRN_OK)
		return status;
	forget->forgotten =
		cairn_pg_changed(tx->pg.results[owners]) > 0 || cairn_pg_changed(tx->pg.results[proposed]) > 0;
	cairn_pg_dropped_files(tx, files);
	if (forget->forgotten)
		cairn_advance(&tx->counts.collection);
	return CAIRN_OK;
}
