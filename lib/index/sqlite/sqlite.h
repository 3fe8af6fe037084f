/* The index in one file of SQLite: the interface of this folder. */
#ifndef CAIRN_INDEX_SQLITE_SQLITE_H
#define CAIRN_INDEX_SQLITE_SQLITE_H

#include "index/backend.h"

extern const struct cairn_index_backend CAIRN_SQLITE;

#endif
