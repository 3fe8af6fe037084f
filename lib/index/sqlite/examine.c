/* Checks an index for damage. Each check is a statement or two that compare two tables, or a table with its B-trees. */
#include "index/examine.h"
#include "index/sqlite/contents.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"
#include "index/sqlite/needed.h"
#include "index/sqlite/offsets.h"
#include "index/sqlite/quota.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define EXAMINE_MAX "64"
_Static_assert(CAIRN_INDEX_FAULTS_MAX == 64, "as in the statements");

struct examine {
	sqlite3 *db;
	cairn_index_visit_fault *visit;
	void *ctx;
};

static void examine_report(struct examine *e, enum cairn_index_fault_kind kind, const char *fmt, ...)
	CAIRN_PRINTF(3, 4);

static void examine_report(struct examine *e, enum cairn_index_fault_kind kind, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	const struct cairn_index_fault fault = {.kind = kind, .text = text};
	e->visit(e->ctx, &fault);
}

/* Reports an unreadable table as a fault, and continues with the rest. */
static enum cairn_status examine_failed(struct examine *e, enum cairn_status status, const char *doing)
{
	if ((sqlite3_errcode(e->db) & 0xff) == SQLITE_INTERRUPT)
		return CAIRN_E_BUSY;
	if (status == CAIRN_E_NOMEM)
		return status;
	examine_report(e, CAIRN_INDEX_FAULT_TREE, "%s: %s (SQLite %d)", doing, sqlite3_errmsg(e->db),
		       sqlite3_extended_errcode(e->db));
	return CAIRN_OK;
}

/* Reports each row of a statement. @param doing  message if the statement fails */
static enum cairn_status examine_each(struct examine *e, const char *sql, const char *doing,
				      void (*tell)(struct examine *e, sqlite3_stmt *row))
{
	sqlite3_stmt *stmt[1] = {NULL};
	bool row = true;
	enum cairn_status status = cairn_sql_prepare(e->db, &sql, stmt, 1);
	for (unsigned n = 0; status == CAIRN_OK && row && n < CAIRN_INDEX_FAULTS_MAX; n++) {
		status = cairn_sql_step(stmt[0], &row);
		if (status == CAIRN_OK && row)
			tell(e, stmt[0]);
	}
	if (status != CAIRN_OK)
		status = examine_failed(e, status, doing);
	cairn_sql_finalize(stmt, 1);
	return status;
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static const char EXAMINE_TREES[] = "the trees cannot be read";

static void examine_report_tree(struct examine *e, sqlite3_stmt *row)
{
	const char *text = (const char *)sqlite3_column_text(row, 0);
	if (text && sqlite3_stricmp(text, "ok") != 0)
		examine_report(e, CAIRN_INDEX_FAULT_TREE, "%s", text);
}

static void examine_note(void *ctx, const struct cairn_index_fault *fault)
{
	(void)fault;
	*(bool *)ctx = false;
}

static enum cairn_status examine_trees(struct examine *e)
{
	return examine_each(e, "PRAGMA integrity_check(" EXAMINE_MAX ")", EXAMINE_TREES, examine_report_tree);
}

enum cairn_status cairn_examine_trees(sqlite3 *db, bool *sound)
{
	struct examine e = {.db = db, .visit = examine_note, .ctx = sound};
	*sound = true;
	return examine_trees(&e);
}

/* --- rows that belong together ------------------------------------------------------------------------------------ */

static void examine_report_foreign(struct examine *e, sqlite3_stmt *row)
{
	const char *table = (const char *)sqlite3_column_text(row, 0);
	const char *parent = (const char *)sqlite3_column_text(row, 2);
	examine_report(e, CAIRN_INDEX_FAULT_LINK, "row %lld of %s names one of %s that is not there",
		       (long long)sqlite3_column_int64(row, 1), table ? table : "?", parent ? parent : "?");
}

static const struct examine_rule {
	int64_t since; /* first version of the schema with these rows */
	const char *what;
	const char *sql; /* counts wrong rows */
} examine_rules[] = {
	{1, "xorbs without a chunk list",
	 "SELECT count(*) FROM xorb x WHERE NOT EXISTS(SELECT 1 FROM list l WHERE l.xorb = x.id)"},
	{1, "files that nobody owns",
	 "SELECT count(*) FROM file f WHERE NOT EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id)"},
	{1, "xorbs that are retired although a file needs them",
	 "SELECT count(*) FROM xorb x WHERE retired IS NOT NULL"
	 " AND EXISTS(SELECT 1 FROM reference r WHERE r.xorb = x.id)"},
	{1, "xorbs that are offered although they are retired",
	 "SELECT count(*) FROM xorb x WHERE retired IS NOT NULL"
	 " AND EXISTS(SELECT 1 FROM dedupe d WHERE d.xorb = x.id)"},
	{1, "eligible chunks that their xorb does not have",
	 "SELECT count(*) FROM xorb x CROSS JOIN dedupe d ON d.xorb = x.id WHERE d.place NOT BETWEEN 0 AND x.chunks - "
	 "1"},
	{1, "eligible chunks of a scope without a name",
	 "SELECT count(*) FROM dedupe WHERE scope NOT IN (SELECT id FROM scope)"},
	{9, "owners of files without a name",
	 "SELECT count(*) FROM file_owner WHERE scope NOT IN (SELECT id FROM scope)"},
	{1, "numbers of xorbs that could be given again",
	 "SELECT max(0, coalesce(max(id), 0) - coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'xorb'), 0))"
	 " FROM xorb"},
	{1, "numbers of files that could be given again",
	 "SELECT max(0, coalesce(max(id), 0) - coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'file'), 0))"
	 " FROM file"},
	{7, "objects of a bucket that does not own their file",
	 "SELECT count(*) FROM object o CROSS JOIN repo r ON r.id = o.repo WHERE o.file IS NOT NULL"
	 " AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = o.file AND w.scope = r.scope)"},
	{7, "buckets that count other objects, or other bytes, than they have",
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL AND kind = 4 AND (files, bytes) IS NOT (SELECT count(*),"
	 " coalesce(sum(f.size), 0) FROM object o LEFT JOIN file f ON f.id = o.file WHERE o.repo = r.id)"},
	{13, "claims of a SHA-256 that disagree with the computed one",
	 "SELECT count(*) FROM file_owner w LEFT JOIN proof p ON p.file = w.file WHERE w.due IS NULL AND w.proof <>"
	 " CASE WHEN p.file IS NULL THEN 2 WHEN p.sha256 = w.sha256 THEN 3 ELSE 0 END"},
	{30, "contents of a repository that neither owns their file nor has it in a pull request",
	 "SELECT count(*) FROM content c CROSS JOIN repo r ON r.id = c.repo WHERE c.file IS NOT NULL"
	 " AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = c.file AND w.scope = r.scope)"
	 " AND NOT EXISTS(SELECT 1 FROM proposed p CROSS JOIN file_owner w WHERE p.file = c.file AND p.scope = r.scope"
	 " AND w.file = c.file AND w.scope = p.holder)"},
	{32, "parts of a repository that does not own their file, or of a content that has its bytes",
	 "SELECT count(*) FROM mirror_part p CROSS JOIN content c ON c.id = p.content CROSS JOIN repo r ON r.id = c.repo"
	 " WHERE c.file IS NOT NULL OR NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = p.file"
	 " AND w.scope = r.scope)"},
	{11, "contents without a repository", "SELECT count(*) FROM content WHERE repo NOT IN (SELECT id FROM repo)"},
	{11, "contents that count other entries than they are of",
	 "SELECT count(*) FROM content c LEFT JOIN (SELECT content, count(*) AS n FROM entry WHERE content IS NOT NULL"
	 " GROUP BY content) e ON e.content = c.id WHERE c.uses <> coalesce(e.n, 0)"},
	{11, "entries without a line, or of a content that is not there",
	 "SELECT count(*) FROM entry WHERE line NOT IN (SELECT id FROM line)"
	 " OR (content IS NOT NULL AND content NOT IN (SELECT id FROM content))"},
	{11, "entries of a commit that is still to come",
	 "SELECT count(*) FROM entry WHERE since > (SELECT seq FROM sqlite_sequence WHERE name = 'commit_')"},
	{11, "entries newer than the head of their line",
	 "SELECT count(*) FROM entry e CROSS JOIN line l ON l.id = e.line WHERE e.since > l.head AND l.head > 0"},
	{11, "lines or tags without their commit",
	 "SELECT (SELECT count(*) FROM line l CROSS JOIN ref r ON r.line = l.id WHERE r.commit_ = 0"
	 " AND l.head NOT IN (SELECT id FROM commit_)) + (SELECT count(*) FROM ref WHERE commit_ <> 0"
	 " AND commit_ NOT IN (SELECT id FROM commit_))"},
	{11, "repositories without the branch main",
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL AND kind <> 4"
	 " AND NOT EXISTS(SELECT 1 FROM ref WHERE repo = r.id AND kind = 1 AND name = 'main')"},
	{11, "repositories that count other files, or other bytes, than the head of main has",
	 "SELECT count(*) FROM repo r CROSS JOIN ref b ON b.repo = r.id AND b.kind = 1 AND b.name = 'main'"
	 " CROSS JOIN line l ON l.id = b.line CROSS JOIN commit_ c ON c.id = l.head"
	 " WHERE r.dropped IS NULL AND (r.files, r.bytes) IS NOT (c.files, c.bytes)"},
	{31, "repositories that count other bytes for their quota than they hold",
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL AND stored <> " CAIRN_QUOTA_STORED},
	{26, "repositories that count other bytes for strangers than their pull requests do",
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL"
	 " AND charged <> (SELECT coalesce(sum(p.charged), 0) FROM pull p WHERE p.repo = r.id)"},
	{29, "words of cards that disagree with their repository about whether it is private",
	 "SELECT count(*) FROM tag t CROSS JOIN repo r ON r.id = t.repo"
	 " WHERE (t.kind, t.private) IS NOT (r.kind, r.private) OR r.dropped IS NOT NULL"},
	{21, "owners that count other bytes for their quota than they hold",
	 "SELECT count(*) FROM scope s WHERE stored <> iif(quota IS NULL, 0, " CAIRN_QUOTA_OWNED ")"},
};

static enum cairn_status examine_links(struct examine *e, int64_t version)
{
	enum cairn_status status = examine_each(e, "SELECT * FROM pragma_foreign_key_check LIMIT " EXAMINE_MAX,
						"rows that name others cannot be read", examine_report_foreign);
	for (unsigned i = 0; i < sizeof(examine_rules) / sizeof(examine_rules[0]) && status == CAIRN_OK; i++) {
		const struct examine_rule *rule = &examine_rules[i];
		int64_t n = 0;
		if (version < rule->since)
			continue;
		status = cairn_sql_ask(e->db, rule->sql, &n);
		if (status != CAIRN_OK)
			status = examine_failed(e, status, rule->what);
		else if (n != 0)
			examine_report(e, CAIRN_INDEX_FAULT_LINK, "%lld %s", (long long)n, rule->what);
	}
	return status;
}

/* --- counts in the table state ------------------------------------------------------------------------------------ */

static void examine_report_count(struct examine *e, sqlite3_stmt *row)
{
	examine_report(e, CAIRN_INDEX_FAULT_COUNT, "state counts %lld %s, and there are %lld",
		       (long long)sqlite3_column_int64(row, 1), (const char *)sqlite3_column_text(row, 0),
		       (long long)sqlite3_column_int64(row, 2));
}

static const char EXAMINE_COUNTS[] =
	"SELECT what, told, found FROM (SELECT 'rows of state' AS what, 1 AS told, count(*) AS found FROM state"
	" UNION ALL SELECT 'files', (SELECT files FROM state), count(*) FROM file"
	" UNION ALL SELECT 'xorbs', (SELECT xorbs FROM state), count(*) FROM xorb"
	" UNION ALL SELECT 'shards', (SELECT shards FROM state), count(*) FROM shard"
	" UNION ALL SELECT 'eligible chunks', (SELECT eligible FROM state), count(*) FROM dedupe"
	" UNION ALL SELECT 'stored bytes', (SELECT stored_bytes FROM state), coalesce(sum(stored), 0) FROM xorb)"
	" WHERE told IS NOT found";

/* --- references --------------------------------------------------------------------------------------------------- */

static void examine_report_missing(struct examine *e, sqlite3_stmt *row)
{
	examine_report(e, CAIRN_INDEX_FAULT_REFERENCE,
		       "file number %lld needs xorb number %lld, and reference does not say so",
		       (long long)sqlite3_column_int64(row, 1), (long long)sqlite3_column_int64(row, 0));
}

static void examine_report_extra(struct examine *e, sqlite3_stmt *row)
{
	examine_report(e, CAIRN_INDEX_FAULT_REFERENCE,
		       "reference says that file number %lld needs xorb number %lld, and its terms do not",
		       (long long)sqlite3_column_int64(row, 1), (long long)sqlite3_column_int64(row, 0));
}

static void examine_report_terms(void *ctx, int64_t file)
{
	examine_report(ctx, CAIRN_INDEX_FAULT_REFERENCE, "the terms of file number %lld are damaged", (long long)file);
}

/* Lists the rows that differ only if the sums differ. */
static enum cairn_status examine_references(struct examine *e, int64_t version)
{
	bool agree = false;
	enum cairn_status status = cairn_needed_agrees(e->db, version, examine_report_terms, e, &agree);
	if (status == CAIRN_OK && agree)
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_needed_fill(e->db, version);
	if (status != CAIRN_OK)
		return examine_failed(e, status, "the files' terms cannot be compared with reference");
	status = examine_each(e, CAIRN_NEEDED_MISSING " LIMIT " EXAMINE_MAX, "reference cannot be read",
			      examine_report_missing);
	if (status == CAIRN_OK)
		status = examine_each(e, CAIRN_NEEDED_EXTRA " LIMIT " EXAMINE_MAX, "reference cannot be read",
				      examine_report_extra);
	return status;
}

/* --- offsets ------------------------------------------------------------------------------------------------------ */

enum { EXAMINE_OFFSETS_SINCE = 5 }; /* first version of the schema whose terms have offsets */

/* Files whose terms were reported. */
struct examine_offsets {
	struct examine *e;
	unsigned n;
};

static void examine_report_offsets(void *ctx, int64_t file)
{
	struct examine_offsets *o = ctx;
	if (o->n++ < CAIRN_INDEX_FAULTS_MAX)
		examine_report(o->e, CAIRN_INDEX_FAULT_OFFSETS,
			       "the terms of file number %lld name other bytes of their xorbs than the chunk lists",
			       (long long)file);
}

static enum cairn_status examine_offsets(struct examine *e, int64_t version)
{
	struct examine_offsets o = {.e = e};
	if (version < EXAMINE_OFFSETS_SINCE)
		return CAIRN_OK;
	enum cairn_status status = cairn_offsets_examine(e->db, examine_report_offsets, &o);
	return status == CAIRN_OK
		       ? CAIRN_OK
		       : examine_failed(e, status, "the files' terms cannot be compared with the chunk lists");
}

/* --- inline files ------------------------------------------------------------------------------------------------- */

enum { EXAMINE_CONTENTS_SINCE = 11 }; /* first version of the schema with inline files */

static void examine_report_content(void *ctx, const char *text)
{
	examine_report(ctx, CAIRN_INDEX_FAULT_CONTENT, "%s", text);
}

static enum cairn_status examine_contents(struct examine *e, int64_t version)
{
	if (version < EXAMINE_CONTENTS_SINCE)
		return CAIRN_OK;
	enum cairn_status status = cairn_contents_examine(e->db, examine_report_content, e);
	return status == CAIRN_OK ? CAIRN_OK : examine_failed(e, status, "the bytes of inline files cannot be read");
}

/* --- all checks --------------------------------------------------------------------------------------------------- */

static enum cairn_status examine_all(struct examine *e, int64_t version)
{
	enum cairn_status status = examine_trees(e);
	if (status == CAIRN_OK)
		status = examine_links(e, version);
	if (status == CAIRN_OK)
		status = examine_each(e, EXAMINE_COUNTS, "the tables cannot be counted", examine_report_count);
	if (status == CAIRN_OK)
		status = examine_references(e, version);
	if (status == CAIRN_OK)
		status = examine_offsets(e, version);
	return status == CAIRN_OK ? examine_contents(e, version) : status;
}

/* A foreign schema is a fault of an index in use. In a backup it is an error, which ends the examination. */
static enum cairn_status examine_schema(struct examine *e, const char *path, int64_t version, bool is_copy,
					struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = cairn_migrate_check_schema(e->db, path, version, &why);
	if (status == CAIRN_E_CONFLICT && !is_copy) {
		examine_report(e, CAIRN_INDEX_FAULT_TREE, "%s", why.text);
		return CAIRN_OK;
	}
	if (status != CAIRN_OK && diag)
		*diag = why;
	return status;
}

static enum cairn_status examine_path(const char *path, int flags, bool is_copy, cairn_index_visit_fault *visit,
				      void *ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	int64_t version = 0;
	enum cairn_status status = cairn_sql_open(&db, path, flags, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_judge(db, path, &version, diag);
	struct examine e = {.db = db, .visit = visit, .ctx = ctx};
	if (status == CAIRN_OK)
		status = examine_schema(&e, path, version, is_copy, diag);
	if (status == CAIRN_OK && cairn_sql_exec(db, "BEGIN") != CAIRN_OK)
		status = cairn_sql_fail(db, diag, "cannot read the index");
	if (status != CAIRN_OK)
		return status;
	status = examine_all(&e, version);
	return status == CAIRN_OK ? CAIRN_OK : cairn_sql_fail(db, diag, "cannot examine the index");
}

enum cairn_status cairn_sqlite_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
				       struct cairn_diag *diag)
{
	const struct cairn_pool *pool = &cairn_sqlite(ix)->pool;
	return examine_path(pool->path, pool->open_flags, false, visit, ctx, diag);
}

enum cairn_status cairn_sqlite_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	enum cairn_status status = cairn_sqlite_open_beside(ix, &db, NULL);
	struct examine e = {.db = db, .visit = visit, .ctx = ctx};
	return status == CAIRN_OK
		       ? examine_each(&e, "PRAGMA integrity_check('xorb')", EXAMINE_TREES, examine_report_tree)
		       : status;
}

/* The end of a quick check. */
struct examine_end {
	int64_t at_ms;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	cairn_index_visit_fault *visit;
	void *ctx;
};

static int examine_is_over(void *ctx)
{
	const struct examine_end *end = ctx;
	return cairn_clock_mono_ms() >= end->at_ms || (end->stop && end->stop(end->stop_ctx));
}

/* Ignores the "fault" that an interrupted check may report. */
static void examine_glanced(void *ctx, const struct cairn_index_fault *fault)
{
	struct examine_end *end = ctx;
	if (!examine_is_over(end))
		end->visit(end->ctx, fault);
}

enum cairn_status cairn_sqlite_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx), void *stop_ctx,
				      cairn_index_visit_fault *visit, void *ctx)
{
	static const char *const LOOKS[] = {
		"PRAGMA integrity_check('state')",      "PRAGMA integrity_check('scope')",
		"PRAGMA integrity_check('api_key')",    "PRAGMA integrity_check('shard')",
		"PRAGMA integrity_check('member')",     "PRAGMA integrity_check('xorb')",
		"PRAGMA integrity_check('file_owner')", "PRAGMA integrity_check('reference')",
		"PRAGMA integrity_check('file')",       "PRAGMA integrity_check('account')",
		"PRAGMA integrity_check('repo')",       "PRAGMA integrity_check('object')",
		"PRAGMA integrity_check('line')",       "PRAGMA integrity_check('ref')",
		"PRAGMA integrity_check('commit_')",    "PRAGMA integrity_check('content')",
		"PRAGMA integrity_check('entry')",      "PRAGMA integrity_check('former')",
		"PRAGMA integrity_check('proof')",      "PRAGMA integrity_check('dedupe')",
	};
	enum { OPERATIONS = 10000 }; /* steps of SQLite between two looks at the clock: some milliseconds */
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	struct examine_end end = {cairn_clock_mono_ms() + limit_ms, stop, stop_ctx, visit, ctx};
	enum cairn_status status = cairn_sqlite_open_beside(ix, &db, NULL);
	if (status != CAIRN_OK)
		return status;
	sqlite3_progress_handler(db, OPERATIONS, examine_is_over, &end);
	struct examine e = {.db = db, .visit = examine_glanced, .ctx = &end};
	for (unsigned i = 0; i < sizeof(LOOKS) / sizeof(LOOKS[0]) && status == CAIRN_OK; i++)
		status = examine_is_over(&end) ? CAIRN_E_BUSY
					       : examine_each(&e, LOOKS[i], EXAMINE_TREES, examine_report_tree);
	return status == CAIRN_E_BUSY ? CAIRN_OK : status;
}

enum cairn_status cairn_sqlite_backup_examine(const char *where, const char *path, cairn_index_visit_fault *visit,
					      void *ctx, struct cairn_diag *diag)
{
	(void)where;
	return examine_path(path, SQLITE_OPEN_READONLY, true, visit, ctx, diag);
}
