/* Checks in one snapshot that the tables agree. PostgreSQL's own tools check pages and trees (amcheck, checksums). */
#include "index/examine.h"
#include "index/postgres/engine.h"
#include "index/rows.h"

#include <stdio.h>
#include <stdlib.h>

static const char EXAMINE_BEGIN[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
static const char EXAMINE_END[] = "ROLLBACK";
static const char EXAMINE_FILES[] = "SELECT hash, size, terms, id FROM file WHERE id > $1 ORDER BY id LIMIT 256";
static const char EXAMINE_REFERENCES[] =
	"SELECT xorb, file FROM reference WHERE file > $1 AND file <= $2 ORDER BY file, xorb";
/* Reads inline files, each of at most 64 KiB. */
static const char EXAMINE_CONTENTS[] =
	"SELECT id, key, size, body FROM content WHERE id > $1 AND key IS NOT NULL AND body IS NOT NULL ORDER BY id LIMIT 64";
static const char EXAMINE_CONTENT_NAME[] =
	"SELECT a.name, r.name, convert_from(e.folder, 'UTF8'), convert_from(e.name, 'UTF8') FROM content c"
	" JOIN repo r ON r.id = c.repo JOIN account a ON a.id = r.account LEFT JOIN entry e ON e.content = c.id"
	" WHERE c.id = $1 LIMIT 1";
static const char EXAMINE_STRAY[] =
	"SELECT count(*) FROM reference r WHERE NOT EXISTS(SELECT 1 FROM file f WHERE f.id = r.file)";

/* Sums the size of an owner's files. Looks each file up, so that no plan reads all files for each owner. */
#define EXAMINE_HELD(owner)                                                                                            \
	"(SELECT coalesce(sum((SELECT " CAIRN_POSTGRES_FILE_COUNTS(                                                    \
		"f.size") " FROM file f WHERE f.id = w.file)), 0)"                                                     \
			  " FROM (SELECT DISTINCT file FROM file_owner WHERE scope + 0 = " owner ") w)"

/* Sums inline contents, rows and former names of each repository, as they count for quotas. Reads each table once. */
#define EXAMINE_AND(repo, counts, from) " UNION ALL SELECT " repo ", " counts " FROM " from
#define EXAMINE_ROWS                                                                                                            \
	"(SELECT repo, sum(counts) AS counts FROM (SELECT repo, size AS counts FROM content WHERE key IS NOT NULL" EXAMINE_AND( \
		"repo", CAIRN_SQL_COMMIT_COUNTS(POSTGRES), "commit_")                                                           \
		EXAMINE_AND("l.repo", CAIRN_SQL_ENTRY_COUNTS(POSTGRES), "entry e JOIN line l ON l.id = e.line")                 \
			EXAMINE_AND("repo", CAIRN_SQL_REF_COUNTS(POSTGRES),                                                     \
				    "ref") EXAMINE_AND("repo", CAIRN_SQL_PULL_COUNTS(POSTGRES), "pull")                         \
				EXAMINE_AND("repo", CAIRN_SQL_OBJECT_COUNTS(POSTGRES), "object")                                \
					EXAMINE_AND("repo", CAIRN_SQL_FORMER_COUNTS, "former") ") n GROUP BY repo)"

/* Queries, each of which counts the wrong rows of one kind. */
static const struct examine_query {
	enum cairn_index_fault_kind kind;
	const char *sql, *text;
} LOOKS[] = {
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM xorb x WHERE NOT EXISTS(SELECT 1 FROM list l WHERE l.xorb = x.id"
	 " AND octet_length(l.hashes) = x.chunks * 32 AND octet_length(l.spans) = x.chunks * 8)",
	 "xorbs without a list of as many chunks"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM dedupe d WHERE NOT EXISTS(SELECT 1 FROM xorb x WHERE x.id = d.xorb"
	 " AND d.place < x.chunks AND x.retired IS NULL)",
	 "chunks that are offered of a xorb that is not there, has fewer, or is retired"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM member m WHERE NOT EXISTS(SELECT 1 FROM xorb x WHERE x.id = m.xorb)"
	 " OR NOT EXISTS(SELECT 1 FROM shard s WHERE s.id = m.shard)",
	 "members of a shard without shard or xorb"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM file f WHERE NOT EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id)",
	 "files without an owner"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM file_owner o WHERE NOT EXISTS(SELECT 1 FROM scope s WHERE s.id = o.scope)",
	 "owners without a name"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM object o JOIN repo r ON r.id = o.repo WHERE o.file IS NOT NULL"
	 " AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = o.file AND w.scope = r.scope)",
	 "objects of a bucket that does not own their file"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL AND kind = 4 AND (files, bytes) <> (SELECT"
	 " count(*), coalesce(sum(f.size), 0)::bigint FROM object o LEFT JOIN file f ON f.id = o.file WHERE o.repo = r.id)",
	 "buckets that count other objects, or other bytes, than they have"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM content c LEFT JOIN repo r ON r.id = c.repo WHERE r.id IS NULL OR (c.file IS NOT NULL"
	 " AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = c.file AND w.scope = r.scope)"
	 " AND NOT EXISTS(SELECT 1 FROM proposed p JOIN file_owner w ON w.file = p.file AND w.scope = p.holder"
	 " WHERE p.file = c.file AND p.scope = r.scope))",
	 "contents without a repository, or of one that neither owns their file nor has it in a pull request"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM mirror_part p JOIN content c ON c.id = p.content JOIN repo r ON r.id = c.repo"
	 " WHERE c.file IS NOT NULL OR NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = p.file"
	 " AND w.scope = r.scope)",
	 "parts of a repository that does not own their file, or of a content that has its bytes"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM content c LEFT JOIN (SELECT content, count(*) AS n FROM entry WHERE content IS NOT NULL"
	 " GROUP BY content) e ON e.content = c.id WHERE c.uses <> coalesce(e.n, 0)",
	 "contents that count other entries than they are of"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM entry e LEFT JOIN line l ON l.id = e.line LEFT JOIN content c ON c.id = e.content"
	 " WHERE l.id IS NULL OR (e.since > l.head AND l.head > 0) OR (e.content IS NOT NULL AND c.id IS NULL)",
	 "entries without a line, newer than its head, or of a content that is not there"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM ref r JOIN line l ON l.id = r.line WHERE NOT EXISTS(SELECT 1 FROM commit_ c WHERE c.id ="
	 " CASE r.commit_ WHEN 0 THEN l.head ELSE r.commit_ END)",
	 "lines or tags without their commit"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM repo r LEFT JOIN LATERAL (SELECT c.files, c.bytes FROM ref b JOIN line l ON l.id = b.line"
	 " JOIN commit_ c ON c.id = l.head WHERE b.repo = r.id AND b.kind = 1 AND b.name = 'main' LIMIT 1) m ON true"
	 " WHERE dropped IS NULL AND kind <> 4 AND (r.files, r.bytes) IS DISTINCT FROM (m.files, m.bytes)",
	 "repositories without the branch main, or that count other files or bytes than its head has"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM repo r LEFT JOIN " EXAMINE_ROWS " k ON k.repo = r.id WHERE dropped IS NULL"
	 " AND stored <> " CAIRN_SQL_REPO_COUNTS " + " EXAMINE_HELD("r.scope") " + coalesce(k.counts, 0)",
	 "repositories that count other bytes for their quota than they hold"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM repo r WHERE dropped IS NULL"
	 " AND charged <> (SELECT coalesce(sum(p.charged), 0) FROM pull p WHERE p.repo = r.id)",
	 "repositories that count other bytes for strangers than their pull requests do"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM scope s WHERE stored <> CASE WHEN quota IS NULL THEN 0 ELSE " EXAMINE_HELD(
		 "s.id") " END",
	 "owners that count other bytes for their quota than they hold"},
	{CAIRN_INDEX_FAULT_LINK,
	 "SELECT count(*) FROM tag t JOIN repo r ON r.id = t.repo"
	 " WHERE (t.kind, t.private) IS DISTINCT FROM (r.kind, r.private) OR r.dropped IS NOT NULL",
	 "words of cards that disagree with their repository about whether it is private"},
	{CAIRN_INDEX_FAULT_COUNT,
	 "SELECT count(*) FROM state WHERE files <> (SELECT count(*) FROM file)"
	 " OR xorbs <> (SELECT count(*) FROM xorb) OR shards <> (SELECT count(*) FROM shard)"
	 " OR eligible <> (SELECT count(*) FROM dedupe)"
	 " OR stored_bytes <> (SELECT coalesce(sum(stored), 0) FROM xorb)",
	 "counts that are not those of the tables"},
};

struct examine {
	struct cairn_pg *pg;
	cairn_index_visit_fault *visit; /* NULL: not reported */
	void *ctx;
	unsigned n_faults;
};

static void examine_report(struct examine *e, enum cairn_index_fault_kind kind, const char *text)
{
	const struct cairn_index_fault fault = {kind, text};
	if (e->n_faults++ < CAIRN_INDEX_FAULTS_MAX && e->visit)
		e->visit(e->ctx, &fault);
}

static enum cairn_status examine_count(struct examine *e, const struct examine_query *look)
{
	char text[192];
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(e->pg, look->sql, NULL, &r);
	int64_t n = status == CAIRN_OK ? cairn_pg_get_int8(r, 0, 0) : 0;
	if (n > 0) {
		(void)snprintf(text, sizeof(text), "%s: %lld", look->text, (long long)n);
		examine_report(e, look->kind, text);
	}
	return status;
}

/* --- references --------------------------------------------------------------------------------------------------- */

static int examine_by_xorb(const void *pa, const void *pb)
{
	const struct cairn_index_term *a = pa, *b = pb;
	return a->xorb_id < b->xorb_id ? -1 : a->xorb_id > b->xorb_id;
}

/* Compares a file with its references, which are in the order of the page's files. @param[in,out] at  the first
 * reference not compared yet */
static enum cairn_status examine_file(struct examine *e, const PGresult *files, int row, const PGresult *references,
				      int *at)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	char text[96];
	int64_t id = cairn_pg_get_int8(files, row, 3);
	enum cairn_status status = cairn_pg_file_row(files, row, true, &file);
	bool agree = status == CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_DAMAGED)
		return status;
	if (agree && file.n_terms > 0)
		qsort(file.terms, file.n_terms, sizeof(*file.terms), examine_by_xorb);
	for (uint32_t i = 0; agree && i < file.n_terms; i++) {
		if (i > 0 && file.terms[i].xorb_id == file.terms[i - 1].xorb_id)
			continue;
		agree = *at < PQntuples(references) && cairn_pg_get_int8(references, *at, 1) == id &&
			cairn_pg_get_int8(references, *at, 0) == file.terms[i].xorb_id;
		*at += agree;
	}
	for (; *at < PQntuples(references) && cairn_pg_get_int8(references, *at, 1) <= id; (*at)++)
		agree = false;
	if (!agree) {
		(void)snprintf(text, sizeof(text), "the references of file %lld are not what its terms say",
			       (long long)id);
		examine_report(e, CAIRN_INDEX_FAULT_REFERENCE, text);
	}
	return CAIRN_OK;
}

/* @param[in,out] after  the last file examined @param[out] more  false: there are no further files */
static enum cairn_status examine_page(struct examine *e, int64_t *after, bool *more)
{
	CLEANUP(cairn_pg_clearp) PGresult *files = NULL;
	const PGresult *r;
	int at = 0;
	*more = false;
	enum cairn_status status = cairn_pg_ask(e->pg, EXAMINE_FILES, CAIRN_ARGS(cairn_db_int(*after)), &r);
	int n = status == CAIRN_OK ? PQntuples(r) : 0;
	if (n == 0)
		return status;
	files = cairn_pg_keep(e->pg, r);
	int64_t last = cairn_pg_get_int8(files, n - 1, 3);
	status = cairn_pg_ask(e->pg, EXAMINE_REFERENCES, CAIRN_ARGS(cairn_db_int(*after), cairn_db_int(last)), &r);
	*after = last;
	for (int i = 0; status == CAIRN_OK && i < n; i++)
		status = examine_file(e, files, i, r, &at);
	*more = true;
	return status;
}

static enum cairn_status examine_references(struct examine *e)
{
	static const struct examine_query STRAY = {CAIRN_INDEX_FAULT_REFERENCE, EXAMINE_STRAY,
						   "references of files that are not there"};
	enum cairn_status status = examine_count(e, &STRAY);
	int64_t after = 0;
	if (status == CAIRN_OK)
		cairn_pg_look_up(e->pg);
	for (bool more = true; status == CAIRN_OK && more;)
		status = examine_page(e, &after, &more);
	return status;
}

/* --- inline files ------------------------------------------------------------------------------------------------- */

/* Reports an inline file. Finding the entry of a content takes a scan; few are needed if little is wrong. */
static enum cairn_status examine_report_content(struct examine *e, int64_t content)
{
	char text[CAIRN_ROWS_INLINE_TEXT_BYTES], part[4][CAIRN_INDEX_PATH_MAX + 1] = {"?", "?", "", "?"};
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(e->pg, EXAMINE_CONTENT_NAME, CAIRN_ARGS(cairn_db_int(content)), &r);
	if (status != CAIRN_OK)
		return status;
	for (int i = 0; i < 4 && PQntuples(r) > 0; i++)
		(void)!cairn_pg_get_text(r, 0, i, part[i], sizeof(part[i]));
	cairn_rows_inline_text(text, content, part[0], part[1], part[2], part[3]);
	examine_report(e, CAIRN_INDEX_FAULT_CONTENT, text);
	return CAIRN_OK;
}

/* @param[in,out] after  the last content examined @param[out] more  false: there are no further contents */
static enum cairn_status examine_contents_page(struct examine *e, int64_t *after, bool *more)
{
	CLEANUP(cairn_pg_clearp) PGresult *page = NULL;
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(e->pg, EXAMINE_CONTENTS, CAIRN_ARGS(cairn_db_int(*after)), &r);
	int n = status == CAIRN_OK ? PQntuples(r) : 0;
	*more = n > 0;
	if (n == 0)
		return status;
	page = cairn_pg_keep(e->pg, r);
	*after = cairn_pg_get_int8(page, n - 1, 0);
	for (int i = 0; status == CAIRN_OK && i < n; i++) {
		size_t len;
		const uint8_t *body = cairn_pg_get_bytes(page, i, 3, &len);
		status = cairn_rows_inline(cairn_pg_get_int8(page, i, 1), cairn_pg_get_int8(page, i, 2), body, len);
		if (status == CAIRN_E_DAMAGED)
			status = examine_report_content(e, cairn_pg_get_int8(page, i, 0));
	}
	return status;
}

static enum cairn_status examine_contents(struct examine *e)
{
	enum cairn_status status = CAIRN_OK;
	int64_t after = 0;
	for (bool more = true; status == CAIRN_OK && more && e->n_faults < CAIRN_INDEX_FAULTS_MAX;)
		status = examine_contents_page(e, &after, &more);
	return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static enum cairn_status examine_all(struct cairn_index *ix, struct examine *e, bool looks)
{
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	e->pg = &reader->pg;
	e->pg->silence_ms = CAIRN_PG_SCAN_MS;
	(void)cairn_pg_queue(e->pg, EXAMINE_BEGIN, NULL);
	cairn_pg_scan(e->pg);
	status = cairn_pg_exchange(e->pg);
	for (size_t i = 0; looks && status == CAIRN_OK && i < sizeof(LOOKS) / sizeof(LOOKS[0]); i++)
		status = examine_count(e, &LOOKS[i]);
	if (status == CAIRN_OK)
		status = examine_references(e);
	if (status == CAIRN_OK && looks)
		status = examine_contents(e);
	if (e->pg->conn && cairn_pg_run(e->pg, EXAMINE_END, NULL, NULL) != CAIRN_OK)
		cairn_pg_close(e->pg);
	e->pg->silence_ms = CAIRN_PG_SILENCE_MS;
	return status;
}

enum cairn_status cairn_postgres_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
					 struct cairn_diag *diag)
{
	struct examine e = {.visit = visit, .ctx = ctx};
	enum cairn_status status = examine_all(ix, &e, true);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	return cairn_fail(diag, status, "index.database", CAIRN_NO_OFFSET, "the index cannot be examined: %s",
			  cairn_status_name(status));
}

enum cairn_status cairn_postgres_needs_agree(struct cairn_index *ix, bool *agree)
{
	struct examine e = {.visit = NULL};
	enum cairn_status status = examine_all(ix, &e, false);
	*agree = status == CAIRN_OK && e.n_faults == 0;
	return status;
}
