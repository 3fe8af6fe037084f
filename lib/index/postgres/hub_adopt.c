/* Gives files of one repository to another, with the claims: proved ones stay proved, others become
 * CAIRN_INDEX_COPIED. */
#include "index/postgres/commit.h"
#include "index/postgres/hub.h"
#include "index/postgres/own.h"

#include "base/clock.h"

/* Skips a file that the source lacks: its commit reports it. */
static const char ADOPT_NAMED[] =
	"WITH wanted AS (SELECT DISTINCT m.file, u.sha256, m.proof FROM unnest($3::bytea[]) u(sha256)"
	" CROSS JOIN LATERAL " CAIRN_PG_CLAIMED " m), added AS (INSERT INTO file_owner(file, scope, sha256, at, proof,"
	" due) SELECT file, $1, sha256, $4, CASE proof WHEN 3 THEN 3 ELSE 1 END, CASE proof WHEN 3 THEN NULL ELSE 0 END"
	" FROM wanted ON CONFLICT(file, scope, sha256) DO NOTHING RETURNING file),"
	" s AS (SELECT coalesce(sum(" CAIRN_POSTGRES_FILE_COUNTS(
		"size") "), 0)::bigint AS bytes FROM file f WHERE id IN (SELECT file FROM added)"
			" AND (SELECT true FROM file_owner w WHERE w.file = f.id AND w.scope = $1 LIMIT 1) IS NULL),"
			" u AS (UPDATE repo SET stored = stored + s.bytes FROM s WHERE repo.scope = $1 AND s.bytes > 0)"
			" SELECT bytes FROM s";
/* Finds those of an owner's files that have these SHA-256, with the belief in each claim. */
static const char ADOPT_FIND[] =
	"SELECT k.n, f.id, w.proof::bigint FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY k(hash, sha256, n)"
	" CROSS JOIN LATERAL (SELECT id FROM file WHERE hash = k.hash LIMIT 1) f CROSS JOIN LATERAL"
	" (SELECT proof FROM file_owner WHERE file = f.id AND scope = $1 AND sha256 = k.sha256 LIMIT 1) w"
	" WHERE w.proof > 0";
/* Adds a claim, up to the limit for an owner and a file. */
static const char ADOPT_CLAIM[] =
	"INSERT INTO file_owner(file, scope, sha256, at, proof, due) SELECT DISTINCT k.file, $1, k.sha256, $2,"
	" CASE k.proof WHEN 3 THEN 3 ELSE 1 END, CASE k.proof WHEN 3 THEN NULL ELSE 0 END"
	" FROM unnest($3::bigint[], $4::bytea[], $5::bigint[]) k(file, sha256, proof) WHERE k.proof = 3 OR ("
	"(SELECT count(*) FROM file_owner o WHERE o.file = k.file AND o.scope = $1 AND o.sha256 > '' AND o.proof > 0)"
	" < $6 AND (SELECT count(*) FROM file_owner o WHERE o.file = k.file AND o.scope = $1 AND o.proof = 0) < $7)"
	" ON CONFLICT(file, scope, sha256) DO UPDATE SET proof = 3, due = NULL WHERE excluded.proof = 3";

enum cairn_status cairn_pg_adopt_operations(struct cairn_pg_tx *tx, const struct cairn_index_operation *operations,
					    uint32_t n, int64_t source, int64_t owner)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array sha256s = {0};
	const PGresult *r;
	for (uint32_t i = 0; i < n; i++)
		if (operations[i].kind == CAIRN_INDEX_PUT_FILE)
			cairn_pg_add_bytes(&sha256s, operations[i].sha256, sizeof(operations[i].sha256));
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, ADOPT_NAMED,
			     CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(source), cairn_pg_byteas(&sha256s),
					cairn_db_int(cairn_clock_unix_s())),
			     &r);
	if (status == CAIRN_OK)
		cairn_records_grow(&tx->records, owner, cairn_pg_get_int8(r, 0, 0));
	return status;
}

enum cairn_status cairn_pg_adopt_named(struct cairn_pg_tx *tx, const struct cairn_index_add_repo *add, int64_t owner,
				       struct cairn_diag *diag)
{
	int64_t source;
	enum cairn_status status = cairn_records_find_repo(&tx->records, add->source, &source, diag);
	return status == CAIRN_OK ? cairn_pg_adopt_operations(tx, add->operations, add->n, source, owner) : status;
}

static unsigned adopt_queue_find(struct cairn_pg_tx *tx, const struct cairn_index_adopt_files *adopt, int64_t owner)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array hashes = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array sha256s = {0};
	for (uint32_t i = 0; i < adopt->n; i++) {
		cairn_pg_add_bytes(&hashes, adopt->files[i].file.b, sizeof(adopt->files[i].file.b));
		cairn_pg_add_bytes(&sha256s, adopt->files[i].sha256, sizeof(adopt->files[i].sha256));
	}
	return cairn_pg_queue(&tx->pg, ADOPT_FIND,
			      CAIRN_ARGS(cairn_db_int(owner), cairn_pg_byteas(&hashes), cairn_pg_byteas(&sha256s)));
}

/* Files and claims of the source. */
struct adopt_found {
	struct cairn_pg_array files, sha256s, proofs;
	struct cairn_pg_array scopes; /* the target's number, once for each file */
};

static void adopt_found_fini(struct adopt_found *found)
{
	cairn_pg_array_fini(&found->files);
	cairn_pg_array_fini(&found->sha256s);
	cairn_pg_array_fini(&found->proofs);
	cairn_pg_array_fini(&found->scopes);
}

static void adopt_take(struct adopt_found *found, const struct cairn_index_adopt_files *adopt, int64_t owner,
		       const PGresult *r)
{
	for (int row = 0; row < PQntuples(r); row++) {
		const struct cairn_index_adopted *file = &adopt->files[cairn_pg_get_int8(r, row, 0) - 1];
		cairn_pg_add_int8(&found->files, cairn_pg_get_int8(r, row, 1));
		cairn_pg_add_bytes(&found->sha256s, file->sha256, sizeof(file->sha256));
		cairn_pg_add_int8(&found->proofs, cairn_pg_get_int8(r, row, 2));
		cairn_pg_add_int8(&found->scopes, owner);
	}
}

static void adopt_queue_claims(struct cairn_pg_tx *tx, int64_t owner, struct adopt_found *found)
{
	(void)cairn_pg_queue(&tx->pg, ADOPT_CLAIM,
			     CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(cairn_clock_unix_s()),
					cairn_pg_int8s(&found->files), cairn_pg_byteas(&found->sha256s),
					cairn_pg_int8s(&found->proofs), cairn_db_int(CAIRN_INDEX_CLAIMS_MAX),
					cairn_db_int(CAIRN_INDEX_LIES_MAX)));
	cairn_pg_queue_drop_no_claim(tx, owner, &found->files);
	cairn_pg_queue_follow_proof(tx, &found->files, &found->scopes, &found->sha256s);
}

static void adopt_mark(bool marks[static CAIRN_INDEX_ADOPTED_MAX], const PGresult *r)
{
	for (int row = 0; row < PQntuples(r); row++)
		marks[cairn_pg_get_int8(r, row, 0) - 1] = true;
}

/* The end of the function checks whether the claims were stored. */
static enum cairn_status adopt_write(struct cairn_pg_tx *tx, const struct cairn_index_adopt_files *adopt, int64_t owner,
				     struct adopt_found *found, bool kept[static CAIRN_INDEX_ADOPTED_MAX])
{
	if (found->files.n == 0 && found->files.status == CAIRN_OK)
		return CAIRN_OK;
	unsigned own = cairn_pg_queue_own(tx, owner, &found->files);
	adopt_queue_claims(tx, owner, found);
	unsigned queued = adopt_queue_find(tx, adopt, owner);
	enum cairn_status status = cairn_pg_exchange(&tx->pg);
	if (status != CAIRN_OK)
		return status;
	(void)cairn_pg_owned(tx, own, owner);
	adopt_mark(kept, tx->pg.results[queued]);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_adopt_files(struct cairn_pg_tx *tx, struct cairn_index_adopt_files *adopt)
{
	CLEANUP(adopt_found_fini) struct adopt_found found = {0};
	bool given[CAIRN_INDEX_ADOPTED_MAX] = {false}, kept[CAIRN_INDEX_ADOPTED_MAX] = {false};
	int64_t source, owner;
	if (adopt->n > CAIRN_INDEX_ADOPTED_MAX)
		return CAIRN_E_LIMIT;
	enum cairn_status status = cairn_records_find_repo(&tx->records, adopt->source, &source, &adopt->write.diag);
	if (status == CAIRN_OK)
		status = cairn_records_find_repo(&tx->records, adopt->repo, &owner, &adopt->write.diag);
	if (status != CAIRN_OK)
		return status;
	unsigned queued = adopt_queue_find(tx, adopt, source);
	status = cairn_pg_exchange(&tx->pg);
	if (status != CAIRN_OK)
		return status;
	adopt_mark(given, tx->pg.results[queued]);
	adopt_take(&found, adopt, owner, tx->pg.results[queued]);
	status = adopt_write(tx, adopt, owner, &found, kept);
	for (uint32_t i = 0; i < adopt->n; i++)
		adopt->files[i].failed = !given[i] || !kept[i];
	return status;
}
