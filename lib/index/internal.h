/* The index from inside: read connections, and the writer's thread. */
#ifndef CAIRN_INDEX_INTERNAL_H
#define CAIRN_INDEX_INTERNAL_H

#include "index/reader.h"
#include "index/sqlite_write.h"
#include "index/writer.h"

struct cairn_index {
	char *path;     /* of the database */
	char *log_path; /* of its write-ahead log */
	struct cairn_pool pool;
	struct cairn_writer writer;
};

/* Columns of a xorb in the reader's statements, before any others. */
enum { CAIRN_INDEX_XORB_COLUMNS = 8 };

/** Read a xorb from them. @return false: damaged */
bool cairn_index_xorb_column(sqlite3_stmt *row, struct cairn_index_xorb *out);

/** Read a file from columns hash, size, sha256. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_index_file_columns(sqlite3_stmt *row, struct cairn_index_file *out);

/** Bind the start and the length of a page to parameters 1 and 2. @return the length that counts */
uint32_t cairn_index_page(sqlite3_stmt *stmt, int64_t from_id, uint32_t limit);

#endif
