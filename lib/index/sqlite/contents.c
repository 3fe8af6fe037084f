#include "index/sqlite/contents.h"

#include "index/examine.h"
#include "index/rows.h"

enum { CONTENTS_ALL, CONTENTS_NAME, CONTENTS_STMTS };

/* Finds the entry of a content, which takes a scan; few are needed if little is wrong. */
static const char *const CONTENTS_SQL[CONTENTS_STMTS] = {
	[CONTENTS_ALL] = "SELECT id, key, size, body FROM content WHERE key IS NOT NULL AND body IS NOT NULL",
	[CONTENTS_NAME] = "SELECT a.name, r.name, e.folder, e.name FROM content c JOIN repo r ON r.id = c.repo"
			  " JOIN account a ON a.id = r.account LEFT JOIN entry e ON e.content = c.id WHERE c.id = ?1"
			  " LIMIT 1",
};

static const char *contents_text(sqlite3_stmt *row, int at)
{
	const char *text = (const char *)sqlite3_column_text(row, at);
	return text ? text : "";
}

static enum cairn_status contents_report_name(sqlite3_stmt *name, int64_t content,
					      void (*wrong)(void *ctx, const char *text), void *ctx)
{
	char text[CAIRN_ROWS_INLINE_TEXT_BYTES];
	bool row = false;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = name;
	sqlite3_bind_int64(stmt, 1, content);
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK)
		return status;
	cairn_rows_inline_text(text, content, row ? contents_text(stmt, 0) : "?", row ? contents_text(stmt, 1) : "?",
			       row ? contents_text(stmt, 2) : "", row ? contents_text(stmt, 3) : "?");
	wrong(ctx, text);
	return CAIRN_OK;
}

static enum cairn_status contents_compare(sqlite3_stmt *all)
{
	size_t len;
	const uint8_t *body = cairn_sql_blob(all, 3, &len);
	return cairn_rows_inline(sqlite3_column_int64(all, 1), sqlite3_column_int64(all, 2), body, len);
}

enum cairn_status cairn_contents_examine(sqlite3 *db, void (*wrong)(void *ctx, const char *text), void *ctx)
{
	sqlite3_stmt *stmts[CONTENTS_STMTS] = {NULL};
	bool row = true;
	unsigned n = 0;
	enum cairn_status status = cairn_sql_prepare(db, CONTENTS_SQL, stmts, CONTENTS_STMTS);
	while (status == CAIRN_OK && n < CAIRN_INDEX_FAULTS_MAX) {
		status = cairn_sql_step(stmts[CONTENTS_ALL], &row);
		if (status != CAIRN_OK || !row)
			break;
		status = contents_compare(stmts[CONTENTS_ALL]);
		if (status != CAIRN_E_DAMAGED)
			continue;
		n++;
		status = contents_report_name(stmts[CONTENTS_NAME], sqlite3_column_int64(stmts[CONTENTS_ALL], 0), wrong,
					      ctx);
	}
	cairn_sql_finalize(stmts, CONTENTS_STMTS);
	return status;
}
