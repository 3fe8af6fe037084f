#include "index/sqlite/chain.h"

#include <string.h>

enum { CHAIN_STALE_MAX = 8 }; /* older rows of a path to step over before looking up the next path */

enum cairn_status cairn_chain_read(sqlite3_stmt *line_stmt, int64_t line, int64_t upto, struct cairn_chain *out)
{
	*out = (struct cairn_chain){0};
	for (bool more = true; more;) {
		if (out->n == CAIRN_INDEX_LINE_DEPTH_MAX)
			return CAIRN_E_DAMAGED;
		out->line[out->n] = line;
		out->upto[out->n++] = upto;
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = line_stmt;
		sqlite3_bind_int64(stmt, 1, line);
		enum cairn_status status = cairn_sql_find(stmt);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND && out->n > 1 ? CAIRN_E_DAMAGED : status;
		line = sqlite3_column_int64(stmt, 0);
		upto = sqlite3_column_int64(stmt, 1);
		more = sqlite3_column_int64(stmt, 2) > 1;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_chain_find(sqlite3_stmt *find, const struct cairn_chain *chain, const char *folder,
				   const char *name)
{
	for (unsigned i = 0; i < chain->n; i++) {
		bool row;
		(void)sqlite3_reset(find);
		sqlite3_bind_int64(find, 1, chain->line[i]);
		cairn_sql_bind_text(find, 2, folder);
		cairn_sql_bind_text(find, 3, name);
		sqlite3_bind_int64(find, 4, chain->upto[i]);
		enum cairn_status status = cairn_sql_step(find, &row);
		if (status != CAIRN_OK)
			return status;
		if (row)
			return sqlite3_column_type(find, CAIRN_CHAIN_OID) != SQLITE_NULL ? CAIRN_OK : CAIRN_E_NOT_FOUND;
	}
	return CAIRN_E_NOT_FOUND;
}

static const char *chain_text(sqlite3_stmt *row, int at)
{
	const char *text = (const char *)sqlite3_column_text(row, at);
	return text ? text : "";
}

/* Compares a row with the last path visited. */
static int chain_compare(sqlite3_stmt *row, const char *folder, const char *name)
{
	int order = strcmp(chain_text(row, CAIRN_CHAIN_FOLDER), folder);
	return order != 0 ? order : strcmp(chain_text(row, CAIRN_CHAIN_NAME), name);
}

static void chain_seek(struct cairn_chain_scan *scan, unsigned i)
{
	sqlite3_stmt *stmt = scan->stmts[i];
	(void)sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, scan->chain->line[i]);
	/* Copied by SQLite, because they are the last path visited, which changes. */
	(void)sqlite3_bind_text(stmt, 2, scan->folder, -1, SQLITE_TRANSIENT);
	(void)sqlite3_bind_text(stmt, 3, scan->name, -1, SQLITE_TRANSIENT);
	scan->begun[i] = true;
}

void cairn_chain_begin(struct cairn_chain_scan *scan, const char *folder, const char *name, const char *last_folder)
{
	(void)memccpy(scan->folder, folder, '\0', sizeof(scan->folder));
	(void)memccpy(scan->name, name, '\0', sizeof(scan->name));
	scan->last_folder = last_folder;
	for (unsigned i = 0; i < scan->chain->n; i++) {
		chain_seek(scan, i);
		scan->on_row[i] = false;
	}
}

/* Steps a line to the newest row that counts of a path after the last one visited. A path that changed often has many
 * older rows: then the next path is looked up. */
static enum cairn_status chain_advance(struct cairn_chain_scan *scan, unsigned i)
{
	sqlite3_stmt *stmt = scan->stmts[i];
	unsigned n_stale = 0;
	bool row = scan->on_row[i];
	for (;; n_stale++) {
		bool behind = row && chain_compare(stmt, scan->folder, scan->name) > 0;
		if (behind && sqlite3_column_int64(stmt, CAIRN_CHAIN_SINCE) <= scan->chain->upto[i])
			break;
		if (row && !behind && n_stale == CHAIN_STALE_MAX)
			chain_seek(scan, i);
		enum cairn_status status = scan->begun[i] ? cairn_sql_step(stmt, &row) : CAIRN_OK;
		if (status != CAIRN_OK)
			return status;
		scan->n_rows++;
		scan->begun[i] = scan->begun[i] && row;
		if (!scan->begun[i])
			break;
	}
	scan->on_row[i] = scan->begun[i];
	return CAIRN_OK;
}

/* @param[out] first  the nearest line with the first path; NULL: no line has a row left */
static enum cairn_status chain_first(struct cairn_chain_scan *scan, sqlite3_stmt **first)
{
	*first = NULL;
	for (unsigned i = 0; i < scan->chain->n; i++) {
		sqlite3_stmt *stmt = scan->stmts[i];
		enum cairn_status status = chain_advance(scan, i);
		if (status != CAIRN_OK)
			return status;
		if (scan->on_row[i] && (!*first || chain_compare(stmt, chain_text(*first, CAIRN_CHAIN_FOLDER),
								 chain_text(*first, CAIRN_CHAIN_NAME)) < 0))
			*first = stmt;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_chain_next(struct cairn_chain_scan *scan, sqlite3_stmt **row)
{
	for (;;) {
		enum cairn_status status = chain_first(scan, row);
		if (status != CAIRN_OK || !*row)
			return status;
		const char *folder = chain_text(*row, CAIRN_CHAIN_FOLDER), *name = chain_text(*row, CAIRN_CHAIN_NAME);
		if (strlen(folder) > CAIRN_INDEX_PATH_MAX || strlen(name) > CAIRN_INDEX_PATH_MAX)
			return CAIRN_E_DAMAGED;
		if (strcmp(folder, scan->last_folder) > 0) {
			*row = NULL;
			return CAIRN_OK;
		}
		(void)memccpy(scan->folder, folder, '\0', sizeof(scan->folder));
		(void)memccpy(scan->name, name, '\0', sizeof(scan->name));
		if (sqlite3_column_type(*row, CAIRN_CHAIN_OID) != SQLITE_NULL)
			return CAIRN_OK;
		scan->is_cut = scan->n_rows_max > 0 && scan->n_rows >= scan->n_rows_max;
		if (scan->is_cut) {
			*row = NULL;
			return CAIRN_OK;
		}
	}
}

void cairn_chain_end(struct cairn_chain_scan *scan)
{
	for (unsigned i = 0; i < scan->chain->n; i++)
		(void)sqlite3_reset(scan->stmts[i]);
}

bool cairn_chain_oid(sqlite3_stmt *stmt, int at, struct cairn_git_oid *out)
{
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, at, &len);
	if (!bytes || len != sizeof(out->b))
		return false;
	memcpy(out->b, bytes, len);
	return true;
}

void cairn_chain_bind_oid(sqlite3_stmt *stmt, int at, const struct cairn_git_oid *oid)
{
	cairn_sql_bind_blob(stmt, at, oid->b, sizeof(oid->b));
}
