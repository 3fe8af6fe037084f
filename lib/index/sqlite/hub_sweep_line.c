/* Removes lines of commits, or the ends of lines, that no ref and no other line needs, in pieces. Commits are removed
 * before their entries, so that nobody finds an incomplete commit. */
#include "index/sqlite/sweep.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

enum { SWEEP_ROWS = 256 }; /* rows removed between two looks at the clock */

/* Rows that were removed. */
struct sweep_gone {
	unsigned n;
	int64_t bytes; /* the rows' bytes as a quota counts them */
	int64_t content[SWEEP_ROWS];
};

static CAIRN_WRITES(TX_COUNT_SWEPT,
		    "UPDATE repo SET stored = stored - ?2 WHERE id = (SELECT repo FROM line WHERE id = ?1)");

/* Records that a line has fewer rows, and that their contents lost entries. */
static enum cairn_status sweep_count(struct cairn_tx *tx, int64_t line, const struct sweep_gone *gone)
{
	sqlite3_stmt *count = cairn_tx_stmt(tx, &TX_COUNT_SWEPT);
	enum cairn_status status = CAIRN_OK;
	sqlite3_bind_int64(count, 1, line);
	sqlite3_bind_int64(count, 2, gone->bytes);
	if (gone->n > 0)
		status = cairn_sql_run(count);
	for (unsigned i = 0; i < gone->n && status == CAIRN_OK; i++) {
		if (gone->content[i] != 0)
			status = cairn_tx_drop_use(tx, gone->content[i]);
	}
	return status;
}

/* Removes rows of a line. @param bound  returns for each row its bytes as a quota counts them, and its content */
static enum cairn_status sweep_rows(struct cairn_tx *tx, sqlite3_stmt *bound, int64_t line, unsigned *n)
{
	struct sweep_gone gone = {.n = 0};
	enum cairn_status status = CAIRN_OK;
	bool row = true;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *drop = bound;
		while (row && status == CAIRN_OK) {
			status = cairn_sql_step(drop, &row);
			if (status != CAIRN_OK || !row || gone.n == SWEEP_ROWS)
				continue;
			cairn_add(&gone.bytes, sqlite3_column_int64(drop, 0));
			gone.content[gone.n++] = sqlite3_column_int64(drop, 1);
		}
	}
	*n = gone.n;
	return status == CAIRN_OK ? sweep_count(tx, line, &gone) : status;
}

#define SWEEP_RETURNING_COMMIT " RETURNING " CAIRN_SQL_COMMIT_COUNTS(SQLITE) ", NULL"
#define SWEEP_RETURNING_ENTRY  " RETURNING " CAIRN_SQL_ENTRY_COUNTS(SQLITE) ", content"

static CAIRN_WRITES(TX_DROP_ENTRIES,
		    "DELETE FROM entry WHERE line = ?1 AND (folder, name, since) IN"
		    " (SELECT folder, name, since FROM entry WHERE line = ?1 LIMIT ?2)" SWEEP_RETURNING_ENTRY);
static CAIRN_WRITES(TX_DROP_COMMITS,
		    "DELETE FROM commit_ WHERE id IN"
		    " (SELECT id FROM commit_ WHERE line = ?1 ORDER BY number DESC LIMIT ?2)" SWEEP_RETURNING_COMMIT);
static CAIRN_WRITES(TX_DROP_LINE, "DELETE FROM line WHERE id = ?1");
/* Marks the line as damaged, for a commit that is being made on it in pieces. */
static CAIRN_WRITES(TX_CONDEMN_LINE, "UPDATE line SET head = -1 WHERE id = ?1 AND head = 0");

static enum cairn_status sweep_piece(struct cairn_tx *tx, const struct cairn_statement *of, int64_t line, unsigned *n)
{
	sqlite3_stmt *drop = cairn_tx_stmt(tx, of);
	sqlite3_bind_int64(drop, 1, line);
	sqlite3_bind_int64(drop, 2, SWEEP_ROWS);
	return sweep_rows(tx, drop, line, n);
}

enum cairn_status cairn_tx_sweep_line(struct cairn_tx *tx, int64_t line, bool *gone)
{
	unsigned n = 0;
	*gone = false;
	enum cairn_status status = cairn_tx_run(tx, &TX_CONDEMN_LINE, CAIRN_ARGS(cairn_db_int(line)));
	if (status == CAIRN_OK)
		status = sweep_piece(tx, &TX_DROP_COMMITS, line, &n);
	if (status == CAIRN_OK && n < SWEEP_ROWS)
		status = sweep_piece(tx, &TX_DROP_ENTRIES, line, &n);
	if (status != CAIRN_OK || n == SWEEP_ROWS)
		return status;
	*gone = true;
	return cairn_tx_run(tx, &TX_DROP_LINE, CAIRN_ARGS(cairn_db_int(line)));
}

/* Selects a page of line ?1 after folder ?2 and name ?3, of each path the newest first. */
#define ENTRY_PAGE                                                                                                     \
	" FROM entry WHERE line = ?1 AND (folder, name) > (?2, ?3) ORDER BY folder, name, since DESC LIMIT ?4"

static CAIRN_WRITES(TX_ENTRY_PAGE, "SELECT folder, name, since" ENTRY_PAGE);

/* Reads the next page of entries, and moves the place to the last path without entries that are too new; a path's rows
 * come newest first. @param[out] n_rows  rows read @param[out] n_drop  rows to remove */
static enum cairn_status sweep_end_page(struct cairn_tx *tx, int64_t line, struct cairn_index_sweep_place *at,
					unsigned *n_rows, unsigned *n_drop)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *page = cairn_tx_stmt(tx, &TX_ENTRY_PAGE);
	sqlite3_bind_int64(page, 1, line);
	/* Copied by SQLite, because the place changes while the page is read. */
	(void)sqlite3_bind_text(page, 2, at->folder, -1, SQLITE_TRANSIENT);
	(void)sqlite3_bind_text(page, 3, at->name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(page, 4, SWEEP_ROWS);
	*n_drop = 0;
	for (*n_rows = 0;; (*n_rows)++) {
		bool row;
		enum cairn_status status = cairn_sql_step(page, &row);
		if (status != CAIRN_OK || !row)
			return status;
		if (sqlite3_column_int64(page, 2) > at->keep)
			(*n_drop)++;
		else if (!cairn_sql_text(page, 0, at->folder, sizeof(at->folder)) ||
			 !cairn_sql_text(page, 1, at->name, sizeof(at->name)))
			return CAIRN_E_DAMAGED;
	}
}

static CAIRN_WRITES(TX_DROP_NEWER_ENTRIES,
		    "DELETE FROM entry WHERE line = ?1 AND (folder, name, since) IN (SELECT folder, name, since FROM"
		    " (SELECT folder, name, since" ENTRY_PAGE ") WHERE since > ?5)" SWEEP_RETURNING_ENTRY);

/* @param folder, name  start of the page that was read */
static enum cairn_status sweep_end_entries(struct cairn_tx *tx, int64_t line, int64_t keep, const char *folder,
					   const char *name)
{
	unsigned n;
	sqlite3_stmt *drop = cairn_tx_stmt(tx, &TX_DROP_NEWER_ENTRIES);
	sqlite3_bind_int64(drop, 1, line);
	cairn_sql_bind_text(drop, 2, folder);
	cairn_sql_bind_text(drop, 3, name);
	sqlite3_bind_int64(drop, 4, SWEEP_ROWS);
	sqlite3_bind_int64(drop, 5, keep);
	return sweep_rows(tx, drop, line, &n);
}

static CAIRN_WRITES(TX_DROP_NEWER_COMMITS,
		    "DELETE FROM commit_ WHERE id IN"
		    " (SELECT id FROM commit_ WHERE line = ?1 AND number > (SELECT number FROM commit_ WHERE id = ?3)"
		    " ORDER BY number DESC LIMIT ?2)" SWEEP_RETURNING_COMMIT);

/* Removes a piece after the last needed commit: commits from the newest on, so that no commit without its entries is
 * found, and last the line's head, so that an interrupted removal is repeated. */
static enum cairn_status sweep_end(struct cairn_tx *tx, int64_t line, struct cairn_index_sweep_place *at, bool *gone)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1];
	unsigned n_commits = 0, n_rows = 0, n_drop = 0;
	sqlite3_stmt *commits = cairn_tx_stmt(tx, &TX_DROP_NEWER_COMMITS);
	*gone = false;
	sqlite3_bind_int64(commits, 1, line);
	sqlite3_bind_int64(commits, 2, SWEEP_ROWS);
	sqlite3_bind_int64(commits, 3, at->keep);
	enum cairn_status status = sweep_rows(tx, commits, line, &n_commits);
	if (status != CAIRN_OK || n_commits == SWEEP_ROWS)
		return status;
	memcpy(folder, at->folder, sizeof(folder));
	memcpy(name, at->name, sizeof(name));
	status = sweep_end_page(tx, line, at, &n_rows, &n_drop);
	if (status == CAIRN_OK && n_drop > 0)
		status = sweep_end_entries(tx, line, at->keep, folder, name);
	if (status != CAIRN_OK || n_rows == SWEEP_ROWS)
		return status;
	*gone = true;
	return cairn_tx_run(tx, &CAIRN_TX_SET_LINE_HEAD, CAIRN_ARGS(cairn_db_int(line), cairn_db_int(at->keep)));
}

/* Finds the highest line below a number, its head, and the last commit that a ref or line needs. Skips lines of a
 * repository that is being made in pieces. */
static CAIRN_WRITES(TX_SWEEP_LINE,
		    "SELECT l.id, l.head, CASE WHEN EXISTS(SELECT 1 FROM ref r WHERE r.line = l.id AND r.commit_ = 0)"
		    " THEN l.head ELSE max(coalesce((SELECT max(r.commit_) FROM ref r WHERE r.line = l.id), 0),"
		    " coalesce((SELECT max(c.fork) FROM line c WHERE c.parent = l.id), 0)) END"
		    " FROM line l WHERE l.id < ?1 AND NOT EXISTS(SELECT 1 FROM repo p WHERE p.id = l.repo"
		    " AND coalesce(p.dropped, 0) > ?2) ORDER BY l.id DESC LIMIT 1");

/* Visits lines from the highest number down, because a fork has a higher number than its line, and must go first. */
enum cairn_status cairn_tx_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more)
{
	struct cairn_tx *tx = ctx;
	int64_t line = 0, head = 0, keep = 0;
	bool gone = false;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(tx, &TX_SWEEP_LINE);
		sqlite3_bind_int64(find, 1, at->line != 0 ? at->line : INT64_MAX);
		sqlite3_bind_int64(find, 2, cairn_clock_unix_ms());
		enum cairn_status status = cairn_sql_step(find, more);
		if (status != CAIRN_OK || !*more)
			return status;
		line = sqlite3_column_int64(find, 0);
		head = sqlite3_column_int64(find, 1);
		keep = sqlite3_column_int64(find, 2);
	}
	/* The previous piece was of another line, so begin at the first path. */
	if (at->line != cairn_sum(line, 1) || at->keep != keep)
		at->folder[0] = at->name[0] = '\0';
	at->line = cairn_sum(line, 1);
	at->keep = keep;
	if (keep == 0)
		return cairn_tx_sweep_line(tx, line, &gone);
	enum cairn_status status = keep < head ? sweep_end(tx, line, at, &gone) : CAIRN_OK;
	if (keep >= head || gone)
		at->line = line;
	return status;
}
