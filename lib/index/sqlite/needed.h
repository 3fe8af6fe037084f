/* Which xorbs the files need, told by their terms: what the table reference must say, made a second time. */
#ifndef CAIRN_INDEX_SQLITE_NEEDED_H
#define CAIRN_INDEX_SQLITE_NEEDED_H

#include "index/sqlite/util.h"

/** Compare both sides in the transaction that is open: each pair of xorb and file that the terms name is looked up in
 * reference, and then there are as many. @param version  of the schema
 *  @param damaged  told of each file whose terms cannot be read @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_needed_agrees(sqlite3 *db, int64_t version,
						     void (*damaged)(void *ctx, int64_t file), void *ctx, bool *agree);

/** Fill temp.needed(xorb, file, named = 1) with what the terms name. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_needed_fill(sqlite3 *db, int64_t version);

/** Rows (xorb, file) of the one that the other has not; after cairn_needed_fill(). */
#define CAIRN_NEEDED_MISSING                                                                                           \
	"SELECT n.xorb, n.file FROM temp.needed n"                                                                     \
	" WHERE NOT EXISTS(SELECT 1 FROM main.reference r WHERE r.xorb = n.xorb AND r.file = n.file)"
#define CAIRN_NEEDED_EXTRA                                                                                             \
	"SELECT r.xorb, r.file FROM main.reference r"                                                                  \
	" WHERE NOT EXISTS(SELECT 1 FROM temp.needed n WHERE n.xorb = r.xorb AND n.file = r.file)"

/** Does integrity_check find nothing? In the transaction that is open. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_examine_trees(sqlite3 *db, bool *sound);

#endif
