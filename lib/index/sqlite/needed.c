#include "index/sqlite/needed.h"

#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"

#include "index/rows.h"

#include <stdlib.h>

enum needed_stmt { NEEDED_FILES, NEEDED_PAIR, NEEDED_STMTS };

/* Runs statements for each pair of xorb and file. */
struct needed {
	sqlite3_stmt *stmt[NEEDED_STMTS];
	void (*damaged)(void *ctx, int64_t file);
	void *ctx;
	size_t term_bytes;
	int64_t n_pairs, n_found;
};

static int needed_by_xorb(const void *pa, const void *pb)
{
	const struct cairn_index_term *a = pa, *b = pb;
	return a->xorb_id < b->xorb_id ? -1 : a->xorb_id > b->xorb_id;
}

static enum cairn_status needed_pair(struct needed *n, int64_t xorb, int64_t file)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = n->stmt[NEEDED_PAIR];
	bool row = false;
	sqlite3_bind_int64(stmt, 1, xorb);
	sqlite3_bind_int64(stmt, 2, file);
	n->n_pairs++;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	n->n_found += row;
	return status;
}

static enum cairn_status needed_file(struct needed *n, int64_t file, const uint8_t *bytes, size_t len)
{
	struct cairn_index_term *terms = NULL;
	uint32_t n_terms = 0;
	enum cairn_status status = cairn_rows_terms(&terms, &n_terms, bytes, len, n->term_bytes);
	if (status == CAIRN_E_DAMAGED) {
		if (n->damaged)
			n->damaged(n->ctx, file);
		return CAIRN_OK;
	}
	if (status == CAIRN_OK && n_terms > 0)
		qsort(terms, n_terms, sizeof(*terms), needed_by_xorb);
	for (uint32_t i = 0; status == CAIRN_OK && i < n_terms; i++)
		if (i == 0 || terms[i].xorb_id != terms[i - 1].xorb_id)
			status = needed_pair(n, terms[i].xorb_id, file);
	free(terms);
	return status;
}

static enum cairn_status needed_walk(sqlite3 *db, struct needed *n, const char *pair)
{
	const char *const sql[NEEDED_STMTS] = {
		[NEEDED_FILES] = "SELECT id, terms FROM main.file ORDER BY id",
		[NEEDED_PAIR] = pair,
	};
	enum cairn_status status = cairn_sql_prepare(db, sql, n->stmt, NEEDED_STMTS);
	for (bool row = true; status == CAIRN_OK;) {
		size_t len;
		status = cairn_sql_step(n->stmt[NEEDED_FILES], &row);
		if (status != CAIRN_OK || !row)
			break;
		int64_t file = sqlite3_column_int64(n->stmt[NEEDED_FILES], 0);
		const uint8_t *bytes = cairn_sql_blob(n->stmt[NEEDED_FILES], 1, &len);
		status = needed_file(n, file, bytes, len);
	}
	cairn_sql_finalize(n->stmt, NEEDED_STMTS);
	return status;
}

enum cairn_status cairn_needed_agrees(sqlite3 *db, int64_t version, void (*damaged)(void *ctx, int64_t file), void *ctx,
				      bool *agree)
{
	struct needed n = {.damaged = damaged, .ctx = ctx, .term_bytes = cairn_rows_term_bytes(version)};
	int64_t n_rows = 0;
	enum cairn_status status = needed_walk(db, &n, "SELECT 1 FROM main.reference WHERE xorb = ?1 AND file = ?2");
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "SELECT count(*) FROM main.reference", &n_rows);
	*agree = status == CAIRN_OK && n.n_found == n.n_pairs && n.n_pairs == n_rows;
	return status;
}

enum cairn_status cairn_needed_fill(sqlite3 *db, int64_t version)
{
	struct needed n = {.term_bytes = cairn_rows_term_bytes(version)};
	enum cairn_status status = cairn_sql_exec(
		db, "CREATE TEMP TABLE IF NOT EXISTS needed(xorb INTEGER NOT NULL, file INTEGER NOT NULL,"
		    " named INTEGER NOT NULL DEFAULT 1,"
		    " PRIMARY KEY(xorb, file)) WITHOUT ROWID; DELETE FROM temp.needed");
	return status == CAIRN_OK ? needed_walk(db, &n, "INSERT OR IGNORE INTO temp.needed(xorb, file) VALUES(?1, ?2)")
				  : status;
}

enum cairn_status cairn_sqlite_needs_agree(struct cairn_index *ix, bool *agree)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	*agree = false;
	enum cairn_status status = cairn_sqlite_open_beside(ix, &db, NULL);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "BEGIN");
	return status == CAIRN_OK ? cairn_needed_agrees(db, cairn_migrate_latest, NULL, NULL, agree) : status;
}
