/* Computes from their terms which xorbs files need, to check and repair the table reference. */
#ifndef CAIRN_INDEX_SQLITE_NEEDED_H
#define CAIRN_INDEX_SQLITE_NEEDED_H

#include "index/sqlite/util.h"

/** Compares the terms with the table reference, in the open transaction: looks up each pair of xorb and file of the
 * terms, and then compares the numbers of pairs. @param version  version of the schema
 * @param damaged  receives each file whose terms cannot be read @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_needed_agrees(sqlite3 *db, int64_t version,
						     void (*damaged)(void *ctx, int64_t file), void *ctx, bool *agree);

/** Fills temp.needed(xorb, file, named = 1) from the terms. @return as cairn_needed_agrees() */
CAIRN_MUST_USE enum cairn_status cairn_needed_fill(sqlite3 *db, int64_t version);

/** Selects rows (xorb, file) of one table that the other lacks; after cairn_needed_fill(). */
#define CAIRN_NEEDED_MISSING                                                                                           \
	"SELECT n.xorb, n.file FROM temp.needed n"                                                                     \
	" WHERE NOT EXISTS(SELECT 1 FROM main.reference r WHERE r.xorb = n.xorb AND r.file = n.file)"
#define CAIRN_NEEDED_EXTRA                                                                                             \
	"SELECT r.xorb, r.file FROM main.reference r"                                                                  \
	" WHERE NOT EXISTS(SELECT 1 FROM temp.needed n WHERE n.xorb = r.xorb AND n.file = r.file)"

/** Runs integrity_check in the open transaction. @param[out] sound  it found nothing @return as
 * cairn_needed_agrees() */
CAIRN_MUST_USE enum cairn_status cairn_examine_trees(sqlite3 *db, bool *sound);

#endif
