/* Removes lines of commits, or the ends of lines, that no ref and no other line needs, in pieces. Commits are removed
 * before their entries, so that nobody finds an incomplete commit. */
#include "index/postgres/content.h"
#include "index/postgres/sweep.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

enum { SWEEP_ROWS = 1000 }; /* rows removed, or lines read, between two looks at the clock */

/* Subtracts the bytes of removed rows from the quota of their repository. */
#define SWEEP_COUNT                                                                                                    \
	" s AS (SELECT coalesce(sum(counts), 0)::bigint AS counts FROM gone), u AS (UPDATE repo SET stored = stored"   \
	" - s.counts FROM s WHERE repo.id = (SELECT repo FROM line WHERE id = $1) AND s.counts > 0)"
/* Removes commits and returns their number. */
#define SWEEP_COMMITS_OF(ids)                                                                                          \
	"WITH gone AS (DELETE FROM commit_ WHERE id = ANY(ARRAY(" ids                                                  \
	")) RETURNING " CAIRN_SQL_COMMIT_COUNTS(POSTGRES) " AS counts)," SWEEP_COUNT " SELECT count(*) FROM gone"
static const char SWEEP_COMMITS[] =
	SWEEP_COMMITS_OF("SELECT id FROM commit_ WHERE line = $1 ORDER BY number DESC LIMIT $2");
static const char SWEEP_ENTRIES[] =
	"WITH gone AS (DELETE FROM entry WHERE ctid = ANY(ARRAY(SELECT ctid FROM entry WHERE line = $1 LIMIT $2))"
	" RETURNING content, " CAIRN_SQL_ENTRY_COUNTS(
		POSTGRES) " AS counts)," SWEEP_COUNT
			  " SELECT count(*), ARRAY(SELECT content FROM gone WHERE content IS NOT NULL) FROM gone";
static const char SWEEP_CONDEMN[] = "UPDATE line SET head = -1 WHERE id = $1 AND head <= 0 AND head <> -1";
static const char SWEEP_DROP_LINE[] = "DELETE FROM line WHERE id = $1";
/* Reads a page of lines numbered below $1. Returns the page's lowest line, and its highest line with commits to remove:
 * number, head, last needed commit (0: none). Skips lines whose commit or repository is being made in pieces. */
static const char SWEEP_LINES[] =
	"WITH p AS (SELECT l.id, l.head, CASE WHEN (SELECT true FROM ref r WHERE r.line = l.id AND r.commit_ = 0 LIMIT 1)"
	" THEN l.head ELSE greatest(coalesce((SELECT max(r.commit_) FROM ref r WHERE r.line = l.id), 0),"
	" coalesce((SELECT max(c.fork) FROM line c WHERE c.parent = l.id), 0)) END AS keep"
	" FROM line l WHERE l.id < $1 AND NOT " CAIRN_PG_IS_STAGED(
		"l.head") " AND (SELECT true FROM repo q WHERE q.id = l.repo AND coalesce(q.dropped, 0) > $3 LIMIT 1) IS NULL"
			  " ORDER BY l.id DESC LIMIT $2)"
			  " SELECT (SELECT min(id) FROM p), w.id, w.head, w.keep FROM (VALUES(1)) one LEFT JOIN LATERAL"
			  " (SELECT * FROM p WHERE p.keep = 0 OR p.keep < p.head ORDER BY p.id DESC LIMIT 1) w ON true";
/* Removes the newest commits first, so that nobody finds a commit without its entries. */
static const char SWEEP_NEWER_COMMITS[] =
	SWEEP_COMMITS_OF("SELECT id FROM commit_ WHERE line = $1 AND number >"
			 " (SELECT number FROM commit_ WHERE id = $3) ORDER BY number DESC LIMIT $2");
/* Removes, in a page after a path, the entries newer than the last needed commit. Returns the length of the page, and
 * the last path that keeps an entry. A path's rows come newest first. */
static const char SWEEP_NEWER_ENTRIES[] =
	"WITH page AS (SELECT ctid AS place, folder, name, since FROM entry WHERE line = $1"
	" AND (folder, name) > ($2, $3) ORDER BY folder, name, since DESC LIMIT $4),"
	" gone AS (DELETE FROM entry WHERE ctid = ANY(ARRAY(SELECT place FROM page WHERE since > $5)) RETURNING content, " CAIRN_SQL_ENTRY_COUNTS(
		POSTGRES) " AS counts)," SWEEP_COUNT
			  " SELECT (SELECT count(*) FROM page), ARRAY(SELECT content FROM gone WHERE content IS NOT NULL), o.folder, o.name"
			  " FROM (VALUES(1)) one LEFT JOIN LATERAL (SELECT folder, name FROM page WHERE since <= $5"
			  " ORDER BY folder DESC, name DESC LIMIT 1) o ON true";
static const char SWEEP_SET_HEAD[] = "UPDATE line SET head = $2 WHERE id = $1";

/* Records that entries no longer use these contents. */
static enum cairn_status sweep_unuse(struct cairn_pg_tx *tx, const PGresult *r, int column)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array contents = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array times = {0};
	CLEANUP(cairn_pg_free_int8s) int64_t *ids = NULL;
	uint32_t n;
	enum cairn_status status = cairn_pg_get_int8s(r, 0, column, &ids, &n);
	for (uint32_t i = 0; i < n; i++) {
		cairn_pg_add_int8(&contents, ids[i]);
		cairn_pg_add_int8(&times, -1);
	}
	if (status != CAIRN_OK || n == 0)
		return status;
	unsigned queued = cairn_pg_queue_use(tx, &contents, &times);
	status = cairn_pg_exchange(&tx->pg);
	if (status == CAIRN_OK)
		cairn_pg_used(tx, queued, 0);
	return status;
}

enum cairn_status cairn_pg_sweep_line(struct cairn_pg_tx *tx, int64_t line, bool *gone)
{
	const PGresult *r;
	const struct cairn_db_args *args = CAIRN_ARGS(cairn_db_int(line)),
				   *page = CAIRN_ARGS(cairn_db_int(line), cairn_db_int(SWEEP_ROWS));
	*gone = false;
	(void)cairn_pg_queue(&tx->pg, SWEEP_CONDEMN, args);
	enum cairn_status status = cairn_pg_ask(&tx->pg, SWEEP_COMMITS, page, &r);
	if (status != CAIRN_OK || cairn_pg_get_int8(r, 0, 0) == SWEEP_ROWS)
		return status;
	status = cairn_pg_ask(&tx->pg, SWEEP_ENTRIES, page, &r);
	if (status != CAIRN_OK)
		return status;
	*gone = cairn_pg_get_int8(r, 0, 0) < SWEEP_ROWS;
	status = sweep_unuse(tx, r, 1);
	if (status != CAIRN_OK || !*gone)
		return status;
	return cairn_pg_run(&tx->pg, SWEEP_DROP_LINE, args, NULL);
}

/* Reads the next page of a line's entries, deletes those newer than the last needed commit, and moves `at` to the last
 * path that keeps one. @param[out] done  true: this was the last page */
static enum cairn_status sweep_end_page(struct cairn_pg_tx *tx, int64_t line, struct cairn_index_sweep_place *at,
					bool *done)
{
	const PGresult *r;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_NEWER_ENTRIES,
			     CAIRN_ARGS(cairn_db_int(line), cairn_db_path(at->folder), cairn_db_path(at->name),
					cairn_db_int(SWEEP_ROWS), cairn_db_int(at->keep)),
			     &r);
	if (status != CAIRN_OK)
		return status;
	*done = cairn_pg_get_int8(r, 0, 0) < SWEEP_ROWS;
	if (!PQgetisnull(r, 0, 2) && (!cairn_pg_get_text(r, 0, 2, at->folder, sizeof(at->folder)) ||
				      !cairn_pg_get_text(r, 0, 3, at->name, sizeof(at->name))))
		return CAIRN_E_DAMAGED;
	return sweep_unuse(tx, r, 1);
}

/* Removes a piece after the last needed commit: commits, and last the head, so an interrupted removal is repeated. */
static enum cairn_status sweep_end(struct cairn_pg_tx *tx, int64_t line, struct cairn_index_sweep_place *at, bool *gone)
{
	const PGresult *r;
	*gone = false;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_NEWER_COMMITS,
			     CAIRN_ARGS(cairn_db_int(line), cairn_db_int(SWEEP_ROWS), cairn_db_int(at->keep)), &r);
	if (status != CAIRN_OK || cairn_pg_get_int8(r, 0, 0) == SWEEP_ROWS)
		return status;
	status = sweep_end_page(tx, line, at, gone);
	if (status != CAIRN_OK || !*gone)
		return status;
	return cairn_pg_run(&tx->pg, SWEEP_SET_HEAD, CAIRN_ARGS(cairn_db_int(line), cairn_db_int(at->keep)), NULL);
}

/* Visits lines from the highest number down, because a fork has a higher number than its line, and must go first. */
enum cairn_status cairn_pg_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more)
{
	struct cairn_pg_tx *tx = ctx;
	const PGresult *r;
	bool gone = false;
	enum cairn_status status =
		cairn_pg_ask(&tx->pg, SWEEP_LINES,
			     CAIRN_ARGS(cairn_db_int(at->line != 0 ? at->line : INT64_MAX), cairn_db_int(SWEEP_ROWS),
					cairn_db_int(cairn_clock_unix_ms())),
			     &r);
	*more = status == CAIRN_OK && !PQgetisnull(r, 0, 0);
	if (!*more)
		return status;
	int64_t lowest = cairn_pg_get_int8(r, 0, 0), line = cairn_pg_get_int8(r, 0, 1),
		keep = cairn_pg_get_int8(r, 0, 3);
	if (line == 0) {
		at->line = lowest;
		return CAIRN_OK;
	}
	/* The previous piece was of another line, so begin at the first path. */
	if (at->line != cairn_sum(line, 1) || at->keep != keep)
		at->folder[0] = at->name[0] = '\0';
	at->line = cairn_sum(line, 1);
	at->keep = keep;
	if (keep == 0)
		return cairn_pg_sweep_line(tx, line, &gone);
	status = sweep_end(tx, line, at, &gone);
	if (gone)
		at->line = line;
	return status;
}
