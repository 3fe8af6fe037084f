/* A connection to PostgreSQL, always in pipeline mode: queued statements are sent together, and their answers awaited
 * together, with a timeout. For one thread at a time. */
#ifndef CAIRN_INDEX_POSTGRES_CONNECTION_H
#define CAIRN_INDEX_POSTGRES_CONNECTION_H

#include "db/db.h"
#include "index/postgres/args.h"
#include "index/postgres/place.h"
#include "index/postgres/watch.h"

enum {
	CAIRN_PG_SILENCE_MS = 4000,   /* timeout of an answer; clients get 503 within 5 s */
	CAIRN_PG_STILL_MS = 3000,     /* the server ends a transaction idle for so long; less than lock_timeout */
	CAIRN_PG_SCAN_MS = 600000,    /* timeout of an answer that needs a scan of whole tables */
	CAIRN_PG_STATEMENTS_MAX = 16, /* statements of one exchange */
	CAIRN_PG_PREPARED_MAX = 512,  /* statements prepared on a connection: room for all (sizes.sh) */
};

/** A statement of the exchange in progress. */
struct cairn_pg_sent {
	bool prepares;
	unsigned prepared; /* if it prepares a statement, the index in `prepared` */
};

/** A connection. Zeroed except for its place: not open. */
struct cairn_pg {
	struct cairn_db db;                 /* first: the same connection, as records use it */
	const struct cairn_pg_place *place; /* borrowed */
	struct cairn_pg_watch *watch;       /* borrowed; NULL: not shared */
	unsigned silences;                  /* the watch's count when this connection was opened */
	bool reads_only;
	bool answers_soon; /* the server cancels a statement before its silence would count */
	PGconn *conn;      /* NULL: it is not open */
	int64_t server;    /* start time of the server, in microseconds, which identifies it */
	int silence_ms;
	const char *prepared[CAIRN_PG_PREPARED_MAX]; /* addresses of the texts of prepared statements; NULL: free */
	uint8_t n_params[CAIRN_PG_PREPARED_MAX];     /* number of parameters of each statement */

	struct cairn_pg_sent sent[2 * CAIRN_PG_STATEMENTS_MAX];
	unsigned n_sent, n_answered;
	enum cairn_status queued;                   /* CAIRN_OK, or why a statement could not be queued */
	PGresult *results[CAIRN_PG_STATEMENTS_MAX]; /* answers of the last exchange, in the order of the statements */
	unsigned n_results, n_got;

	bool silent;       /* the last awaited answer has not arrived, and may still arrive */
	bool warned;       /* the server sent a WARNING since this was set to false */
	char sqlstate[6];  /* of the last failure; empty: the connection itself failed */
	char message[160]; /* text of the last failure */
};

/** Connects, with the timeouts and durability that the engine relies on. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_pg_open(struct cairn_pg *pg);
/** Closes the connection. Abandons an exchange in progress; the server rolls back an open transaction. */
void cairn_pg_close(struct cairn_pg *pg);

/** Is the connection open, not closed by the server while idle, and has the server not been silent since? */
bool cairn_pg_is_alive(struct cairn_pg *pg);

/** Queues a statement for the next exchange. A wrong number of arguments is an error of queueing. @param sql  static:
 * it is prepared once @param args  NULL: none @return its index in results */
unsigned cairn_pg_queue(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args);

/* Allows or forbids plans that read whole tables, until the transaction ends. */
#define CAIRN_PG_PLAN(freely)                                                                                          \
	"SELECT set_config('enable_seqscan', '" freely "', true), set_config('enable_hashjoin', '" freely "', true),"  \
	" set_config('enable_mergejoin', '" freely "', true)"
#define CAIRN_PG_SCAN CAIRN_PG_PLAN("on") ", set_config('statement_timeout', '0', true)"
/** Lets the statements queued after this read whole tables, with a plan and a timeout for that, until the transaction
 * (else the exchange) ends or fails. Plans are kept, so a statement must always or never follow this. Only queued. */
void cairn_pg_scan(struct cairn_pg *pg);
/** Gives the statements queued after this the longer timeout, with the usual plans. Ends as cairn_pg_scan() does. */
void cairn_pg_take_long(struct cairn_pg *pg);
/** Returns to lookups within the transaction: undoes cairn_pg_scan() for statements queued after this. */
void cairn_pg_look_up(struct cairn_pg *pg);

/** Are statements queued that no exchange has sent? */
bool cairn_pg_has_queued(const struct cairn_pg *pg);

/** Sends the queued statements and waits for all answers.
 * @return CAIRN_OK, with results until the next statement is queued; CAIRN_E_BUSY the server is silent: await again, or
 *         close; CAIRN_E_LIMIT, CAIRN_E_NOMEM a statement could not be queued; otherwise cairn_pg_status() of the
 *         first failure, after which no statement was executed */
CAIRN_MUST_USE enum cairn_status cairn_pg_await(struct cairn_pg *pg);

/** Queues a statement, and awaits all that are queued; closes the connection if the server is silent. @param[out]
 * result  of the last statement, borrowed until the next is queued; NULL on failure @return as cairn_pg_await(); after
 * CAIRN_E_BUSY the connection is closed */
CAIRN_MUST_USE enum cairn_status cairn_pg_ask(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args,
					      const PGresult **result);
/** Does the same with the statements already queued. */
CAIRN_MUST_USE enum cairn_status cairn_pg_exchange(struct cairn_pg *pg);
/** Does what cairn_pg_ask() does, for a statement that changes rows. @param[out] n  number of changed rows; may be
 * NULL */
CAIRN_MUST_USE enum cairn_status cairn_pg_run(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args,
					      int64_t *n);
int64_t cairn_pg_changed(PGresult *r);

/** Keeps a result beyond the next exchange. The caller owns it: PQclear(). */
PGresult *cairn_pg_keep(struct cairn_pg *pg, const PGresult *result);
void cairn_pg_clearp(PGresult **result);

/** Counts an exchange and its time. @param silent  the server sent nothing, not even an error */
void cairn_pg_count(const struct cairn_pg *pg, int64_t began_ms, bool well, bool silent);

/** Records the last failure in diag, in the server's words. @return its cairn_pg_status() */
enum cairn_status cairn_pg_fail(const struct cairn_pg *pg, struct cairn_diag *diag, const char *what);

#endif
