/* Checks the bytes of inline files for damage. */
#ifndef CAIRN_INDEX_SQLITE_CONTENTS_H
#define CAIRN_INDEX_SQLITE_CONTENTS_H

#include "index/sqlite/util.h"

/** Compares each inline file with its row. @param wrong  receives the first CAIRN_INDEX_FAULTS_MAX contents that
 * differ, with the repository and a path @return CAIRN_OK; CAIRN_E_NOMEM; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_contents_examine(sqlite3 *db, void (*wrong)(void *ctx, const char *text),
							void *ctx);

#endif
