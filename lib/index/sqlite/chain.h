/* What a path is at a commit: rows of the commit's line, else of the line that one left, and so on. For readers and the
 * writer alike, each with statements of its own. */
#ifndef CAIRN_INDEX_SQLITE_CHAIN_H
#define CAIRN_INDEX_SQLITE_CHAIN_H

#include "index/history.h"
#include "index/sqlite/util.h"

/** The first columns of each statement that reads entries. */
#define CAIRN_CHAIN_COLUMNS "e.folder, e.name, e.since, e.oid, e.content"
enum {
	CAIRN_CHAIN_FOLDER,
	CAIRN_CHAIN_NAME,
	CAIRN_CHAIN_SINCE,
	CAIRN_CHAIN_OID,
	CAIRN_CHAIN_CONTENT,
	CAIRN_CHAIN_MORE
};

/** The statements: parent, fork and depth of line ?1; the newest row of a path, of line ?1, folder ?2, name ?3 up to
 * commit ?4; the rows of line ?1 behind folder ?2 and name ?3, in their order, of each path the newest first. */
#define CAIRN_CHAIN_LINE "SELECT parent, fork, depth FROM line WHERE id = ?1"
#define CAIRN_CHAIN_FIND(columns, joins)                                                                               \
	"SELECT " CAIRN_CHAIN_COLUMNS columns " FROM entry e" joins                                                    \
	" WHERE e.line = ?1 AND e.folder = ?2 AND e.name = ?3 AND e.since <= ?4 ORDER BY e.since DESC LIMIT 1"
#define CAIRN_CHAIN_SCAN(columns, joins)                                                                               \
	"SELECT " CAIRN_CHAIN_COLUMNS columns " FROM entry e" joins                                                    \
	" WHERE e.line = ?1 AND (e.folder, e.name) > (?2, ?3) ORDER BY e.folder, e.name, e.since DESC"

/** The lines that a look-up asks, nearest first, and up to which commit each counts. */
struct cairn_chain {
	unsigned n;
	int64_t line[CAIRN_INDEX_LINE_DEPTH_MAX], upto[CAIRN_INDEX_LINE_DEPTH_MAX];
};

/** @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such line any more; CAIRN_E_DAMAGED; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_chain_read(sqlite3_stmt *line_stmt, int64_t line, int64_t upto,
						  struct cairn_chain *out);

/** Find what a path is; its row stands in find to be read, and the caller resets that.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND nothing is there; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_chain_find(sqlite3_stmt *find, const struct cairn_chain *chain,
						  const char *folder, const char *name);

/** Entries in the order of folders and names, merged of all lines of a chain. */
struct cairn_chain_scan {
	const struct cairn_chain *chain;
	sqlite3_stmt **stmts;    /* CAIRN_INDEX_LINE_DEPTH_MAX of them */
	const char *last_folder; /* borrowed: behind it the scan is over */
	uint64_t n_rows;         /* that were read, also such as count no more */
	bool on_row[CAIRN_INDEX_LINE_DEPTH_MAX], begun[CAIRN_INDEX_LINE_DEPTH_MAX];
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1]; /* what was visited last */
};

/** Begin behind a folder's name. scan is zeroed except for chain and stmts. */
void cairn_chain_begin(struct cairn_chain_scan *scan, const char *folder, const char *name, const char *last_folder);
/** @param[out] row  stands on the next entry that is there; NULL: there is none @return as cairn_chain_find() */
CAIRN_MUST_USE enum cairn_status cairn_chain_next(struct cairn_chain_scan *scan, sqlite3_stmt **row);
/** Resets the statements. For CLEANUP(). */
void cairn_chain_end(struct cairn_chain_scan *scan);

/** A column of 20 bytes. @return false when it is not */
bool cairn_chain_oid(sqlite3_stmt *stmt, int at, struct cairn_git_oid *out);
void cairn_chain_bind_oid(sqlite3_stmt *stmt, int at, const struct cairn_git_oid *oid);

#endif
