/* Reads the files of a commit. */
#include "index/hub/entries.h"
#include "index/sqlite/chain.h"
#include "index/sqlite/engine.h"

#include <string.h>

/* Columns after those of a chain. */
enum {
	HISTORY_SIZE = CAIRN_CHAIN_MORE,
	HISTORY_SHA256,
	HISTORY_FILE,
	HISTORY_BELIEF,
	HISTORY_ABSENT,
};

static enum cairn_status history_entry(sqlite3_stmt *row, struct cairn_index_entry *out)
{
	size_t len;
	*out = (struct cairn_index_entry){
		.folder = (const char *)sqlite3_column_text(row, CAIRN_CHAIN_FOLDER),
		.name = (const char *)sqlite3_column_text(row, CAIRN_CHAIN_NAME),
		.kind = CAIRN_INDEX_FOLDER,
		.commit = sqlite3_column_int64(row, CAIRN_CHAIN_SINCE),
		.content = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT),
		.size_bytes = (uint64_t)sqlite3_column_int64(row, HISTORY_SIZE),
	};
	if (!out->folder || !out->name || !cairn_chain_oid(row, CAIRN_CHAIN_OID, &out->oid))
		return CAIRN_E_DAMAGED;
	if (out->content == 0)
		return CAIRN_OK;
	const uint8_t *sha256 = cairn_sql_blob(row, HISTORY_SHA256, &len);
	out->is_absent = sqlite3_column_int(row, HISTORY_ABSENT) != 0;
	out->has_file = sqlite3_column_type(row, HISTORY_FILE) != SQLITE_NULL;
	if (out->has_file && !cairn_sql_hash(row, HISTORY_FILE, &out->file))
		return CAIRN_E_DAMAGED;
	if (!sha256) {
		out->kind = out->has_file ? CAIRN_INDEX_PLAIN : CAIRN_INDEX_INLINE;
		return CAIRN_OK;
	}
	out->kind = CAIRN_INDEX_XET;
	if (len != sizeof(out->sha256))
		return CAIRN_E_DAMAGED;
	memcpy(out->sha256, sha256, len);
	out->belief = (enum cairn_index_belief)sqlite3_column_int(row, HISTORY_BELIEF);
	return CAIRN_OK;
}

#define HISTORY_COLUMNS ", c.size, c.sha256, f.hash, coalesce(w.proof, 2), c.file IS NULL AND c.body IS NULL"
#define HISTORY_JOINS                                                                                                  \
	" LEFT JOIN content c ON c.id = e.content LEFT JOIN file_owner w ON w.file = c.file AND w.sha256 = c.sha256"   \
	" AND w.scope = (SELECT scope FROM repo WHERE id = c.repo)"                                                    \
	" LEFT JOIN file f ON f.id = c.file AND coalesce(w.proof, 2) > 0"

static CAIRN_READS(READ_LINE, CAIRN_CHAIN_LINE);
static CAIRN_READS(READ_ENTRY, CAIRN_CHAIN_FIND(HISTORY_COLUMNS, HISTORY_JOINS));

enum cairn_status cairn_sqlite_entry(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				     struct cairn_index_entry *out)
{
	struct cairn_chain chain;
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_entries_split(path, folder);
	if (!name)
		return CAIRN_E_NOT_FOUND;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_ENTRY);
	status = cairn_chain_read(cairn_read_stmt(r, &READ_LINE), commit->line, commit->id, &chain);
	if (status == CAIRN_OK)
		status = cairn_chain_find(stmt, &chain, folder, name);
	if (status == CAIRN_OK)
		status = history_entry(stmt, out);
	out->folder = out->name = NULL;
	return status;
}

struct history_listing {
	struct cairn_chain_scan scan;
	bool (*visit)(void *ctx, const struct cairn_index_entry *entry);
	void *ctx;
	bool more; /* the visitor did not stop */
};

/* Visits the entries after a name in a folder, up to the end of the last folder. */
static enum cairn_status history_list(struct history_listing *l, const char *folder, const char *name,
				      const char *last_folder)
{
	cairn_chain_begin(&l->scan, folder, name, last_folder);
	while (l->more) {
		sqlite3_stmt *row;
		struct cairn_index_entry entry;
		enum cairn_status status = cairn_chain_next(&l->scan, &row);
		if (status == CAIRN_OK && row)
			status = history_entry(row, &entry);
		if (status != CAIRN_OK || !row)
			return status;
		l->more = l->visit(l->ctx, &entry);
	}
	return CAIRN_OK;
}

static enum cairn_status history_list_all(struct history_listing *l, const struct cairn_index_listing *listing)
{
	struct cairn_entries_range ranges[2];
	unsigned n = cairn_entries_listed(ranges, listing);
	enum cairn_status status = CAIRN_OK;
	for (unsigned i = 0; i < n && status == CAIRN_OK; i++)
		status = history_list(l, ranges[i].folder, ranges[i].name, ranges[i].last_folder);
	return status;
}

static const struct cairn_statement READ_SCAN[] CAIRN_OF_READS = {
	CAIRN_CHAIN_EACH_LINE({"READ_SCAN", CAIRN_CHAIN_SCAN(HISTORY_COLUMNS, HISTORY_JOINS)}),
};

enum cairn_status cairn_sqlite_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
					  const struct cairn_index_listing *listing,
					  bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
{
	struct cairn_chain chain;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status == CAIRN_OK)
		status = cairn_chain_read(cairn_read_stmt(r, &READ_LINE), commit->line, commit->id, &chain);
	if (status != CAIRN_OK)
		return status;
	struct history_listing l = {.scan = {.chain = &chain, .stmts = cairn_prepared_at(&r->stmts, READ_SCAN)},
				    .visit = visit,
				    .ctx = ctx,
				    .more = true};
	status = history_list_all(&l, listing);
	cairn_chain_end(&l.scan);
	return status;
}
