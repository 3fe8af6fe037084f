/* A pool of read connections with prepared statements, each lent to one thread for the time of one call. */
#ifndef CAIRN_INDEX_SQLITE_READER_H
#define CAIRN_INDEX_SQLITE_READER_H

#include "index/history.h"
#include "index/refer.h"
#include "index/sqlite/driver.h"

#include <pthread.h>

enum { CAIRN_POOL_CONNECTIONS_MAX = 64 }; /* each has a file descriptor or two and up to 2 MiB of page cache */

/* The statements of a reader; pool.c has their text. */
enum cairn_reader_stmt {
	CAIRN_READ_XORB, /* by hash */
	CAIRN_READ_XORB_BY_ID,
	CAIRN_READ_LIST, /* by the xorb's hash */
	CAIRN_READ_LIST_BY_ID,
	CAIRN_READ_LAYOUT,       /* of a xorb, by its id */
	CAIRN_READ_SPANS,        /* spans of a xorb, by its id */
	CAIRN_READ_STATE,        /* one row: while it is open, all statements see one snapshot */
	CAIRN_READ_PREFIX,       /* eligible rows of the shared scope */
	CAIRN_READ_PREFIX_SCOPE, /* eligible rows of another scope */
	CAIRN_READ_ELIGIBLE,     /* of a xorb */
	CAIRN_READ_NEIGHBOURS,
	CAIRN_READ_SCOPE,
	CAIRN_READ_FILE,
	CAIRN_READ_FILE_BY_SHA256,
	CAIRN_READ_SHARD,
	CAIRN_READ_EACH_XORB,
	CAIRN_READ_EACH_FILE,
	CAIRN_READ_OWNED,
	CAIRN_READ_OWNED_BY_ALL,
	CAIRN_READ_MATCH, /* as enum cairn_index_match, of one owner */
	CAIRN_READ_MATCH_LAST = CAIRN_READ_MATCH + CAIRN_INDEX_MATCHES - 1,
	CAIRN_READ_MATCH_OF_ALL,
	CAIRN_READ_MATCH_OF_ALL_LAST = CAIRN_READ_MATCH_OF_ALL + CAIRN_INDEX_MATCHES - 1,
	CAIRN_READ_EACH_DUE,
	CAIRN_READ_EACH_LIE,
	CAIRN_READ_CLAIMS,
	CAIRN_READ_PLACES, /* of a prefix, in all scopes */
	CAIRN_READ_RETIRED,
	CAIRN_READ_UNREFERENCED,
	CAIRN_READ_FILE_BYTES,
	CAIRN_READ_OWNERS, /* of a file */
	CAIRN_READ_LINE,
	CAIRN_READ_ENTRY,
	CAIRN_READ_SCAN, /* one for each line of a chain */
	CAIRN_READ_SCAN_LAST = CAIRN_READ_SCAN + CAIRN_INDEX_LINE_DEPTH_MAX - 1,
	CAIRN_READ_STMTS,
};

struct cairn_reader {
	struct cairn_sqlite_db records; /* first; the same connection, for records */
	sqlite3 *db;
	sqlite3_stmt *stmt[CAIRN_READ_STMTS];
	struct cairn_pool *pool;
	struct cairn_reader *next; /* while idle */
};

struct cairn_pool {
	const char *path;     /* borrowed */
	int open_flags;       /* of SQLite */
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t back;
	struct cairn_reader *idle; /* last used first: its cache is the warmest */
	unsigned n_open;
};

void cairn_pool_init(struct cairn_pool *pool, const char *path);
/** All readers must be back. */
void cairn_pool_fini(struct cairn_pool *pool);

/** Borrows a reader: an idle one, a new one, or if CAIRN_POOL_CONNECTIONS_MAX are lent, the next one returned.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pool_take(struct cairn_pool *pool, struct cairn_reader **out);

/** Returns a reader, and resets its statements: an open row would keep the log from being restarted. For CLEANUP(). */
void cairn_pool_givep(struct cairn_reader **reader);

#endif
