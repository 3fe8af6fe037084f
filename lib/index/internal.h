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

/** Read a xorb from the first six columns of a row as the reader's statements give it. @return false: damaged */
bool cairn_index_xorb_column(sqlite3_stmt *row, struct cairn_index_xorb *out);

#endif
