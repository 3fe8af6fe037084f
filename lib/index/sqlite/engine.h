/* The engine over SQLite: read connections, the writing one, and background work. */
#ifndef CAIRN_INDEX_SQLITE_ENGINE_H
#define CAIRN_INDEX_SQLITE_ENGINE_H

#include "index/sqlite/checkpoint.h"
#include "index/sqlite/log_reader.h"
#include "index/sqlite/reader.h"
#include "index/sqlite/reserve.h"
#include "index/sqlite/write.h"

struct cairn_sqlite {
	struct cairn_index index; /* first */
	char *path;               /* path of the database */
	char *log_path;           /* path of its write-ahead log */
	char *uri;                /* the name that readers use for an index opened for reading only; else NULL */
	struct cairn_pool pool;
	struct cairn_tx tx;           /* used only by the writer's thread, once it runs */
	struct cairn_reserve reserve; /* used only by the writer's thread, too */
	struct cairn_checkpoint checkpoint;
	char *shm_path;                   /* path of the log's shared memory */
	pthread_mutex_t lock;             /* guards: */
	struct cairn_index_counts counts; /* as of the last commit */
	struct cairn_log_reader log_reader;
};

static inline struct cairn_sqlite *cairn_sqlite(struct cairn_index *ix)
{
	return (struct cairn_sqlite *)ix;
}

/** Borrows a reader, in the name of the calling function. @return as cairn_pool_take() */
#define cairn_sqlite_take(ix, out) cairn_pool_take(&cairn_sqlite(ix)->pool, __func__, out)

/** Opens a separate connection for reading, outside the pool. @return as cairn_sql_open() */
CAIRN_MUST_USE static inline enum cairn_status cairn_sqlite_open_beside(struct cairn_index *ix, sqlite3 **db,
									struct cairn_diag *diag)
{
	const struct cairn_pool *pool = &cairn_sqlite(ix)->pool;
	return cairn_sql_open(db, pool->path, pool->open_flags, NULL, diag);
}

/* The first columns of a reader's statements for xorbs. */
enum { CAIRN_SQLITE_XORB_COLUMNS = 9 };

/** Reads a xorb from these columns. @return false: damaged */
bool cairn_sqlite_xorb_column(sqlite3_stmt *row, struct cairn_index_xorb *out);

/** Reads a file from columns hash, size. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_sqlite_file_columns(sqlite3_stmt *row, struct cairn_index_file *out);

/* The engine's functions for the calls of index/backend.h. */
#define SQLITE_HAS(name) cairn_engine_##name cairn_sqlite_##name;
CAIRN_ENGINE_CALLS(SQLITE_HAS, SQLITE_HAS, CAIRN_ENGINE_LACKS)
#undef SQLITE_HAS

#endif
