/* Reads the files of a commit. */
#include "index/hub/entries.h"
#include "index/postgres/chain.h"
#include "index/postgres/hub.h"

#include <string.h>

enum { HISTORY_ENTRIES = 1000 }; /* entries of a page */

#define HISTORY_ENTRY                                                                                                  \
	"e.since, e.oid, coalesce(e.content, 0), coalesce(c.size, 0), c.sha256, f.hash, coalesce(w.proof, 2),"         \
	" CASE WHEN c.file IS NULL AND c.body IS NULL THEN 1 ELSE 0 END::bigint"
#define HISTORY_FILES                                                                                                  \
	" LEFT JOIN content c ON c.id = e.content LEFT JOIN file_owner w ON w.file = c.file AND w.sha256 = c.sha256"   \
	" AND w.scope = (SELECT scope FROM repo WHERE id = c.repo)"                                                    \
	" LEFT JOIN file f ON f.id = c.file AND coalesce(w.proof, 2) > 0"

static const char HISTORY_FIND_ENTRY[] =
	CAIRN_PG_CHAIN "SELECT k.folder, k.name, " HISTORY_ENTRY
		       " FROM (SELECT $3::bytea AS folder, $4::bytea AS name) k" CAIRN_PG_CHAIN_ENTRY HISTORY_FILES
		       " WHERE e.oid IS NOT NULL";
static const char HISTORY_PAGE[] =
	CAIRN_PG_CHAIN "SELECT e.folder, e.name, " HISTORY_ENTRY " FROM " CAIRN_PG_CHAIN_PAGE HISTORY_FILES
		       " ORDER BY e.folder, e.name";
static const char HISTORY_LINE[] = "SELECT 1 FROM line WHERE id = $1";

bool cairn_pg_get_oid(const PGresult *r, int row, int column, struct cairn_git_oid *out)
{
	if (PQgetlength(r, row, column) != (int)sizeof(out->b))
		return false;
	memcpy(out->b, PQgetvalue(r, row, column), sizeof(out->b));
	return true;
}

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
	ENTRY_BELIEF,
	ENTRY_ABSENT
};

/* Reads all columns but folder and name. */
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
	out->is_absent = cairn_pg_get_int8(r, row, ENTRY_ABSENT) != 0;
	out->has_file = !PQgetisnull(r, row, ENTRY_FILE);
	if (out->has_file && !cairn_pg_get_hash(r, row, ENTRY_FILE, &out->file))
		return false;
	if (PQgetisnull(r, row, ENTRY_SHA256)) {
		out->kind = out->has_file ? CAIRN_INDEX_PLAIN : CAIRN_INDEX_INLINE;
		return true;
	}
	out->kind = CAIRN_INDEX_XET;
	if (!cairn_pg_get_hash(r, row, ENTRY_SHA256, &sha256))
		return false;
	memcpy(out->sha256, sha256.b, sizeof(out->sha256));
	out->belief = (enum cairn_index_belief)cairn_pg_get_int8(r, row, ENTRY_BELIEF);
	return true;
}

enum cairn_status cairn_postgres_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
				       const char *path, struct cairn_index_entry *out)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_entries_split(path, folder);
	if (!name)
		return CAIRN_E_NOT_FOUND;
	PG_READ(ix, reader, r, HISTORY_FIND_ENTRY,
		CAIRN_ARGS(cairn_db_int(commit->line), cairn_db_int(commit->id), cairn_db_path(folder),
			   cairn_db_path(name)));
	if (PQntuples(r) == 0)
		return CAIRN_E_NOT_FOUND;
	return history_entry(r, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

struct history_listing {
	struct cairn_pg_reader *reader;
	const struct cairn_index_commit *commit;
	bool (*visit)(void *ctx, const struct cairn_index_entry *entry);
	void *ctx;
	bool asked, more; /* asked: the line was found; more: the visitor wants more */
};

/* @param[in,out] at  the start; on return the last entry */
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

/* Visits a range, a page at a time. The first page is small, because a visitor may want few entries. */
static enum cairn_status history_list(struct history_listing *l, struct cairn_entries_range *at)
{
	enum cairn_status status = CAIRN_OK;
	for (int page = HISTORY_ENTRIES / 8, n = page; l->more && n == page && status == CAIRN_OK;) {
		struct cairn_pg *pg = &l->reader->pg;
		page = n == page && l->asked ? HISTORY_ENTRIES : page;
		unsigned there = cairn_pg_queue(pg, HISTORY_LINE, CAIRN_ARGS(cairn_db_int(l->commit->line)));
		unsigned entries = cairn_pg_queue(pg, HISTORY_PAGE,
						  CAIRN_ARGS(cairn_db_int(l->commit->line), cairn_db_int(l->commit->id),
							     cairn_db_path(at->folder), cairn_db_path(at->name),
							     cairn_db_path(at->last_folder), cairn_db_int(page)));
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

enum cairn_status cairn_postgres_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
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
