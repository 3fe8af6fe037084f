#ifndef CAIRN_TESTS_CONTRACT_POSTGRES_FIXTURE_H
#define CAIRN_TESTS_CONTRACT_POSTGRES_FIXTURE_H

/* Shared by the contracts of PostgreSQL alone: an index in a schema of its own, and a further connection to the server.
 * The tests need a server of their own: they change its settings and end all its connections. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include <check.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

enum { PGFX_NEXT_MS = 10, PGFX_WITHIN_MS = 20000 };

/* The state of a test, made anew for each. */
struct pgfx {
	const char *server;    /* URL without a schema */
	struct tempdir folder; /* its path is also the name of the schema */
	struct cairn_index *ix;
	struct fx_xorb x;
	PGconn *admin;
};

extern struct pgfx pg;

/* Runs the tests of t at the URL in argv, each with pg set up before and torn down after. @return for main() */
int pgfx_run(int argc, char **argv, TCase *t);

void pgfx_pause_for(int ms);

/* Runs a statement. @return its first value; 0: there is none */
int64_t pgfx_sql(const char *text);
/* Makes names without a schema mean those of the index from now on. */
void pgfx_enter_schema(void);
/* Calls pgfx_enter_schema(), then pgfx_sql(). */
int64_t pgfx_sql_in(const char *text);
/* A query for pgfx_sql_in(): 1 if the counters that commits keep equal the counts of the tables. */
extern const char PGFX_COUNTS_AGREE[];

/* Repeats a query until its first value is not 0. */
void pgfx_wait_for(const char *question);

void pgfx_signal_server(int number);

/* Sends a signal to all backends that serve an index. */
void pgfx_signal_backends(int number);

/* Locks the row for which all writers wait, and hangs: idle in the transaction, or in the middle of an exchange, which
 * the server does not count as idle. The caller ends the connection with PQfinish(). */
PGconn *pgfx_stand_still(bool in_an_exchange);

/* Locks a table of the index on another connection, in a mode of LOCK TABLE. The caller ends it with PQfinish(). */
PGconn *pgfx_lock_table(const char *table, const char *mode);

/* Removes the standby that must confirm commits: none is acknowledged. @return a connection for pgfx_find_standbys() */
PGconn *pgfx_lose_standbys(void);
void pgfx_find_standbys(PGconn *other);

/* SQL conditions that tell two connections apart. The writer's holds a writer's lock while its commit waits for a
 * standby. The settler's holds no such lock after its commit. */
#define PGFX_HAS_LOCK "EXISTS(SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory')"
#define PGFX_WRITER   "FROM pg_stat_activity a WHERE a.wait_event = 'SyncRep' AND " PGFX_HAS_LOCK
#define PGFX_SETTLER                                                                                                   \
	"FROM pg_stat_activity a WHERE a.application_name = 'cairn' AND a.query = 'COMMIT' AND NOT " PGFX_HAS_LOCK
extern const char PGFX_WRITER_WAITS[], PGFX_SETTLER_WAITS[];

#endif
