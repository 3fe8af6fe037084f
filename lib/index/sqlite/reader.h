/* A pool of read connections with prepared statements, each lent to one thread during one call. */
#ifndef CAIRN_INDEX_SQLITE_READER_H
#define CAIRN_INDEX_SQLITE_READER_H

#include "index/refer.h"
#include "index/sqlite/driver.h"
#include "index/sqlite/statement.h"

#include <pthread.h>

enum { CAIRN_POOL_CONNECTIONS_MAX = 64 }; /* each has a file descriptor or two and up to 2 MiB of page cache */

struct cairn_reader {
	struct cairn_sqlite_db records; /* first; the same connection, as records use it */
	sqlite3 *db;
	struct cairn_prepared stmts;
	struct cairn_pool *pool;
	struct cairn_reader *next;  /* next of the idle readers, or of the lent ones */
	struct cairn_reader **from; /* while lent: the pointer to it */
	const char *call;           /* while lent: name of the function that borrowed it; static */
	int64_t since_ms;           /* while lent: since when */
};

/** Returns a statement of cairn_reads(). */
static inline sqlite3_stmt *cairn_read_stmt(const struct cairn_reader *r, const struct cairn_statement *s)
{
	return *cairn_prepared_at(&r->stmts, s);
}

struct cairn_pool {
	const char *path;     /* borrowed */
	int open_flags;       /* flags of SQLite */
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t back;
	struct cairn_reader *idle; /* last used first: its cache is the warmest */
	struct cairn_reader *lent; /* last lent first */
	unsigned n_open;
};

void cairn_pool_init(struct cairn_pool *pool, const char *path);
/** Call it when all readers have been returned. */
void cairn_pool_fini(struct cairn_pool *pool);

/** Borrows a reader: an idle one, a new one, or, if CAIRN_POOL_CONNECTIONS_MAX are lent, the next one returned.
 * @param call  the borrower's name, for people; static
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pool_take(struct cairn_pool *pool, const char *call, struct cairn_reader **out);

/** Returns a reader, and resets its statements: an open row would keep the log from being restarted. For CLEANUP(). */
void cairn_pool_givep(struct cairn_reader **reader);

/** Finds the borrower who has had a reader for longest. @param[out] since_ms  on the monotonic clock @return the name
 * given to cairn_pool_take(); NULL: no reader is borrowed */
const char *cairn_pool_oldest(struct cairn_pool *pool, int64_t *since_ms);

#endif
