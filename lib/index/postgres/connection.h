/* A connection to PostgreSQL, always in pipeline mode: statements are queued, and then sent and answered together. The
 * wait for the answer has a timeout. For one thread at a time. */
#ifndef CAIRN_INDEX_POSTGRES_CONNECTION_H
#define CAIRN_INDEX_POSTGRES_CONNECTION_H

#include "db/db.h"
#include "index/postgres/args.h"
#include "index/postgres/place.h"
#include "index/postgres/watch.h"

enum {
	CAIRN_PG_SILENCE_MS = 4000,   /* timeout of an answer; clients get 503 within 5 s */
	CAIRN_PG_STILL_MS = 3000,     /* of a daemon idle in a transaction; others wait for less than lock_timeout */
	CAIRN_PG_SCAN_MS = 600000,    /* timeout of an answer that needs a scan of whole tables */
	CAIRN_PG_STATEMENTS_MAX = 16, /* of one exchange */
	CAIRN_PG_PREPARED_MAX = 512,  /* statements prepared on a connection: room for all (sizes.sh) */
};

/** A statement of the exchange in progress. */
struct cairn_pg_sent {
	bool prepares;
	unsigned prepared; /* if it prepares a statement, its place in `prepared` */
};

/** A connection. Zeroed except for its place: not open. */
struct cairn_pg {
	struct cairn_db db;                 /* first: the same connection, for records */
	const struct cairn_pg_place *place; /* borrowed */
	struct cairn_pg_watch *watch;       /* borrowed; NULL: not shared */
	unsigned silences;                  /* the watch's count when the connection was opened */
	bool reads_only;
	bool answers_soon; /* the server cancels a statement before it would count as silent */
	PGconn *conn;      /* NULL: it is not open */
	int64_t server;    /* its start, in microseconds, which identifies the server */
	int silence_ms;
	const char *prepared[CAIRN_PG_PREPARED_MAX]; /* by their texts' addresses; NULL: free */
	uint8_t n_params[CAIRN_PG_PREPARED_MAX];     /* of each */

	struct cairn_pg_sent sent[2 * CAIRN_PG_STATEMENTS_MAX];
	unsigned n_sent, n_answered;
	enum cairn_status queued;                   /* CAIRN_OK, or why a statement could not be queued */
	PGresult *results[CAIRN_PG_STATEMENTS_MAX]; /* of the last exchange, as they were queued */
	unsigned n_results, n_got;

	bool silent;       /* the last awaited answer has not come, and may still come */
	bool warned;       /* a WARNING came since this was set to false */
	char sqlstate[6];  /* of the last failure; empty: the connection itself failed */
	char message[160]; /* text of the last failure */
};

/** Connects, with the timeouts and durability that the engine relies on. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_pg_open(struct cairn_pg *pg);
/** Closes the connection. Abandons an exchange in progress; the server rolls back an open transaction. */
void cairn_pg_close(struct cairn_pg *pg);

/** Is the connection open, not closed by the server while idle, and has the server not been silent since? */
bool cairn_pg_is_alive(struct cairn_pg *pg);

/** Queues a statement for the next exchange. It cannot be queued with a wrong number of arguments. @param sql  static:
 * it is prepared once @param args  NULL: none @return its place in results */
unsigned cairn_pg_queue(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args);

/* Allows or forbids plans that read whole tables, until the transaction ends. */
#define CAIRN_PG_PLAN(freely)                                                                                          \
	"SELECT set_config('enable_seqscan', '" freely "', true), set_config('enable_hashjoin', '" freely "', true),"  \
	" set_config('enable_mergejoin', '" freely "', true)"
#define CAIRN_PG_SCAN CAIRN_PG_PLAN("on") ", set_config('statement_timeout', '0', true)"
/** Statements queued after this may read whole tables, with a plan and a timeout for that. It ends with the
 * transaction, or with the exchange if there is no transaction, and after any failure. A statement must always or never
 * follow this, since its plan stays. Only queued. */
void cairn_pg_scan(struct cairn_pg *pg);
/** Statements queued after this have the longer timeout, with the usual plans. Ends likewise. */
void cairn_pg_take_long(struct cairn_pg *pg);
/** Statements queued after this are lookups again, within the same transaction. */
void cairn_pg_look_up(struct cairn_pg *pg);

/** Are statements queued that no exchange has sent? */
bool cairn_pg_has_queued(const struct cairn_pg *pg);

/** Sends the queued statements and waits for all answers.
 * @return CAIRN_OK, with results until the next queue; CAIRN_E_BUSY the server is silent: cairn_pg_await() again, or
 *         close; CAIRN_E_LIMIT, CAIRN_E_NOMEM a statement could not be queued; otherwise cairn_pg_status() of the first
 *         failure, and no later statement was executed
 */
CAIRN_MUST_USE enum cairn_status cairn_pg_await(struct cairn_pg *pg);

/** Queues a statement, and awaits all that are queued; closes the connection if the server is silent. @param[out]
 *  result  of the last, borrowed until the next queue; NULL on failure @return as cairn_pg_await(); after CAIRN_E_BUSY
 *  the connection is closed */
CAIRN_MUST_USE enum cairn_status cairn_pg_ask(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args,
					      const PGresult **result);
/** Does what cairn_pg_ask() does, with the queued statements only. */
CAIRN_MUST_USE enum cairn_status cairn_pg_exchange(struct cairn_pg *pg);
/** Does what cairn_pg_ask() does, for a statement that changes rows. @param[out] n  rows changed; may be NULL */
CAIRN_MUST_USE enum cairn_status cairn_pg_run(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args,
					      int64_t *n);
int64_t cairn_pg_changed(PGresult *r);

/** Keeps a result beyond the next exchange. Owned by the caller, PQclear(). */
PGresult *cairn_pg_keep(struct cairn_pg *pg, const PGresult *result);
void cairn_pg_clearp(PGresult **result);

/** Counts an exchange and its time. @param silent  the server did not answer, not even that it waits */
void cairn_pg_count(const struct cairn_pg *pg, int64_t began_ms, bool well, bool silent);

/** Records the last failure in diag, in the server's words. @return its cairn_pg_status() */
enum cairn_status cairn_pg_fail(const struct cairn_pg *pg, struct cairn_diag *diag, const char *what);

#endif
