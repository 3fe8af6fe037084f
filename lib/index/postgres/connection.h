/* One connection to PostgreSQL, always in pipeline mode: statements are queued, sent together and answered together,
 * and the wait for the answer has an end. One thread at a time. */
#ifndef CAIRN_INDEX_POSTGRES_CONNECTION_H
#define CAIRN_INDEX_POSTGRES_CONNECTION_H

#include "db/db.h"
#include "index/postgres/args.h"
#include "index/postgres/place.h"
#include "index/postgres/watch.h"

enum {
	CAIRN_PG_SILENCE_MS = 4000,   /* of a server that has been asked; within 5 s of it clients are told 503 */
	CAIRN_PG_STILL_MS = 3000,     /* of a daemon within a transaction; others wait for less than lock_timeout */
	CAIRN_PG_SCAN_MS = 600000,    /* likewise, where it is asked to look at whole tables */
	CAIRN_PG_STATEMENTS_MAX = 16, /* of one exchange */
	CAIRN_PG_KNOWN_MAX = 512,     /* statements prepared on a connection: room for all there are (sizes.sh) */
};

/** One statement of an exchange under way. */
struct cairn_pg_sent {
	bool prepares;
	unsigned known; /* of what it prepares, its place there */
};

/** Zeroed except for its place: not open. */
struct cairn_pg {
	struct cairn_db db;                 /* first: the same connection, for records */
	const struct cairn_pg_place *place; /* borrowed */
	struct cairn_pg_watch *watch;       /* likewise; NULL: it is alone */
	unsigned silences;                  /* of the watch, when it was opened */
	bool reads_only;
	bool answers_soon; /* a statement is ended by the server before that would be taken for silent */
	PGconn *conn;      /* NULL: it is not open */
	int64_t server;    /* when it was started, in microseconds: another one is another server */
	int silence_ms;
	const char *known[CAIRN_PG_KNOWN_MAX]; /* by their texts' addresses; NULL: free */

	struct cairn_pg_sent sent[2 * CAIRN_PG_STATEMENTS_MAX];
	unsigned n_sent, n_answered;
	enum cairn_status queued;                   /* CAIRN_OK, or why not all of it could be */
	PGresult *results[CAIRN_PG_STATEMENTS_MAX]; /* of the last exchange, as they were queued */
	unsigned n_results, n_got;

	bool silent;       /* the last answer that was awaited has not come, and still may */
	bool warned;       /* a WARNING came since this was set to false */
	char sqlstate[6];  /* of the last failure; empty: the connection's */
	char message[160]; /* likewise */
};

/** Connect, with the limits on waiting and durability that the rest relies on. @return CAIRN_OK; CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_pg_open(struct cairn_pg *pg);
/** What is under way is given up; a transaction that is not committed is rolled back by the server. */
void cairn_pg_close(struct cairn_pg *pg);

/** Is it open, has nobody closed it while it was idle, and has the server not been silent since? */
bool cairn_pg_is_alive(struct cairn_pg *pg);

/** Queue a statement for the next exchange. @param sql  static: it is prepared once @return its place in results */
unsigned cairn_pg_queue(struct cairn_pg *pg, const char *sql, const struct cairn_pg_args *args);

/* Whether the planner may read tables whole, until the transaction ends. */
#define CAIRN_PG_PLAN(freely)                                                                                          \
	"SELECT set_config('enable_seqscan', '" freely "', true), set_config('enable_hashjoin', '" freely "', true),"  \
	" set_config('enable_mergejoin', '" freely "', true)"
#define CAIRN_PG_SCAN CAIRN_PG_PLAN("on") ", set_config('statement_timeout', '0', true)"
/** What is queued behind this looks at whole tables, may be planned so and may take as long: until the transaction
 * ends, and where none was begun, with the exchange. Then, and after any failure, the connection is one for look-ups
 * again. A statement is always asked behind this, or never: its plan stays. Only queued. */
void cairn_pg_scan(struct cairn_pg *pg);
/** Likewise what is queued behind this may take as long, and is planned as any other. */
void cairn_pg_take_long(struct cairn_pg *pg);
/** Likewise what is queued behind this looks rows up again, within the same transaction. */
void cairn_pg_look_up(struct cairn_pg *pg);

/** What is queued behind this is a page of rows in the order of an index: they are read in that order rather than
 *  sorted, so that there are as many of them as the page has. Likewise until the transaction ends. */
void cairn_pg_in_order(struct cairn_pg *pg);

/** Is something queued that no exchange has taken? */
bool cairn_pg_has_queued(const struct cairn_pg *pg);

/**
 * Send what is queued and wait for the answer to all of it.
 * @return CAIRN_OK, with results until the next queue; CAIRN_E_BUSY the server is silent: cairn_pg_await() again, or
 *         close; CAIRN_E_LIMIT, CAIRN_E_NOMEM it could not be queued; otherwise cairn_pg_status() of what failed first,
 *         and nothing behind it was done
 */
CAIRN_MUST_USE enum cairn_status cairn_pg_await(struct cairn_pg *pg);

/** Queue one more, and await all that is queued; a silent server's connection is closed. @param[out] result  of the
 *  last, borrowed until the next queue; NULL on failure @return as cairn_pg_await(); it is never open and silent */
CAIRN_MUST_USE enum cairn_status cairn_pg_ask(struct cairn_pg *pg, const char *sql, const struct cairn_pg_args *args,
					      const PGresult **result);
/** Likewise of all that is queued. */
CAIRN_MUST_USE enum cairn_status cairn_pg_exchange(struct cairn_pg *pg);
/** Likewise of a statement that changes rows. @param[out] n  how many; may be NULL */
CAIRN_MUST_USE enum cairn_status cairn_pg_run(struct cairn_pg *pg, const char *sql, const struct cairn_pg_args *args,
					      int64_t *n);
int64_t cairn_pg_changed(PGresult *r);

/** Keep a result beyond the next exchange: the caller's, PQclear(). */
PGresult *cairn_pg_keep(struct cairn_pg *pg, const PGresult *result);
void cairn_pg_clearp(PGresult **result); /* for CLEANUP() */

/** Count what was asked, and how long it took. @param silent  the server did not answer, not even that it waits */
void cairn_pg_count(const struct cairn_pg *pg, int64_t began_ms, bool well, bool silent);

/** Record why it failed, in the server's words. @return cairn_pg_status() of it */
enum cairn_status cairn_pg_fail(const struct cairn_pg *pg, struct cairn_diag *diag, const char *what);

#endif
