/* Commits and what names them, and the files at a commit: reading. */
#include "index/entries.h"
#include "index/sqlite/chain.h"
#include "index/sqlite/engine.h"

#include <string.h>

/* --- commits ------------------------------------------------------------------------------------------------------ */

static enum cairn_status history_columns(sqlite3_stmt *row, struct cairn_index_commit *out)
{
	*out = (struct cairn_index_commit){
		.id = sqlite3_column_int64(row, 0),
		.repo = sqlite3_column_int64(row, 1),
		.line = sqlite3_column_int64(row, 2),
		.parent = sqlite3_column_int64(row, 3),
		.number = (uint64_t)sqlite3_column_int64(row, 4),
		.at_unix_s = sqlite3_column_int64(row, 7),
		.n_files = (uint64_t)sqlite3_column_int64(row, 8),
		.bytes = (uint64_t)sqlite3_column_int64(row, 9),
	};
	bool ok = cairn_chain_oid(row, 5, &out->oid) && cairn_chain_oid(row, 6, &out->root) &&
		  cairn_sql_text(row, 10, out->author, sizeof(out->author)) &&
		  cairn_sql_text(row, 11, out->title, sizeof(out->title));
	return ok ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static enum cairn_status history_one(sqlite3_stmt *stmt, struct cairn_index_commit *out)
{
	enum cairn_status status = cairn_sql_find(stmt);
	return status == CAIRN_OK ? history_columns(stmt, out) : status;
}

enum cairn_status cairn_sqlite_ref(struct cairn_index *ix, int64_t repo, enum cairn_index_ref_kind kind,
				   const char *name, struct cairn_index_commit *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_REF];
	sqlite3_bind_int64(stmt, 1, repo);
	sqlite3_bind_int64(stmt, 2, (int64_t)kind);
	cairn_sql_bind_text(stmt, 3, name);
	return history_one(stmt, out);
}

enum cairn_status cairn_sqlite_each_ref(struct cairn_index *ix, int64_t repo,
					bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_REF];
	sqlite3_bind_int64(stmt, 1, repo);
	for (;;) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		struct cairn_index_ref_row ref = {.kind = (enum cairn_index_ref_kind)sqlite3_column_int64(stmt, 0),
						  .name = (const char *)sqlite3_column_text(stmt, 1),
						  .ended = sqlite3_column_int64(stmt, 3) != 0};
		if (!ref.name || !cairn_chain_oid(stmt, 2, &ref.commit))
			return CAIRN_E_DAMAGED;
		if (!visit(ctx, &ref))
			return CAIRN_OK;
	}
}

enum cairn_status cairn_sqlite_find_commit(struct cairn_index *ix, int64_t repo, const char *prefix,
					   struct cairn_index_commit *out)
{
	struct cairn_git_oid low, high;
	if (!cairn_entries_oid_range(prefix, &low, &high))
		return CAIRN_E_NOT_FOUND;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_FIND_COMMIT];
	sqlite3_bind_int64(stmt, 1, repo);
	cairn_chain_bind_oid(stmt, 2, &low);
	cairn_chain_bind_oid(stmt, 3, &high);
	bool another = false;
	status = history_one(stmt, out);
	if (status == CAIRN_OK)
		status = cairn_sql_step(stmt, &another);
	return status == CAIRN_OK && another ? CAIRN_E_NOT_FOUND : status;
}

static enum cairn_status history_by_id(struct cairn_reader *r, int64_t id, struct cairn_index_commit *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_COMMIT_BY_ID];
	sqlite3_bind_int64(stmt, 1, id);
	return history_one(stmt, out);
}

enum cairn_status cairn_sqlite_commit_by_id(struct cairn_index *ix, int64_t id, struct cairn_index_commit *out)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	return status == CAIRN_OK ? history_by_id(r, id, out) : status;
}

/* The commit at which a line left another. @return CAIRN_OK; CAIRN_E_NOT_FOUND it left none */
static enum cairn_status history_fork(struct cairn_reader *r, int64_t line, struct cairn_index_commit *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_LINE];
	sqlite3_bind_int64(stmt, 1, line);
	enum cairn_status status = cairn_sql_find(stmt);
	return status == CAIRN_OK ? history_by_id(r, sqlite3_column_int64(stmt, 1), out) : status;
}

/* Visit those of one line from a number back. @param[out] more  the visitor wants more */
static enum cairn_status history_line(struct cairn_reader *r, int64_t line, uint64_t number,
				      bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
						    const char *message),
				      void *ctx, bool *more)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_EACH_COMMIT];
	sqlite3_bind_int64(stmt, 1, line);
	sqlite3_bind_int64(stmt, 2, (int64_t)number);
	for (*more = true; *more;) {
		struct cairn_index_commit commit;
		enum cairn_status status = history_one(stmt, &commit);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		const char *message = (const char *)sqlite3_column_text(stmt, 12);
		*more = visit(ctx, &commit, message ? message : "");
	}
	return CAIRN_OK;
}

enum cairn_status cairn_sqlite_each_commit(struct cairn_index *ix, const struct cairn_index_commit *from, uint64_t skip,
					   bool (*visit)(void *ctx, const struct cairn_index_commit *commit,
							 const char *message),
					   void *ctx)
{
	struct cairn_index_commit fork = {0};
	uint64_t number = from->number > skip ? from->number - skip : 0;
	int64_t line = from->line;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	for (bool more = true; status == CAIRN_OK && more && number > 0; line = fork.line) {
		status = history_fork(r, line, &fork);
		bool first = status == CAIRN_E_NOT_FOUND;
		if (first)
			status = CAIRN_OK;
		if (status == CAIRN_OK && (first || number > fork.number))
			status = history_line(r, line, number, visit, ctx, &more);
		if (first)
			return status;
		if (number > fork.number)
			number = fork.number;
	}
	return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Columns behind those of a chain. */
enum {
	HISTORY_SIZE = CAIRN_CHAIN_MORE,
	HISTORY_SHA256,
	HISTORY_FILE,
	HISTORY_BELIEF,
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
	out->kind = CAIRN_INDEX_INLINE;
	const uint8_t *sha256 = cairn_sql_blob(row, HISTORY_SHA256, &len);
	if (!sha256)
		return CAIRN_OK;
	out->kind = CAIRN_INDEX_XET;
	out->has_file = sqlite3_column_type(row, HISTORY_FILE) != SQLITE_NULL;
	if (len != sizeof(out->sha256) || (out->has_file && !cairn_sql_hash(row, HISTORY_FILE, &out->file)))
		return CAIRN_E_DAMAGED;
	memcpy(out->sha256, sha256, len);
	out->belief = (enum cairn_index_belief)sqlite3_column_int(row, HISTORY_BELIEF);
	return CAIRN_OK;
}

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
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_ENTRY];
	status = cairn_chain_read(r->stmt[CAIRN_READ_LINE], commit->line, commit->id, &chain);
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
	bool more; /* the visitor wants more */
};

/* Visit what is behind a name of a folder, up to the end of the last folder. */
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

enum cairn_status cairn_sqlite_each_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
					  const struct cairn_index_listing *listing,
					  bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx)
{
	struct cairn_chain chain;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status == CAIRN_OK)
		status = cairn_chain_read(r->stmt[CAIRN_READ_LINE], commit->line, commit->id, &chain);
	if (status != CAIRN_OK)
		return status;
	struct history_listing l = {.scan = {.chain = &chain, .stmts = &r->stmt[CAIRN_READ_SCAN]},
				    .visit = visit,
				    .ctx = ctx,
				    .more = true};
	status = history_list_all(&l, listing);
	cairn_chain_end(&l.scan);
	return status;
}

enum cairn_status cairn_sqlite_inline(struct cairn_index *ix, int64_t content, uint8_t *out, size_t *len)
{
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_INLINE];
	sqlite3_bind_int64(stmt, 1, content);
	status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	const uint8_t *bytes = cairn_sql_blob(stmt, 0, len);
	if (*len > CAIRN_INDEX_INLINE_MAX)
		return CAIRN_E_DAMAGED;
	if (*len > 0)
		memcpy(out, bytes, *len);
	return CAIRN_OK;
}
