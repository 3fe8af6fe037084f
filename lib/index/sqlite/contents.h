/* The bytes of inline files, and whether they are still those that were committed. */
#ifndef CAIRN_INDEX_SQLITE_CONTENTS_H
#define CAIRN_INDEX_SQLITE_CONTENTS_H

#include "index/sqlite/util.h"

/** Compare each with what its row says. @param wrong  told of the first CAIRN_INDEX_FAULTS_MAX that differ, with the
 *  repository and a path that has them @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_contents_examine(sqlite3 *db, void (*wrong)(void *ctx, const char *text),
							void *ctx);

#endif
