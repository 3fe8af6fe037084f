/* Where the bytes of terms lie in the objects of their xorbs. The chunk lists say it, and the terms keep it, so that a
 * plan needs no lists. */
#ifndef CAIRN_INDEX_SQLITE_OFFSETS_H
#define CAIRN_INDEX_SQLITE_OFFSETS_H

#include "index/sqlite/util.h"

/** Bring the terms of all files from version 4 of the schema to 5, in the transaction that is open. Terms that are
 *  damaged stay so. @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_offsets_migrate(sqlite3 *db);

/** Compare what all terms keep with the lists, except for xorbs that were repacked. Terms and lists that cannot be read
 *  are passed over. @param wrong  told of each file whose terms differ @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_offsets_examine(sqlite3 *db, void (*wrong)(void *ctx, int64_t file), void *ctx);

/** The same, and what differs is put right from the lists. */
CAIRN_MUST_USE enum cairn_status cairn_offsets_mend(sqlite3 *db);

#endif
