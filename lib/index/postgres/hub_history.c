/* Commits and what names them, and the files at a commit: reading. */
#include "index/entries.h"
#include "index/postgres/chain.h"
#include "index/postgres/hub.h"

#include <string.h>

enum { HISTORY_COMMITS = 100, HISTORY_ENTRIES = 1000 }; /* of a page */

#define HISTORY_COMMIT                                                                                                 \
	"SELECT c.id, c.repo, c.line, c.parent, c.number, c.oid, c.root, c.at, c.files, c.bytes, c.author, c.title"
#define HISTORY_ENTRY                                                                                                  \
	"e.since, e.oid, coalesce(e.content, 0), coalesce(c.size, 0), c.sha256, f.hash, coalesce(w.proof, 2)"
#define HISTORY_FILES                                                                                                  \
	" LEFT JOIN content c ON c.id = e.content LEFT JOIN file_owner w ON w.file = c.file AND w.sha256 = c.sha256"   \
	" AND w.scope = (SELECT scope FROM repo WHERE id = c.repo)"                                                    \
	" LEFT JOIN file f ON f.id = c.file AND coalesce(w.proof, 2) > 0"

static const char HISTORY_REF[] =
	HISTORY_COMMIT " FROM ref r JOIN line l ON l.id = r.line JOIN commit_ c ON c.id = CASE r.commit_ WHEN 0"
		       " THEN l.head ELSE r.commit_ END WHERE r.repo = $1 AND r.kind = $2 AND r.name = $3";
static const char HISTORY_EACH_REF[] =
	"SELECT r.kind, r.name, c.oid, r.kind = 3 AND r.commit_ <> 0 FROM ref r JOIN line l ON l.id = r.line JOIN commit_ c ON c.id = CASE r.commit_"
	" WHEN 0 THEN l.head ELSE r.commit_ END WHERE r.repo = $1 ORDER BY r.kind, r.name";
static const char HISTORY_FIND[] =
	HISTORY_COMMIT " FROM commit_ c WHERE c.repo = $1 AND c.oid BETWEEN $2 AND $3 LIMIT 2";
static const char HISTORY_BY_ID[] = HISTORY_COMMIT " FROM commit_ c WHERE c.id = $1";
/* Those of the line $1 and of those that it left, whose numbers are above $3 and up to $2. */
static const char HISTORY_EACH_COMMIT[] =
	"WITH RECURSIVE h(line, top) AS (SELECT $1::bigint, $2::bigint UNION ALL SELECT l.parent, least(h.top, f.number)"
	" FROM h JOIN line l ON l.id = h.line JOIN commit_ f ON f.id = l.fork WHERE l.parent IS NOT NULL"
	" AND f.number > $3) " HISTORY_COMMIT
	", c.message FROM h JOIN commit_ c ON c.line = h.line AND c.number <= h.top AND c.number > $3"
	" ORDER BY c.number DESC";
static const char HISTORY_FIND_ENTRY[] =
	CAIRN_PG_CHAIN "SELECT k.folder, k.name, " HISTORY_ENTRY
		       " FROM (SELECT $3::bytea AS folder, $4::bytea AS name) k" CAIRN_PG_CHAIN_ENTRY HISTORY_FILES
		       " WHERE e.oid IS NOT NULL";
static const char HISTORY_PAGE[] =
	CAIRN_PG_CHAIN "SELECT e.folder, e.name, " HISTORY_ENTRY " FROM " CAIRN_PG_CHAIN_PAGE HISTORY_FILES
		       " ORDER BY e.folder, e.name";
static const char HISTORY_LINE[] = "SELECT 1 FROM line WHERE id = $1";
static const char HISTORY_INLINE[] = "SELECT body FROM content WHERE id = $1 AND body IS NOT NULL";

bool cairn_pg_get_oid(const PGresult *r, int row, int column, struct cairn_git_oid *out)
{
	if (PQgetlength(r, row, column) != (int)sizeof(out->b))
		return false;
	memcpy(out->b, PQgetvalue(r, row, column), sizeof(out->b));
	return true;
}

/* --- commits ------------------------------------------------------------------------------------------------------ */

static bool history_columns(const PGresult *r, int row, struct cairn_index_commit *out)
{
	*out = (struct cairn_index_commit){
		.id = cairn_pg_get_int8(r, row, 0),
		.repo = cairn_pg_get_int8(r, row, 1),
		.line = cairn_pg_get_int8(r, row, 2),
		.parent = cairn_pg_get_int8(r, row, 3),
		.number = (uint64_t)cairn_pg_get_int8(r, row, 4),
		.at_unix_s = cairn_pg_get_int8(r, row, 7),
		.n_files = (uint64_t)cairn_pg_get_int8(r, row, 8),
		.bytes = (uint64_t)cairn_pg_get_int8(r, row, 9),
	};
	return cairn_pg_get_oid(r, row, 5, &out->oid) && cairn_pg_get_oid(r, row, 6, &out->root) &&
	       cairn_pg_get_text(r, row, 10, out->author, sizeof(out->author)) &&
	       cairn_pg_get_text(r, row, 11, out->title, sizeof(out->title));
}

/* The one that there is. */
static enum cairn_status history_one(const PGresult *r, struct cairn_index_commit *out)
{
	if (PQntuples(r) != 1)
		return CAIRN_E_NOT_FOUND;
	return history_columns(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

enum cairn_status cairn_pg_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			       struct cairn_index_commit *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, repo);
	cairn_pg_int8(&args, (int64_t)kind);
	cairn_pg_bytes(&args, name, strlen(name));
	PG_READ(ix, reader, r, HISTORY_REF, &args);
	return history_one(r, out);
}

enum cairn_status cairn_pg_each_ref(struct cairn_index *ix, int64_t repo,
				    bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
{
	char name[CAIRN_INDEX_REF_NAME_MAX + 1];
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, repo);
	PG_READ(ix, reader, r, HISTORY_EACH_REF, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		struct cairn_index_ref_row ref = {.kind = (enum cairn_index_ref_kind)cairn_pg_get_int8(r, i, 0),
						  .name = name,
						  .ended = cairn_pg_get_int8(r, i, 3) != 0};
		if (!cairn_pg_get_text(r, i, 1, name, sizeof(name)) || !cairn_pg_get_oid(r, i, 2, &ref.commit))
			return CAIRN_E_DAMAGED;
		if (!visit(ctx, &ref))
			break;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_pg_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
				       struct cairn_index_commit *out)
{
	struct cairn_git_oid low, high;
	struct cairn_pg_args args = {0};
	if (!cairn_entries_oid_range(prefix, &low, &high))
		return CAIRN_E_NOT_FOUND;
	cairn_pg_int8(&args, repo);
	cairn_pg_bytes(&args, low.b, sizeof(low.b));
	cairn_pg_bytes(&args, high.b, sizeof(high.b));
	PG_READ(ix, reader, r, HISTORY_FIND, &args);
	return history_one(r, out);
}

enum cairn_status cairn_pg_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, id);
	PG_READ(ix, reader, r, HISTORY_BY_ID, &args);
	return history_one(r, out);
}

/* Visit a page of them. @param[out] more  the visitor wants more */
static enum cairn_status history_page(struct cairn_pg_reader *reader, int64_t line, int64_t top, int64_t above,
				      bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						    const char *message),
				      void *ctx, bool *more)
{
	const PGresult *r;
	struct cairn_index_commit commit;
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, line);
	cairn_pg_int8(&args, top);
	cairn_pg_int8(&args, above);
	enum cairn_status status = cairn_pg_ask(&reader->pg, HISTORY_EACH_COMMIT, &args, &r);
	for (int i = 0; status == CAIRN_OK && *more && i < PQntuples(r); i++) {
		if (!history_columns(r, i, &commit))
			return CAIRN_E_DAMAGED;
		*more = visit(ctx, &commit, PQgetvalue(r, i, 12));
	}
	return status;
}

enum cairn_status cairn_pg_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
				       bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						     const char *message),
				       void *ctx)
{
	int64_t top = from->number > skip ? (int64_t)(from->number - skip) : 0;
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	/* One commit has each number: a page is a range of them. */
	for (bool more = true; status == CAIRN_OK && more && top > 0; top -= HISTORY_COMMITS)
		status = history_page(reader, from->line, top, top - HISTORY_COMMITS, visit, ctx, &more);
	return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Columns of an entry. */
enum {
	ENTRY_FOLDER,
	ENTRY_NAME,
	ENTRY_SINCE,
	ENTRY_OID,
	ENTRY_CONTENT,
	ENTRY_SIZE,
	ENTRY_SHA256,
	ENTRY_FILE,
	ENTRY_BELIEF
};

/* All but folder and name. */
static bool history_entry(const PGresult *r, int row, struct cairn_index_entry *out)
{
	struct cairn_hash sha256;
	*out = (struct cairn_index_entry){
		.kind = CAIRN_INDEX_FOLDER,
		.commit = cairn_pg_get_int8(r, row, ENTRY_SINCE),
		.content = cairn_pg_get_int8(r, row, ENTRY_CONTENT),
		.size_bytes = (uint64_t)cairn_pg_get_int8(r, row, ENTRY_SIZE),
	};
	if (!cairn_pg_get_oid(r, row, ENTRY_OID, &out->oid))
		return false;
	if (out->content == 0)
		return true;
	out->kind = CAIRN_INDEX_INLINE;
	if (PQgetisnull(r, row, ENTRY_SHA256))
		return true;
	out->kind = CAIRN_INDEX_XET;
	out->has_file = !PQgetisnull(r, row, ENTRY_FILE);
	if (!cairn_pg_get_hash(r, row, ENTRY_SHA256, &sha256) ||
	    (out->has_file && !cairn_pg_get_hash(r, row, ENTRY_FILE, &out->file)))
		return false;
	memcpy(out->sha256, sha256.b, sizeof(out->sha256));
	out->belief = (enum cairn_index_belief)cairn_pg_get_int8(r, row, ENTRY_BELIEF);
	return true;
}

enum cairn_status cairn_pg_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				 struct cairn_index_entry *out)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_entries_split(path, folder);
	struct cairn_pg_args args = {0};
	if (!name)
		return CAIRN_E_NOT_FOUND;
	cairn_pg_int8(&args, commit->line);
	cairn_pg_int8(&args, commit->id);
	cairn_pg_bytes(&args, folder, strlen(folder));
	cairn_pg_bytes(&args, name, strlen(name));
	PG_READ(ix, reader, r, HISTORY_FIND_ENTRY, &args);
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	return history_entry(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

struct history_listing {
	struct cairn_pg_reader *reader;
	const struct cairn_index_commit *commit;
	bool (*visit)(void *ctx, const struct cairn_index_entry *entry);
	void *ctx;
	bool asked, more; /* whether the line is there; the visitor wants more */
};

/* @param[in,out] at  where it begins; then its last entry */
static enum cairn_status history_visit(struct history_listing *l, const PGresult *r, struct cairn_entries_range *at)
{
	struct cairn_index_entry entry;
	for (int i = 0; l->more && i < PQntuples(r); i++) {
		if (!cairn_pg_get_text(r, i, ENTRY_FOLDER, at->folder, sizeof(at->folder)) ||
		    !cairn_pg_get_text(r, i, ENTRY_NAME, at->name, sizeof(at->name)))
			return CAIRN_E_DAMAGED;
		if (PQgetisnull(r, i, ENTRY_OID))
			continue;
		if (!history_entry(r, i, &entry))
			return CAIRN_E_DAMAGED;
		entry.folder = at->folder;
		entry.name = at->name;
		l->more = l->visit(l->ctx, &entry);
	}
	return CAIRN_OK;
}

/* Of a range a page at a time, of which the first is a small one: a visitor may want but some. */
static enum cairn_status history_list(struct history_listing *l, struct cairn_entries_range *at)
{
	enum cairn_status status = CAIRN_OK;
	for (int page = HISTORY_ENTRIES / 8, n = page; l->more && n == page && status == CAIRN_OK;) {
		struct cairn_pg *pg = &l->reader->pg;
		struct cairn_pg_args line = {0}, args = {0};
		page = n == page && l->asked ? HISTORY_ENTRIES : page;
		cairn_pg_int8(&line, l->commit->line);
		cairn_pg_int8(&args, l->commit->line);
		cairn_pg_int8(&args, l->commit->id);
		cairn_pg_bytes(&args, at->folder, strlen(at->folder));
		cairn_pg_bytes(&args, at->name, strlen(at->name));
		cairn_pg_bytes(&args, at->last_folder, strlen(at->last_folder));
		cairn_pg_int8(&args, page);
		unsigned there = cairn_pg_queue(pg, HISTORY_LINE, &line);
		unsigned entries = cairn_pg_queue(pg, HISTORY_PAGE, &args);
		status = cairn_pg_exchange(pg);
		if (status == CAIRN_OK && PQntuples(pg->results[there]) == 0)
			return CAIRN_E_NOT_FOUND;
		if (status != CAIRN_OK)
			return status;
		l->asked = true;
		n = PQntuples(pg->results[entries]);
		status = history_visit(l, pg->results[entries], at);
	}
	return status;
}

enum cairn_status cairn_pg_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
				      const struct cairn_index_listing *listing,
				      bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
{
	struct cairn_entries_range ranges[2];
	unsigned n = cairn_entries_listed(ranges, listing);
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	struct history_listing l = {.reader = reader, .commit = commit, .visit = visit, .ctx = ctx, .more = true};
	for (unsigned i = 0; i < n && l.more && status == CAIRN_OK; i++)
		status = history_list(&l, &ranges[i]);
	return status;
}

enum cairn_status cairn_pg_inline_bytes(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, content);
	PG_READ(ix, reader, r, HISTORY_INLINE, &args);
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	const uint8_t *bytes = cairn_pg_get_bytes(r, 0, 0, len);
	if (*len > CAIRN_INDEX_INLINE_MAX)
		return CAIRN_E_DAMAGED;
	memcpy(out, bytes, *len);
	return CAIRN_OK;
}
