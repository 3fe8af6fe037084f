/* The byte ranges of terms in objects. Terms repeat the ranges of the chunk lists, so that a plan needs no lists. */
#ifndef CAIRN_INDEX_SQLITE_OFFSETS_H
#define CAIRN_INDEX_SQLITE_OFFSETS_H

#include "index/sqlite/util.h"

/** Migrates the terms of all files from version 4 of the schema to 5, in the open transaction. Damaged terms stay
 *  damaged. @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_offsets_migrate(sqlite3 *db);

/** Compares the ranges in all terms with the lists, except for repacked xorbs. Skips terms and lists that cannot be
 * read. @param wrong  receives each file whose terms differ @return as cairn_offsets_migrate() */
CAIRN_MUST_USE enum cairn_status cairn_offsets_examine(sqlite3 *db, void (*wrong)(void *ctx, int64_t file), void *ctx);

/** Does what cairn_offsets_examine() does, and repairs differing terms from the lists. */
CAIRN_MUST_USE enum cairn_status cairn_offsets_mend(sqlite3 *db);

#endif
