#ifndef CAIRN_TESTS_CONTRACT_POSTGRES_FIXTURE_H
#define CAIRN_TESTS_CONTRACT_POSTGRES_FIXTURE_H

/* Shared by the contracts of PostgreSQL alone: an index in a schema of its own, and a connection beside it. The server
 * must be the tests' own: its settings are changed, and all its connections are ended. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include <check.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

enum { PGFX_NEXT_MS = 10, PGFX_WITHIN_MS = 20000 };

/* Made anew for each test. */
struct pgfx {
	const char *server;    /* URL without a schema */
	struct tempdir folder; /* its path is the schema, too */
	struct cairn_index *ix;
	struct fx_xorb x;
	PGconn *admin;
};

extern struct pgfx pg;

/* Run the tests of t at the URL in argv, each between a set-up and a tear-down of pg. @return what main() does */
int pgfx_run(int argc, char **argv, TCase *t);

void pgfx_pause_for(int ms);

/* @return the first value; 0: there is none */
int64_t pgfx_sql(const char *text);
/* From here on, names without a schema are those of the index. */
void pgfx_enter_schema(void);
/* The same, and the first value. */
int64_t pgfx_sql_in(const char *text);
/* For that: 1 when what each commit counts is what the tables have. */
extern const char PGFX_COUNTS_AGREE[];

/* Until a question is answered with more than nothing. */
void pgfx_wait_for(const char *question);

void pgfx_signal_server(int number);

/* All that serve a connection of an index. */
void pgfx_signal_backends(int number);

/* Hold the row that all who write wait for, and stand still: as one that is asked for more, or in the middle of an
 * exchange, which is no state of idleness to the server. The caller ends it: PQfinish(). */
PGconn *pgfx_stand_still(bool in_an_exchange);

/* Have another connection hold a table of the index, in a mode as of LOCK TABLE. The caller ends it: PQfinish(). */
PGconn *pgfx_lock_table(const char *table, const char *mode);

/* No commit is acknowledged from here on: the standby that must have it is not there. @return for the one below */
PGconn *pgfx_lose_standbys(void);
void pgfx_find_standbys(PGconn *other);

/* Connections: that of the writer, while a commit of it waits for a standby, which has the lock of a writer; and that
 * of the settler, once it has committed, which has none. */
#define PGFX_HAS_LOCK "EXISTS(SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory')"
#define PGFX_WRITER   "FROM pg_stat_activity a WHERE a.wait_event = 'SyncRep' AND " PGFX_HAS_LOCK
#define PGFX_SETTLER                                                                                                   \
	"FROM pg_stat_activity a WHERE a.application_name = 'cairn' AND a.query = 'COMMIT' AND NOT " PGFX_HAS_LOCK
extern const char PGFX_WRITER_WAITS[], PGFX_SETTLER_WAITS[];

#endif
