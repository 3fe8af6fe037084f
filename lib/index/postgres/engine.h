/* The engine over PostgreSQL: declarations for the files of this folder. */
#ifndef CAIRN_INDEX_POSTGRES_ENGINE_H
#define CAIRN_INDEX_POSTGRES_ENGINE_H

#include "index/backend.h"
#include "index/postgres/good_keys.h"
#include "index/postgres/lookup.h"
#include "index/postgres/pool.h"
#include "index/postgres/refresh.h"
#include "index/postgres/screen.h"
#include "index/postgres/settle.h"
#include "index/postgres/write.h"

enum { CAIRN_PG_FETCHES_MAX = 32 }; /* most leases of fetches that a daemon renews */

struct cairn_postgres {
	struct cairn_index index; /* first */
	struct cairn_pg_place place;
	struct cairn_pg_watch watch;
	struct cairn_pg_pool pool;
	struct cairn_pg_tx tx;
	struct cairn_pg_settle settle;
	struct cairn_pg_good_keys good_keys;
	struct cairn_pg_refresh refresh;
	struct cairn_pg_screens screens;
	struct cairn_pg_lookups lookups;
	pthread_mutex_t lock;
	struct cairn_pg_clock clock;
	/* guarded by the lock */
	struct cairn_index_counts counts;                    /* as of the last commit */
	int64_t counted_server;                              /* the server with these counts, as cairn_pg.server */
	uint64_t n_withdrawals;                              /* how often chunks may have been withdrawn */
	struct cairn_index_job_state jobs[CAIRN_INDEX_JOBS]; /* last read from the server */
	int64_t leases[CAIRN_INDEX_JOBS];                    /* fences of this daemon's leases; 0: not held */
	/* leases of fetches that this daemon holds; fence 0: none */
	struct cairn_index_lease fetches[CAIRN_PG_FETCHES_MAX];
};

static inline struct cairn_postgres *cairn_postgres(struct cairn_index *ix)
{
	return (struct cairn_postgres *)ix;
}

/** Stores the counts of the index as of some commit, of any daemon. Any thread. @param server  as cairn_pg.server */
void cairn_pg_note_counts(struct cairn_postgres *p, const struct cairn_index_counts *counts, int64_t server);

/** Queues the renewal of this daemon's leases. */
void cairn_pg_queue_leases(struct cairn_postgres *p, struct cairn_pg *pg);
/** Sends the queued statements, and reads the state of all jobs. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_read_jobs(struct cairn_postgres *p, struct cairn_pg *pg);

/** Takes a reader and runs a statement. @param[out] r  borrowed until the reader's next statement
 * @return as cairn_pg_ask(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_read(struct cairn_index *ix, struct cairn_pg_reader **reader, const char *sql,
					       const struct cairn_db_args *args, const PGresult **r);

/* Begins a lookup: takes a reader for the rest of the function, and its answer. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of variables */
#define PG_READ(ix, reader, r, sql, args)                                                                              \
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;                                                 \
	const PGresult *r = NULL;                                                                                      \
	do {                                                                                                           \
		enum cairn_status pg_read = cairn_pg_read(ix, &reader, sql, args, &r);                                 \
		if (pg_read != CAIRN_OK)                                                                               \
			return pg_read;                                                                                \
	} while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

enum { CAIRN_PG_XORB_COLUMNS = 10 };
/** Reads columns CAIRN_POSTGRES_XORB. @return false: it is damaged */
bool cairn_pg_xorb_row(const PGresult *r, int row, struct cairn_index_xorb *out);

/** Reads a file from columns hash, size and terms. @return CAIRN_OK; CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_file_row(const PGresult *r, int row, bool with_terms,
						   struct cairn_index_file *out);
/** Reads a chunk list from columns spans and hashes, the first of which is `column`. @return as cairn_rows_list() */
CAIRN_MUST_USE enum cairn_status cairn_pg_list_row(const PGresult *r, int row, int column,
						   struct cairn_chunk_list *list);

/* Queries for an owner's files by SHA-256, or for all of them, use "scope + 0" to select the index file_owner_claim.
 * Queries for a file and its owner do not. */
/* The file that has SHA-256 u.sha256 by a claim of owner $2, and the belief in the claim. */
#define CAIRN_PG_CLAIMED                                                                                               \
	"(SELECT b.file, b.proof FROM (SELECT w.file, w.proof FROM file_owner w WHERE w.scope + 0 = $2"                \
	" AND w.sha256 = u.sha256 ORDER BY w.file DESC LIMIT " CAIRN_INDEX_SAME_MAX ") b WHERE b.proof > 0"            \
	" ORDER BY b.proof DESC, b.file DESC LIMIT 1)"

/* The engine's functions for the calls of index/backend.h. */
#define POSTGRES_HAS(name) cairn_engine_##name cairn_postgres_##name;
CAIRN_ENGINE_CALLS(POSTGRES_HAS, CAIRN_ENGINE_LACKS, POSTGRES_HAS)
#undef POSTGRES_HAS

#endif
