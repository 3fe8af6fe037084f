/* Reads and writes entries for a commit's edits (index/hub/edit.h). */
#include "index/sqlite/commit.h"

#include "base/bytes.h"
#include "base/sum.h"

static CAIRN_WRITES(TX_FIND_ENTRY, CAIRN_CHAIN_FIND(", c.size", " LEFT JOIN content c ON c.id = e.content"));

static enum cairn_status edit_find(void *ctx, const char *folder, const char *name, struct cairn_edit_entry *out)
{
	struct cairn_tx_edit *edit = ctx;
	*out = (struct cairn_edit_entry){0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(edit->tx, &TX_FIND_ENTRY);
	enum cairn_status status = cairn_chain_find(stmt, &edit->chain, folder, name);
	/* A row without content records that a commit of the chain deleted the entry. */
	if (sqlite3_data_count(stmt) > 0)
		out->since = sqlite3_column_int64(stmt, CAIRN_CHAIN_SINCE);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	out->found = true;
	out->content = sqlite3_column_int64(stmt, CAIRN_CHAIN_CONTENT);
	out->size_bytes = sqlite3_column_int64(stmt, CAIRN_CHAIN_MORE);
	return cairn_chain_oid(stmt, CAIRN_CHAIN_OID, &out->oid) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static CAIRN_WRITES(TX_USE_CONTENT, "UPDATE content SET uses = uses + ?2 WHERE id = ?1");

static enum cairn_status edit_use(struct cairn_tx *tx, int64_t content, int64_t more)
{
	return cairn_tx_run(tx, &TX_USE_CONTENT, CAIRN_ARGS(cairn_db_int(content), cairn_db_int(more)));
}

enum cairn_status cairn_tx_use_content(struct cairn_tx *tx, int64_t content)
{
	return edit_use(tx, content, 1);
}

/* Returns the owner, and the size if the content was inline. */
static CAIRN_WRITES(TX_DROP_CONTENT, "DELETE FROM content WHERE id = ?1 AND uses = 0 RETURNING"
				     " (SELECT scope FROM repo WHERE id = content.repo), iif(key IS NULL, 0, size)");

/* Removes a content, unless an entry uses it. */
static enum cairn_status edit_drop_content(struct cairn_tx *tx, int64_t content)
{
	int64_t owner, inline_bytes;
	bool dropped;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *drop = cairn_tx_stmt(tx, &TX_DROP_CONTENT);
		sqlite3_bind_int64(drop, 1, content);
		enum cairn_status status = cairn_sql_step(drop, &dropped);
		if (status != CAIRN_OK || !dropped)
			return status;
		owner = sqlite3_column_int64(drop, 0);
		inline_bytes = sqlite3_column_int64(drop, 1);
	}
	return cairn_tx_count_stored(tx, owner, cairn_difference(0, inline_bytes));
}

enum cairn_status cairn_tx_drop_use(struct cairn_tx *tx, int64_t content)
{
	enum cairn_status status = edit_use(tx, content, -1);
	return status == CAIRN_OK ? edit_drop_content(tx, content) : status;
}

static CAIRN_WRITES(TX_SET_ENTRY, "INSERT OR REPLACE INTO entry(line, folder, name, since, oid, content)"
				  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");

static enum cairn_status edit_write(void *ctx, const char *folder, const char *name,
				    const struct cairn_edit_entry *before, const struct cairn_edit_entry *after)
{
	struct cairn_tx_edit *edit = ctx;
	sqlite3_stmt *set = cairn_tx_stmt(edit->tx, &TX_SET_ENTRY);
	sqlite3_bind_int64(set, 1, edit->line);
	cairn_sql_bind_text(set, 2, folder);
	cairn_sql_bind_text(set, 3, name);
	sqlite3_bind_int64(set, 4, edit->edit.commit);
	if (after->found)
		cairn_chain_bind_oid(set, 5, &after->oid);
	else
		sqlite3_bind_null(set, 5);
	if (after->content != 0)
		sqlite3_bind_int64(set, 6, after->content);
	else
		sqlite3_bind_null(set, 6);
	enum cairn_status status = cairn_sql_run(set);
	if (status == CAIRN_OK && after->content != 0)
		status = edit_use(edit->tx, after->content, 1);
	/* The write replaced a row of an earlier operation, whose content loses an entry. */
	if (status == CAIRN_OK && before->since == edit->edit.commit && before->content != 0)
		status = cairn_tx_drop_use(edit->tx, before->content);
	return status;
}

static const struct cairn_statement TX_SCAN[] CAIRN_OF_WRITES = {
	CAIRN_CHAIN_EACH_LINE({"TX_SCAN", CAIRN_CHAIN_SCAN("", "")}),
};

sqlite3_stmt **cairn_tx_scan_stmts(struct cairn_tx *tx)
{
	return cairn_prepared_at(&tx->stmts, TX_SCAN);
}

static enum cairn_status edit_scan(void *ctx, const char *folder, const char *name, const char *last_folder,
				   cairn_edit_visit *visit, void *visit_ctx, uint64_t *n_rows)
{
	struct cairn_tx_edit *edit = ctx;
	struct cairn_chain_scan scan = {.chain = &edit->chain, .stmts = cairn_tx_scan_stmts(edit->tx)};
	struct cairn_git_oid oid;
	enum cairn_status status = CAIRN_OK;
	cairn_chain_begin(&scan, folder, name, last_folder);
	while (status == CAIRN_OK) {
		sqlite3_stmt *row;
		status = cairn_chain_next(&scan, &row);
		if (status != CAIRN_OK || !row)
			break;
		bool is_folder = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT) == 0;
		status = cairn_chain_oid(row, CAIRN_CHAIN_OID, &oid)
				 ? visit(visit_ctx, scan.folder, scan.name, is_folder, &oid)
				 : CAIRN_E_DAMAGED;
	}
	*n_rows += scan.n_rows;
	cairn_chain_end(&scan);
	return status;
}

static CAIRN_WRITES(TX_ADD_CONTENT, "INSERT INTO content(repo, uses, size, key, body, sha256, file, since, path)"
				    " VALUES(?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");

static enum cairn_status edit_add_content(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
					  int64_t file, struct cairn_edit_content *out)
{
	bool is_absent = o->kind == CAIRN_INDEX_PUT_ABSENT;
	bool is_itself = o->kind == CAIRN_INDEX_PUT_INLINE || (is_absent && !o->has_pointer);
	sqlite3_stmt *add = cairn_tx_stmt(edit->tx, &TX_ADD_CONTENT);
	(void)sqlite3_clear_bindings(add);
	sqlite3_bind_int64(add, 1, edit->repo);
	sqlite3_bind_int64(add, 2, out->size_bytes);
	if (is_itself)
		sqlite3_bind_int64(add, 3, (int64_t)cairn_get_u64le(o->oid.b));
	else
		cairn_sql_bind_blob(add, 5, o->sha256, sizeof(o->sha256));
	if (is_itself && !is_absent)
		cairn_sql_bind_blob(add, 4, o->bytes, o->len);
	if (!is_itself && !is_absent)
		sqlite3_bind_int64(add, 6, file);
	if (!is_itself && is_absent) {
		sqlite3_bind_int64(add, 7, edit->edit.commit);
		cairn_sql_bind_text(add, 8, o->path);
	}
	enum cairn_status status = cairn_sql_run(add);
	out->id = sqlite3_last_insert_rowid(edit->tx->db);
	return status == CAIRN_OK && is_itself ? cairn_tx_count_stored(edit->tx, edit->owner, out->size_bytes) : status;
}

/* @param[out] id  0: the repository has no such content yet */
static enum cairn_status edit_known_content(sqlite3_stmt *bound, int64_t *id)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = bound;
	enum cairn_status status = cairn_sql_find(stmt);
	*id = status == CAIRN_OK ? sqlite3_column_int64(stmt, 0) : 0;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static CAIRN_WRITES(TX_FIND_INLINE, "SELECT id FROM content WHERE repo = ?1 AND key = ?2 AND body = ?3");

static enum cairn_status edit_inline(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
				     struct cairn_edit_content *out)
{
	sqlite3_stmt *find = cairn_tx_stmt(edit->tx, &TX_FIND_INLINE);
	out->size_bytes = (int64_t)o->len;
	sqlite3_bind_int64(find, 1, edit->repo);
	sqlite3_bind_int64(find, 2, (int64_t)cairn_get_u64le(o->oid.b));
	cairn_sql_bind_blob(find, 3, o->bytes, o->len);
	enum cairn_status status = edit_known_content(find, &out->id);
	return status == CAIRN_OK && out->id == 0 ? edit_add_content(edit, o, 0, out) : status;
}

/* Finds the file that was uploaded to the repository, or for a proposal, under this SHA-256. */
static enum cairn_status edit_claimed(struct cairn_tx_edit *edit, const struct cairn_index_operation *o, int64_t *file,
				      int64_t *size_bytes)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(edit->tx, &CAIRN_TX_FIND_CLAIMED);
	cairn_sql_bind_blob(find, 1, o->sha256, sizeof(o->sha256));
	sqlite3_bind_int64(find, 2, edit->holder != 0 ? edit->holder : edit->owner);
	enum cairn_status status = cairn_sql_find(find);
	if (status != CAIRN_OK)
		return status;
	*file = sqlite3_column_int64(find, 0);
	*size_bytes = sqlite3_column_int64(find, 1);
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_FIND_STORED, "SELECT id FROM content WHERE file = ?2 AND repo = ?1 AND sha256 = ?3");

static enum cairn_status edit_content(void *ctx, const struct cairn_index_operation *o, struct cairn_edit_content *out)
{
	struct cairn_tx_edit *edit = ctx;
	int64_t file = 0;
	if (o->kind == CAIRN_INDEX_PUT_INLINE)
		return edit_inline(edit, o, out);
	if (o->kind == CAIRN_INDEX_PUT_ABSENT) {
		out->size_bytes = (int64_t)o->size_bytes;
		return edit_add_content(edit, o, 0, out);
	}
	enum cairn_status status = edit_claimed(edit, o, &file, &out->size_bytes);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *find = cairn_tx_stmt(edit->tx, &TX_FIND_STORED);
	sqlite3_bind_int64(find, 1, edit->repo);
	sqlite3_bind_int64(find, 2, file);
	cairn_sql_bind_blob(find, 3, o->sha256, sizeof(o->sha256));
	status = edit_known_content(find, &out->id);
	return status == CAIRN_OK && out->id == 0 ? edit_add_content(edit, o, file, out) : status;
}

static CAIRN_WRITES(TX_REVIVE_CONTENT,
		    "UPDATE content SET file = iif(key IS NULL, (SELECT file FROM content WHERE id = ?2), NULL),"
		    " body = iif(key IS NULL, NULL, (SELECT body FROM content WHERE id = ?2))"
		    " WHERE id = ?1 AND (key = (SELECT key FROM content WHERE id = ?2) OR"
		    " sha256 IS NOT NULL AND (file IS NULL OR EXISTS(SELECT 1"
		    " FROM file_owner w WHERE w.file = content.file AND w.sha256 = content.sha256"
		    " AND w.scope = (SELECT scope FROM repo WHERE id = content.repo) AND w.proof < 3)))");

static enum cairn_status edit_revive(void *ctx, int64_t content, int64_t same)
{
	struct cairn_tx_edit *edit = ctx;
	enum cairn_status status =
		cairn_tx_run(edit->tx, &TX_REVIVE_CONTENT, CAIRN_ARGS(cairn_db_int(content), cairn_db_int(same)));
	return status == CAIRN_OK ? edit_drop_content(edit->tx, same) : status;
}

const struct cairn_edit_engine CAIRN_TX_EDIT = {
	.find = edit_find,
	.write = edit_write,
	.scan = edit_scan,
	.content = edit_content,
	.revive = edit_revive,
};
