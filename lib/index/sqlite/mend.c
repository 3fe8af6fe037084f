/* Repairs an index from the tables that can be trusted: B-trees from their tables, references from the terms of the
 * files, offsets of terms from the chunk lists, counts from the rows, owners from the rows of buckets. */
#include "index/examine.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"
#include "index/sqlite/needed.h"
#include "index/sqlite/offsets.h"
#include "index/sqlite/quota.h"

enum { MEND_PAIRS = 1024 };

/* References without terms. */
struct mend_pairs {
	unsigned n;
	int64_t xorb[MEND_PAIRS], file[MEND_PAIRS];
};

/* Keeps all readable references, and adds all that terms name. Rows go into an emptied table, because its pages may be
 * damaged. */
static const char MEND_KEEP[] = "INSERT OR IGNORE INTO temp.needed(xorb, file, named)"
				" SELECT xorb, file, 0 FROM main.reference";
static const char MEND_ANEW[] = "DELETE FROM main.reference;"
				"INSERT INTO main.reference(xorb, file) SELECT xorb, file FROM temp.needed"
				" WHERE xorb IN (SELECT id FROM main.xorb) ORDER BY xorb, file;"
				"DELETE FROM temp.needed WHERE NOT named";

static const char MEND_COUNTS[] = CAIRN_SQLITE_RECOUNT;

/* Gives a bucket the files of its rows again; a content without its file loses its bytes. */
static const char MEND_REPOS[] =
	"INSERT OR IGNORE INTO file_owner(file, scope, sha256) SELECT o.file, r.scope, x'' FROM object o"
	" CROSS JOIN repo r ON r.id = o.repo CROSS JOIN file f ON f.id = o.file"
	" WHERE NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = o.file AND w.scope = r.scope);"
	"UPDATE repo AS r SET (files, bytes) = (SELECT count(*), coalesce(sum(f.size), 0) FROM object o"
	" LEFT JOIN file f ON f.id = o.file WHERE o.repo = r.id) WHERE dropped IS NULL AND kind = 4;"
	"UPDATE content SET file = NULL WHERE file NOT IN (SELECT id FROM file);"
	"DELETE FROM proposed WHERE file NOT IN (SELECT id FROM file);"
	"INSERT OR IGNORE INTO file_owner(file, scope, sha256) SELECT c.file, r.scope, c.sha256 FROM content c"
	" CROSS JOIN repo r ON r.id = c.repo WHERE c.file IS NOT NULL"
	" AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = c.file AND w.scope = r.scope)"
	" AND NOT EXISTS(SELECT 1 FROM proposed p CROSS JOIN file_owner w WHERE p.file = c.file AND p.scope = r.scope"
	" AND w.file = c.file AND w.scope = p.holder);"
	"UPDATE content SET uses = n.n FROM (SELECT content, count(*) AS n FROM entry WHERE content IS NOT NULL"
	" GROUP BY content) n WHERE content.id = n.content AND content.uses <> n.n;"
	"UPDATE repo AS r SET (files, bytes) = (SELECT c.files, c.bytes FROM ref b CROSS JOIN line l ON l.id = b.line"
	" CROSS JOIN commit_ c ON c.id = l.head WHERE b.repo = r.id AND b.kind = 1 AND b.name = 'main')"
	" WHERE dropped IS NULL AND kind <> 4;"
	"UPDATE repo AS r SET stored = " CAIRN_QUOTA_STORED " WHERE dropped IS NULL AND stored <> " CAIRN_QUOTA_STORED
	";"
	"UPDATE repo AS r SET charged = (SELECT coalesce(sum(p.charged), 0) FROM pull p WHERE p.repo = r.id)"
	" WHERE dropped IS NULL;"
	"DELETE FROM tag WHERE repo IN (SELECT id FROM repo WHERE dropped IS NOT NULL);"
	"UPDATE tag SET kind = r.kind, private = r.private FROM repo r"
	" WHERE r.id = tag.repo AND (tag.kind, tag.private) <> (r.kind, r.private);"
	"UPDATE scope AS s SET stored = iif(quota IS NULL, 0, " CAIRN_QUOTA_OWNED ")"
	" WHERE stored <> iif(quota IS NULL, 0, " CAIRN_QUOTA_OWNED ")";

/* Drops rows of the mirror that refer to missing rows: the mirror asks again. A part without its file is fetched again,
 * with all parts after it. */
static const char MEND_MIRROR[] =
	"DELETE FROM mirror_repo WHERE repo NOT IN (SELECT id FROM repo);"
	"DELETE FROM mirror_file WHERE content NOT IN (SELECT id FROM content);"
	"DELETE FROM mirror_place WHERE file NOT IN (SELECT id FROM file);"
	"DELETE FROM mirror_part WHERE NOT EXISTS(SELECT 1 FROM content c CROSS JOIN repo r CROSS JOIN file_owner w"
	" WHERE c.id = mirror_part.content AND c.file IS NULL AND r.id = c.repo AND w.file = mirror_part.file"
	" AND w.scope = r.scope)";

/* Makes claims that disagree with the proof due again. */
static const char MEND_CLAIMS[] =
	"DELETE FROM proof WHERE file NOT IN (SELECT id FROM file);"
	"UPDATE file_owner AS w SET proof = 2, due = 0 WHERE due IS NULL AND proof <>"
	" coalesce((SELECT iif(p.sha256 = w.sha256, 3, 0) FROM proof p WHERE p.file = w.file), 2);";

enum mend_stmt { MEND_EXTRA, MEND_HAS_FILE, MEND_DROP, MEND_STMTS };

static const char *const mend_sql[MEND_STMTS] = {
	[MEND_EXTRA] = CAIRN_NEEDED_EXTRA " AND (r.xorb, r.file) > (?1, ?2) ORDER BY r.xorb, r.file LIMIT ?3",
	[MEND_HAS_FILE] = "SELECT 1 FROM main.file WHERE id = ?1",
	[MEND_DROP] = "DELETE FROM main.reference WHERE xorb = ?1 AND file = ?2",
};

static enum cairn_status mend_page(sqlite3_stmt **stmts, struct mend_pairs *page)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = stmts[MEND_EXTRA];
	unsigned last = page->n - 1;
	bool row;
	sqlite3_bind_int64(stmt, 1, page->n > 0 ? page->xorb[last] : INT64_MIN);
	sqlite3_bind_int64(stmt, 2, page->n > 0 ? page->file[last] : INT64_MIN);
	sqlite3_bind_int64(stmt, 3, MEND_PAIRS);
	page->n = 0;
	for (;;) {
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		page->xorb[page->n] = sqlite3_column_int64(stmt, 0);
		page->file[page->n++] = sqlite3_column_int64(stmt, 1);
	}
}

/* Drops references without terms. A surplus reference only keeps garbage, but a missing one loses data: so a reference
 * is dropped only if its file is gone, or the file's terms are surely right. */
static enum cairn_status mend_drop(sqlite3_stmt **stmts, const struct cairn_index_mender *mender, int64_t xorb,
				   int64_t file)
{
	bool there = false;
	sqlite3_bind_int64(stmts[MEND_HAS_FILE], 1, file);
	enum cairn_status status = cairn_sql_step(stmts[MEND_HAS_FILE], &there);
	(void)sqlite3_reset(stmts[MEND_HAS_FILE]);
	if (status != CAIRN_OK || (there && !mender->file_is_right(mender->ctx, file)))
		return status;
	sqlite3_bind_int64(stmts[MEND_DROP], 1, xorb);
	sqlite3_bind_int64(stmts[MEND_DROP], 2, file);
	return cairn_sql_run(stmts[MEND_DROP]);
}

static enum cairn_status mend_extras(sqlite3 *db, const struct cairn_index_mender *mender)
{
	sqlite3_stmt *stmts[MEND_STMTS] = {NULL};
	struct mend_pairs page = {0};
	enum cairn_status status = cairn_sql_prepare(db, mend_sql, stmts, MEND_STMTS);
	while (status == CAIRN_OK) {
		status = mend_page(stmts, &page);
		for (unsigned i = 0; i < page.n && status == CAIRN_OK; i++)
			status = mend_drop(stmts, mender, page.xorb[i], page.file[i]);
		if (page.n < MEND_PAIRS)
			break;
	}
	cairn_sql_finalize(stmts, MEND_STMTS);
	return status;
}

static enum cairn_status mend_all(sqlite3 *db, const struct cairn_index_mender *mender)
{
	enum cairn_status status = cairn_needed_fill(db, cairn_migrate_latest);
	if (status == CAIRN_OK && cairn_sql_exec(db, MEND_KEEP) == CAIRN_E_NOMEM)
		status = CAIRN_E_NOMEM; /* without temp.needed the unreadable rows are lost */
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, MEND_ANEW);
	if (status == CAIRN_OK)
		status = mend_extras(db, mender);
	if (status == CAIRN_OK)
		status = cairn_offsets_mend(db);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "REINDEX");
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, MEND_REPOS);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, MEND_MIRROR);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, MEND_CLAIMS);
	return status == CAIRN_OK ? cairn_sql_exec(db, MEND_COUNTS) : status;
}

enum cairn_status cairn_sqlite_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
				    struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	enum cairn_status status = cairn_sql_open(&db, cairn_sqlite(ix)->path, SQLITE_OPEN_READWRITE, NULL, diag);
	/* Only the writer and its thread make checkpoints (../README.md). */
	if (status == CAIRN_OK)
		status =
			cairn_sql_exec(db, "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
	if (status == CAIRN_OK)
		status = mend_all(db, mender);
	bool sound = false;
	if (status == CAIRN_OK)
		status = cairn_examine_trees(db, &sound);
	if (status == CAIRN_OK && !sound)
		return cairn_fail(diag, CAIRN_E_DAMAGED, "index.corrupt", CAIRN_NO_OFFSET,
				  "the trees of the index cannot be repaired: restore the index of a backup");
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "COMMIT");
	return status == CAIRN_OK ? CAIRN_OK : cairn_sql_fail(db, diag, "the index cannot be repaired");
}
