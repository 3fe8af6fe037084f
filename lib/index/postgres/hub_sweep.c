/* Removes unreachable rows in pieces, so that other writes do not wait long. */
#include "index/hub/sweep.h"
#include "index/postgres/own.h"
#include "index/postgres/sweep.h"

#include "base/clock.h"

#include <string.h>

enum { SWEEP_PAGE = 1000 }; /* rows removed between two looks at the clock */

/* Finds a deleted repository. A repository that is being made in pieces counts as deleted an hour later. */
static const char SWEEP_DROPPED[] =
	"SELECT r.id, r.scope, (SELECT max(l.id + 0) FROM line l WHERE l.repo = r.id) FROM repo r"
	" WHERE r.dropped IS NOT NULL AND r.dropped <= $1 ORDER BY r.dropped LIMIT 1";
static const char SWEEP_IS_DROPPED[] =
	"SELECT r.id, r.scope, (SELECT max(l.id + 0) FROM line l WHERE l.repo = r.id) FROM repo r"
	" WHERE r.id = $1 AND r.scope = $2 AND coalesce(r.dropped, 0) <> 0";
static const char SWEEP_DROP_REFS[] = "DELETE FROM ref WHERE repo = $1";
static const char SWEEP_OBJECTS[] =
	"WITH gone AS (DELETE FROM object WHERE repo = $1 AND path = ANY(ARRAY(SELECT path FROM object WHERE repo = $1"
	" ORDER BY path LIMIT $2)) RETURNING file)"
	" SELECT count(*), ARRAY(SELECT DISTINCT file FROM gone WHERE file IS NOT NULL) FROM gone";
static const char SWEEP_OWNED[] =
	"SELECT ARRAY(SELECT file FROM file_owner WHERE scope + 0 = $1 ORDER BY sha256, file LIMIT $2)";
static const char SWEEP_FORGET_REPO[] = "DELETE FROM repo WHERE id = $1";
/* Reads a page of the files, after a number, of a bucket or of a mirrored repository, to which nobody uploads; marks
 * the files without a path, and returns at least one row. Other git-like repositories keep all files until they are
 * deleted, because commits elsewhere name objects of Git LFS. */
static const char SWEEP_UNNAMED[] =
	"SELECT r.id, r.scope, w.file, w.sha256, (SELECT true FROM file_owner y WHERE y.file = w.file"
	" AND y.scope = r.scope AND y.at > $4 LIMIT 1) IS NULL AND (SELECT true FROM object o WHERE o.file = w.file"
	" AND o.repo = r.id LIMIT 1) IS NULL AND (SELECT true FROM proposed q WHERE q.file = w.file"
	" AND q.holder = r.scope LIMIT 1) IS NULL AND (SELECT true FROM content c WHERE c.file = w.file"
	" AND c.repo = r.id LIMIT 1) IS NULL AND (SELECT true FROM mirror_part m WHERE m.file = w.file LIMIT 1) IS NULL"
	" FROM (SELECT id, scope FROM repo p WHERE id > $1 AND (kind = 4 OR (SELECT mirrored FROM account a"
	" WHERE a.id = p.account) = 1) AND " CAIRN_REPO_KEPT(
		"p") " ORDER BY id LIMIT 1) r LEFT JOIN LATERAL (SELECT * FROM file_owner f WHERE f.scope + 0 = r.scope"
		     " AND (f.sha256, f.file) > ($2, $3) ORDER BY f.sha256, f.file LIMIT $5) w ON true ORDER BY w.sha256, w.file";

/* Appends the values of an array in an answer to an array of arguments. */
static enum cairn_status sweep_ids(const PGresult *r, int column, struct cairn_pg_array *out)
{
	CLEANUP(cairn_pg_free_int8s) int64_t *ids = NULL;
	uint32_t n;
	enum cairn_status status = cairn_pg_get_int8s(r, 0, column, &ids, &n);
	for (uint32_t i = 0; i < n; i++)
		cairn_pg_add_int8(out, ids[i]);
	return status;
}

/* Removes a page of a deleted bucket's rows. @param[out] n  rows removed */
static enum cairn_status sweep_objects(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, int64_t *n)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	const PGresult *r;
	*n = 0;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_OBJECTS, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(SWEEP_PAGE)), &r);
	if (status != CAIRN_OK)
		return status;
	*n = cairn_pg_get_int8(r, 0, 0);
	status = sweep_ids(r, 1, &files);
	if (status != CAIRN_OK || files.n == 0)
		return status;
	/* A bucket loses a file only when none of its rows has it. */
	struct cairn_pg_disowning queued = cairn_pg_queue_disown(tx, owner, &files, repo);
	status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK)
		(void)cairn_pg_disowned(tx, queued, owner);
	return status;
}

/* Removes uploaded files that no row has, and after the last file the repository itself. */
static enum cairn_status sweep_files(struct cairn_pg_tx *tx, int64_t repo, int64_t owner)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	const PGresult *r;
	int64_t n;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_OWNED, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(SWEEP_PAGE)), &r);
	if (status == CAIRN_OK)
		status = sweep_ids(r, 0, &files);
	if (status != CAIRN_OK)
		return status;
	if (files.n > 0) {
		status = cairn_pg_disown(tx, owner, &files, &n);
		/* if the page loses no file, all later calls would read it again */
		return status == CAIRN_OK && n == 0 ? CAIRN_E_DAMAGED : status;
	}
	status = cairn_records_drop_proposed(&tx->records, owner);
	return status == CAIRN_OK ? cairn_pg_run(&tx->pg, SWEEP_FORGET_REPO, CAIRN_ARGS(cairn_db_int(repo)), NULL)
				  : status;
}

/* Removes a piece of a deleted repository. @param r  its number, owner and last line */
static enum cairn_status sweep_repo(struct cairn_pg_tx *tx, const PGresult *r)
{
	int64_t n_objects = 0;
	bool gone;
	int64_t repo = cairn_pg_get_int8(r, 0, 0), owner = cairn_pg_get_int8(r, 0, 1);
	int64_t line = cairn_pg_get_int8(r, 0, 2);
	(void)cairn_pg_queue(&tx->pg, SWEEP_DROP_REFS, CAIRN_ARGS(cairn_db_int(repo)));
	enum cairn_status status = cairn_records_drop_pulls(&tx->records, repo);
	if (status == CAIRN_OK)
		status = cairn_records_drop_feed(&tx->records, repo);
	if (status != CAIRN_OK)
		return status;
	if (line != 0)
		return cairn_pg_sweep_line(tx, line, &gone);
	status = sweep_objects(tx, repo, owner, &n_objects);
	return status == CAIRN_OK && n_objects == 0 ? sweep_files(tx, repo, owner) : status;
}

/* Removes a piece of one deleted repository. @param[out] more  false: no deleted repository is left */
static enum cairn_status sweep_dropped(void *ctx, bool *more)
{
	struct cairn_pg_tx *tx = ctx;
	const PGresult *r;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_DROPPED, CAIRN_ARGS(cairn_db_int(cairn_clock_unix_ms())), &r);
	*more = status == CAIRN_OK && PQntuples(r) > 0;
	return *more ? sweep_repo(tx, r) : status;
}

enum cairn_status cairn_pg_sweep_repo(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, bool *gone)
{
	const PGresult *r;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_IS_DROPPED, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(owner)), &r);
	*gone = status == CAIRN_OK && PQntuples(r) == 0;
	return status == CAIRN_OK && !*gone ? sweep_repo(tx, r) : status;
}

/* Takes the files without a path from a page of SWEEP_UNNAMED. @return false: a row is damaged */
static bool sweep_unnamed_page(const PGresult *r, struct cairn_index_sweep_place *at, struct cairn_pg_array *files)
{
	for (int i = 0; i < PQntuples(r) && !PQgetisnull(r, i, 2); i++) {
		struct cairn_hash sha256;
		at->file = cairn_pg_get_int8(r, i, 2);
		at->has_sha256 = PQgetlength(r, i, 3) > 0;
		if (at->has_sha256 && !cairn_pg_get_hash(r, i, 3, &sha256))
			return false;
		if (at->has_sha256)
			memcpy(at->sha256, sha256.b, sizeof(at->sha256));
		if (cairn_pg_get_int8(r, i, 4) != 0)
			cairn_pg_add_int8(files, at->file);
	}
	return true;
}

/* Removes from one repository a page of files that no row names. @param[out] more  false: no repository is left */
static enum cairn_status sweep_unnamed(void *ctx, struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more)
{
	struct cairn_pg_tx *tx = ctx;
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	const PGresult *r;
	int64_t n;
	enum cairn_status status = cairn_pg_ask(
		&tx->pg, SWEEP_UNNAMED,
		CAIRN_ARGS(cairn_db_int(at->repo), cairn_db_bytes(at->sha256, at->has_sha256 ? sizeof(at->sha256) : 0),
			   cairn_db_int(at->file), cairn_db_int(before_unix_s), cairn_db_int(SWEEP_PAGE)),
		&r);
	*more = status == CAIRN_OK && PQntuples(r) > 0;
	if (!*more)
		return status;
	int64_t repo = cairn_pg_get_int8(r, 0, 0), owner = cairn_pg_get_int8(r, 0, 1);
	bool last = PQntuples(r) < SWEEP_PAGE;
	if (!sweep_unnamed_page(r, at, &files))
		return CAIRN_E_DAMAGED;
	if (last)
		*at = (struct cairn_index_sweep_place){.stage = at->stage, .repo = repo};
	return cairn_pg_disown(tx, owner, &files, &n);
}

static struct cairn_index_tx *sweep_records(void *ctx)
{
	struct cairn_pg_tx *tx = ctx;
	return &tx->records;
}

enum cairn_status cairn_pg_sweep_repos(struct cairn_pg_tx *tx, struct cairn_index_sweep_repos *sweep)
{
	static const struct cairn_sweep_engine ENGINE = {.dropped = sweep_dropped,
							 .lines = cairn_pg_sweep_lines,
							 .records = sweep_records,
							 .unnamed = sweep_unnamed};
	return cairn_sweep_repos(&ENGINE, tx, sweep);
}
