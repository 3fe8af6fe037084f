/* Looks up paths at a commit: in the commit's line, then in the line from which that one was forked, and so on. Readers
 * and the writer use it, each with statements of its own. */
#ifndef CAIRN_INDEX_SQLITE_CHAIN_H
#define CAIRN_INDEX_SQLITE_CHAIN_H

#include "index/hub/history.h"
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

/** The statements: parent, fork and depth of line ?1; the newest row of a path, in line ?1, folder ?2, name ?3 up to
 * commit ?4; the rows of line ?1 after folder ?2 and name ?3, in order, of each path the newest first. */
#define CAIRN_CHAIN_LINE "SELECT parent, fork, depth FROM line WHERE id = ?1"
#define CAIRN_CHAIN_FIND(columns, joins)                                                                               \
	"SELECT " CAIRN_CHAIN_COLUMNS columns " FROM entry e" joins                                                    \
	" WHERE e.line = ?1 AND e.folder = ?2 AND e.name = ?3 AND e.since <= ?4 ORDER BY e.since DESC LIMIT 1"
#define CAIRN_CHAIN_SCAN(columns, joins)                                                                               \
	"SELECT " CAIRN_CHAIN_COLUMNS columns " FROM entry e" joins                                                    \
	" WHERE e.line = ?1 AND (e.folder, e.name) > (?2, ?3) ORDER BY e.folder, e.name, e.since DESC"

/** Repeats the initializer of a statement for each line of a chain, because the lines are read in step. */
#define CAIRN_CHAIN_EACH_LINE(...)                                                                                     \
	__VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
_Static_assert(CAIRN_INDEX_LINE_DEPTH_MAX == 8, "as many as there are lines");

/** The lines to look up, nearest first, each with its last commit that counts. */
struct cairn_chain {
	unsigned n;
	int64_t line[CAIRN_INDEX_LINE_DEPTH_MAX], upto[CAIRN_INDEX_LINE_DEPTH_MAX];
};

/** Reads a commit's lines. @return CAIRN_OK; CAIRN_E_NOT_FOUND one is gone; CAIRN_E_DAMAGED; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_chain_read(sqlite3_stmt *line_stmt, int64_t line, int64_t upto,
						  struct cairn_chain *out);

/** Looks up a path. The caller reads the row in `find`, and resets it.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND no entry; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_chain_find(sqlite3_stmt *find, const struct cairn_chain *chain,
						  const char *folder, const char *name);

/** Merges the entries of all lines of a chain in the order of folders and names. */
struct cairn_chain_scan {
	const struct cairn_chain *chain;
	sqlite3_stmt **stmts;    /* CAIRN_INDEX_LINE_DEPTH_MAX statements */
	const char *last_folder; /* borrowed: the scan ends after this folder */
	uint64_t n_rows;         /* rows read, with those that no longer count */
	uint64_t n_rows_max;     /* ends after so many, with `is_cut`, at a deleted path; 0: no limit */
	bool is_cut;             /* begin again after the last path visited */
	bool on_row[CAIRN_INDEX_LINE_DEPTH_MAX], begun[CAIRN_INDEX_LINE_DEPTH_MAX];
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1]; /* the last path visited */
};

/** Begins a scan after a folder and name. scan is zeroed except for chain and stmts. */
void cairn_chain_begin(struct cairn_chain_scan *scan, const char *folder, const char *name, const char *last_folder);
/** @param[out] row  at the next existing entry; NULL: there is none @return as cairn_chain_find() */
CAIRN_MUST_USE enum cairn_status cairn_chain_next(struct cairn_chain_scan *scan, sqlite3_stmt **row);
/** Resets the statements. For CLEANUP(). */
void cairn_chain_end(struct cairn_chain_scan *scan);

/** Reads a column of 20 bytes. @return false: it has another length */
bool cairn_chain_oid(sqlite3_stmt *stmt, int at, struct cairn_git_oid *out);
void cairn_chain_bind_oid(sqlite3_stmt *stmt, int at, const struct cairn_git_oid *oid);

#endif
