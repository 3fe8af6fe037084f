/* Reads commits, and the branches, tags and pull requests that name them. */
#include "index/backend.h"
#include "index/hub/entries.h"
#include "index/records.h"

#include <string.h>

enum { HISTORY_COMMITS = 100 }; /* commits in a page */

#define COMMIT                                                                                                         \
	"SELECT c.id, c.repo, c.line, c.parent, c.number, c.oid, c.root, c.at, c.files, c.bytes, c.author, c.title"
/* Refs r of repository $1, each with the commit c that it names. */
#define NAMED                                                                                                          \
	" FROM ref r CROSS JOIN line l CROSS JOIN commit_ c WHERE l.id = r.line"                                       \
	" AND c.id = CASE r.commit_ WHEN 0 THEN l.head ELSE r.commit_ END AND r.repo = $1"
/* Commits of line $1 with numbers up to $2 and above $3, newest first. h has the lines from which it was forked, each
 * with the highest number that counts. */
#define MESSAGE ", c.message"
#define LEFT    " FROM h CROSS JOIN commit_ c WHERE c.line = h.line AND c.number <= h.top AND c.number > $3"
/* SQLite merges the line's own commits, in the order of their index, with commits of the lines before the fork. It
 * sorts only the latter, which are rarely in a page. */
#define SQLITE_EACH                                                                                                    \
	"WITH RECURSIVE h(line, top) AS (SELECT l.parent, min($2, f.number) FROM line l CROSS JOIN commit_ f"          \
	" WHERE l.id = $1 AND f.id = l.fork AND l.parent IS NOT NULL AND f.number > $3"                                \
	" UNION ALL SELECT l.parent, min(h.top, f.number) FROM h CROSS JOIN line l CROSS JOIN commit_ f"               \
	" WHERE l.id = h.line AND f.id = l.fork AND l.parent IS NOT NULL AND f.number > $3) " COMMIT MESSAGE           \
	" FROM commit_ c WHERE c.line = $1 AND c.number <= $2 AND c.number > $3"                                       \
	" UNION ALL " COMMIT MESSAGE LEFT " ORDER BY 5 DESC"
#define POSTGRES_EACH                                                                                                  \
	"WITH RECURSIVE h(line, top) AS (SELECT CAST($1 AS bigint), CAST($2 AS bigint)"                                \
	" UNION ALL SELECT l.parent, least(h.top, f.number) FROM h CROSS JOIN line l CROSS JOIN commit_ f"             \
	" WHERE l.id = h.line AND f.id = l.fork AND l.parent IS NOT NULL AND f.number > $3) " COMMIT MESSAGE LEFT      \
	" ORDER BY c.number DESC"

/* Commits c of repository $1 with ids from $2 to $3. */
#define FOUND " FROM commit_ c WHERE c.repo = $1 AND c.oid BETWEEN $2 AND $3"
/* A ref reaches the commit if its line is the commit's line, or was forked from that line at this commit or later.
 * Later commits of a line have higher ids. The recursive search runs only if the other finds no ref. */
#define REACHED                                                                                                        \
	" AND (EXISTS(SELECT 1 FROM ref r WHERE r.line = c.line AND (r.commit_ = 0 OR r.commit_ >= c.id))"             \
	" OR EXISTS(WITH RECURSIVE u(line) AS (SELECT l.id FROM line l WHERE l.parent = c.line AND l.fork >= c.id"     \
	" UNION ALL SELECT l.id FROM u CROSS JOIN line l WHERE l.parent = u.line)"                                     \
	" SELECT 1 FROM u CROSS JOIN ref r WHERE r.line = u.line))"

CAIRN_SQL(HISTORY_REF, COMMIT NAMED " AND r.kind = $2 AND r.name = $3");
CAIRN_SQL(HISTORY_EACH_REF,
	  "SELECT r.kind, r.name, c.oid, r.kind = 3 AND r.commit_ <> 0" NAMED " ORDER BY r.kind, r.name");
CAIRN_SQL(HISTORY_FIND, COMMIT FOUND " LIMIT 2");
CAIRN_SQL(HISTORY_FIND_REACHED, COMMIT FOUND REACHED " LIMIT 2");
CAIRN_SQL(HISTORY_BY_ID, COMMIT " FROM commit_ c WHERE c.id = $1");
CAIRN_SQL_OF(HISTORY_EACH, SQLITE_EACH, POSTGRES_EACH);
CAIRN_SQL(HISTORY_INLINE, "SELECT body FROM content WHERE id = $1 AND body IS NOT NULL");

static enum cairn_status history_row(struct cairn_db_rows *row, struct cairn_index_commit *out)
{
	*out = (struct cairn_index_commit){
		.id = cairn_db_get_int(row, 0),
		.repo = cairn_db_get_int(row, 1),
		.line = cairn_db_get_int(row, 2),
		.parent = cairn_db_get_int(row, 3),
		.number = (uint64_t)cairn_db_get_int(row, 4),
		.at_unix_s = cairn_db_get_int(row, 7),
		.n_files = (uint64_t)cairn_db_get_int(row, 8),
		.bytes = (uint64_t)cairn_db_get_int(row, 9),
	};
	cairn_db_get_fixed(row, 5, out->oid.b, sizeof(out->oid.b));
	cairn_db_get_fixed(row, 6, out->root.b, sizeof(out->root.b));
	cairn_db_get_text(row, 10, out->author, sizeof(out->author));
	cairn_db_get_text(row, 11, out->title, sizeof(out->title));
	return cairn_db_whole(row);
}

/* Reads the only row. If there are two, finds nothing. */
static enum cairn_status history_one(struct cairn_index *ix, const struct cairn_sql *sql,
				     const struct cairn_db_args *args, struct cairn_index_commit *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, sql, args);
	if (status == CAIRN_OK)
		status = history_row(&rows, out);
	if (status != CAIRN_OK)
		return status;
	status = cairn_db_next(&rows);
	return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind,
				  const char *name, struct cairn_index_commit *out)
{
	return history_one(ix, &HISTORY_REF,
			   CAIRN_ARGS(cairn_db_int(repo), cairn_db_int((int64_t)kind), cairn_db_path(name)), out);
}

enum cairn_status cairn_index_each_ref(struct cairn_index *ix, int64_t repo,
				       bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_index_ref_row ref;
	enum cairn_status status = cairn_records_find(ix, &rows, &HISTORY_EACH_REF, CAIRN_ARGS(cairn_db_int(repo)));
	for (bool more = true; status == CAIRN_OK && more;) {
		ref.kind = (enum cairn_index_ref_kind)cairn_db_get_int(&rows, 0);
		ref.ended = cairn_db_get_int(&rows, 3) != 0;
		ref.name = cairn_db_borrow_text(&rows, 1);
		cairn_db_get_fixed(&rows, 2, ref.commit.b, sizeof(ref.commit.b));
		more = cairn_db_whole(&rows) != CAIRN_OK || visit(ctx, &ref);
		if (more)
			status = cairn_db_next(&rows);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
					  enum cairn_index_commits among, struct cairn_index_commit *out)
{
	struct cairn_git_oid low, high;
	if (!cairn_entries_oid_range(prefix, &low, &high))
		return CAIRN_E_NOT_FOUND;
	return history_one(ix, among == CAIRN_INDEX_REACHED ? &HISTORY_FIND_REACHED : &HISTORY_FIND,
			   CAIRN_ARGS(cairn_db_int(repo), cairn_db_bytes(low.b, sizeof(low.b)),
				      cairn_db_bytes(high.b, sizeof(high.b))),
			   out);
}

enum cairn_status cairn_index_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out)
{
	return history_one(ix, &HISTORY_BY_ID, CAIRN_ARGS(cairn_db_int(id)), out);
}

/* Visits the commits of a page. @param[out] more  false: the visitor stopped */
static enum cairn_status history_page(struct cairn_db_rows *rows, int64_t line, int64_t top,
				      bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						    const char *message),
				      void *ctx, bool *more)
{
	struct cairn_index_commit commit;
	enum cairn_status status =
		cairn_db_find(rows->db, rows, &HISTORY_EACH,
			      CAIRN_ARGS(cairn_db_int(line), cairn_db_int(top), cairn_db_int(top - HISTORY_COMMITS)));
	while (status == CAIRN_OK && *more) {
		status = history_row(rows, &commit);
		*more = status == CAIRN_OK && visit(ctx, &commit, cairn_db_borrow_text(rows, 12));
		if (*more)
			status = cairn_db_next(rows);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
					  bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
							const char *message),
					  void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	int64_t top = from->number > skip ? (int64_t)(from->number - skip) : 0;
	enum cairn_status status = cairn_records_take(ix, &rows);
	/* Numbers have no gaps, so a page is a range of numbers. */
	for (bool more = true; status == CAIRN_OK && more && top > 0; top -= HISTORY_COMMITS)
		status = history_page(&rows, from->line, top, visit, ctx, &more);
	return status;
}

enum cairn_status cairn_index_inline(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &HISTORY_INLINE, CAIRN_ARGS(cairn_db_int(content)));
	if (status != CAIRN_OK)
		return status;
	const uint8_t *bytes = cairn_db_get_bytes(&rows, 0, len);
	if (*len > CAIRN_INDEX_INLINE_MAX)
		return CAIRN_E_DAMAGED;
	if (*len > 0)
		memcpy(out, bytes, *len);
	return CAIRN_OK;
}

enum cairn_status cairn_index_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				    struct cairn_index_entry *out)
{
	return ix->backend->entry(ix, commit, path, out);
}

enum cairn_status cairn_index_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
					 const struct cairn_index_listing *listing,
					 bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
{
	return ix->backend->each_entry(ix, commit, listing, visit, ctx);
}
