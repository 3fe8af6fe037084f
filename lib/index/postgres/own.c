/* Owners (scopes in rows) and their files, several at a time. */
#include "index/postgres/own.h"

#include "base/clock.h"
#include "base/sum.h"

static const char OWN_FIND_REPO[] = "SELECT r.scope FROM repo r WHERE r.id = $1 AND " CAIRN_REPO_KEPT("r");
/* Updates the stored size of the owner's repository in the statement that changes its files. */
#define OWN_COUNT(sign, files)                                                                                         \
	" s AS (SELECT count(*) AS n, coalesce(sum(" CAIRN_POSTGRES_FILE_COUNTS(                                       \
		"f.size") "), 0)::bigint AS bytes"                                                                     \
			  " FROM file f WHERE f.id IN"                                                                 \
			  " (SELECT file FROM " files ")), u AS (UPDATE repo SET stored = stored " sign                \
			  " s.bytes FROM s"                                                                            \
			  " WHERE repo.scope = $1 AND s.bytes > 0), v AS (UPDATE scope SET stored = stored " sign      \
			  " s.bytes FROM s"                                                                            \
			  " WHERE scope.id = $1 AND scope.quota IS NOT NULL AND s.bytes > 0) SELECT n, bytes FROM s"
static const char OWN_ADD[] =
	"WITH added AS (INSERT INTO file_owner(file, scope, sha256, at) SELECT DISTINCT k, $1, ''::bytea, $2"
	" FROM unnest($3::bigint[]) k WHERE (SELECT true FROM file_owner o WHERE o.file = k AND o.scope = $1 LIMIT 1)"
	" IS NULL"
	" RETURNING file)," OWN_COUNT("+", "added");
static const char OWN_DROP_NO_CLAIM[] =
	"DELETE FROM file_owner w WHERE w.scope = $1 AND w.sha256 = '' AND w.file = ANY($2) AND EXISTS"
	"(SELECT 1 FROM file_owner o WHERE o.file = w.file AND o.scope = $1 AND o.sha256 > '')";
static const char OWN_DROP[] =
	"WITH gone AS (DELETE FROM file_owner w WHERE w.scope = $1 AND w.file = ANY($2) AND ($3 = 0 OR"
	" (SELECT true FROM object o WHERE o.file = w.file AND o.repo = $3 LIMIT 1) IS NULL) RETURNING w.file)," OWN_COUNT(
		"-", "gone");
static const char OWN_DROP_REFERENCES[] = "DELETE FROM reference r WHERE r.file = ANY($1) AND NOT EXISTS"
					  "(SELECT 1 FROM file_owner o WHERE o.file = r.file)";
static const char OWN_DROP_FILES[] = "DELETE FROM file f WHERE f.id = ANY($1) AND NOT EXISTS"
				     "(SELECT 1 FROM file_owner o WHERE o.file = f.id)";

enum cairn_status cairn_pg_no_repo(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

unsigned cairn_pg_queue_find_repo(struct cairn_pg_tx *tx, int64_t repo)
{
	return cairn_pg_queue(&tx->pg, OWN_FIND_REPO, CAIRN_ARGS(cairn_db_int(repo)));
}

enum cairn_status cairn_pg_found_repo(struct cairn_pg_tx *tx, unsigned queued, int64_t *owner, struct cairn_diag *diag)
{
	const PGresult *r = tx->pg.results[queued];
	*owner = PQntuples(r) > 0 ? cairn_pg_get_int8(r, 0, 0) : 0;
	return PQntuples(r) > 0 ? CAIRN_OK : cairn_pg_no_repo(diag);
}

unsigned cairn_pg_queue_own(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files)
{
	return cairn_pg_queue(
		&tx->pg, OWN_ADD,
		CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(cairn_clock_unix_s()), cairn_pg_int8s(files)));
}

int64_t cairn_pg_owned(struct cairn_pg_tx *tx, unsigned queued, int64_t owner)
{
	const PGresult *r = tx->pg.results[queued];
	cairn_records_grow(&tx->records, owner, cairn_pg_get_int8(r, 0, 1));
	return cairn_pg_get_int8(r, 0, 0);
}

void cairn_pg_queue_drop_no_claim(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files)
{
	(void)cairn_pg_queue(&tx->pg, OWN_DROP_NO_CLAIM, CAIRN_ARGS(cairn_db_int(owner), cairn_pg_int8s(files)));
}

unsigned cairn_pg_queue_drop_files(struct cairn_pg_tx *tx, struct cairn_pg_array *files)
{
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_pg_int8s(files));
	(void)cairn_pg_queue(&tx->pg, OWN_DROP_REFERENCES, args);
	return cairn_pg_queue(&tx->pg, OWN_DROP_FILES, args);
}

void cairn_pg_dropped_files(struct cairn_pg_tx *tx, unsigned queued)
{
	cairn_add(&tx->counts.files, -cairn_pg_changed(tx->pg.results[queued]));
}

struct cairn_pg_disowning cairn_pg_queue_disown(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files,
						int64_t unless_in)
{
	struct cairn_pg_disowning queued;
	queued.owners = cairn_pg_queue(&tx->pg, OWN_DROP,
				       CAIRN_ARGS(cairn_db_int(owner), cairn_pg_int8s(files), cairn_db_int(unless_in)));
	queued.files = cairn_pg_queue_drop_files(tx, files);
	return queued;
}

int64_t cairn_pg_disowned(struct cairn_pg_tx *tx, struct cairn_pg_disowning queued, int64_t owner)
{
	const PGresult *r = tx->pg.results[queued.owners];
	int64_t n = cairn_pg_get_int8(r, 0, 0);
	cairn_records_grow(&tx->records, owner, cairn_difference(0, cairn_pg_get_int8(r, 0, 1)));
	cairn_pg_dropped_files(tx, queued.files);
	if (n > 0)
		cairn_advance(&tx->counts.collection);
	return n;
}

enum cairn_status cairn_pg_disown(struct cairn_pg_tx *tx, int64_t owner, struct cairn_pg_array *files, int64_t *n)
{
	*n = 0;
	if (files->n == 0 && files->status == CAIRN_OK)
		return CAIRN_OK;
	struct cairn_pg_disowning queued = cairn_pg_queue_disown(tx, owner, files, 0);
	enum cairn_status status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK)
		*n = cairn_pg_disowned(tx, queued, owner);
	return status;
}
