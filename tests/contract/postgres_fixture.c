#include "postgres_fixture.h"

#include "base/clock.h"
#include "support/run.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pgfx pg;

const char PGFX_WRITER_WAITS[] = "SELECT count(*) " PGFX_WRITER;
const char PGFX_COUNTS_AGREE[] = "SELECT (files = (SELECT count(*) FROM file) AND shards = (SELECT count(*) FROM shard)"
				 " AND eligible = (SELECT count(*) FROM dedupe))::int FROM state";
const char PGFX_SETTLER_WAITS[] = "SELECT count(*) " PGFX_SETTLER " AND a.wait_event = 'SyncRep'";

void pgfx_pause_for(int ms)
{
	(void)poll(NULL, 0, ms);
}

int64_t pgfx_sql(const char *text)
{
	PGresult *r = PQexec(pg.admin, text);
	ExecStatusType status = PQresultStatus(r);
	ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", text,
		      PQerrorMessage(pg.admin));
	int64_t value = PQntuples(r) > 0 ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
	PQclear(r);
	return value;
}

void pgfx_enter_schema(void)
{
	char text[512];
	(void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", pg.folder.path);
	(void)pgfx_sql(text);
}

int64_t pgfx_sql_in(const char *text)
{
	pgfx_enter_schema();
	return pgfx_sql(text);
}

void pgfx_wait_for(const char *question)
{
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	while (pgfx_sql(question) == 0) {
		ck_assert_msg(cairn_clock_mono_ms() < until_ms, "%s", question);
		pgfx_pause_for(PGFX_NEXT_MS);
	}
}

void pgfx_signal_server(int number)
{
	const char *pid = getenv("CAIRN_TEST_POSTGRES_PID");
	ck_assert_ptr_nonnull(pid);
	ck_assert_int_eq(kill((pid_t)strtol(pid, NULL, 10), number), 0);
}

void pgfx_signal_backends(int number)
{
	PGresult *r = PQexec(pg.admin, "SELECT pid FROM pg_stat_activity WHERE application_name = 'cairn'");
	ck_assert_int_gt(PQntuples(r), 0);
	for (int i = 0; i < PQntuples(r); i++)
		ck_assert_int_eq(kill((pid_t)strtol(PQgetvalue(r, i, 0), NULL, 10), number), 0);
	PQclear(r);
}

PGconn *pgfx_stand_still(bool in_an_exchange)
{
	char text[256];
	PGconn *still = PQconnectdb(pg.server);
	(void)snprintf(text, sizeof(text), "SELECT 1 FROM \"%s\".state FOR NO KEY UPDATE", pg.folder.path);
	ck_assert_int_eq(PQstatus(still), CONNECTION_OK);
	ck_assert_int_eq(PQenterPipelineMode(still), 1);
	ck_assert_int_eq(PQsendQueryParams(still, "BEGIN", 0, NULL, NULL, NULL, NULL, 0), 1);
	ck_assert_int_eq(PQsendQueryParams(still, text, 0, NULL, NULL, NULL, NULL, 0), 1);
	ck_assert_int_eq(in_an_exchange ? PQsendFlushRequest(still) : PQpipelineSync(still), 1);
	ck_assert_int_eq(PQflush(still), 0);
	(void)snprintf(
		text, sizeof(text),
		"SELECT count(*) FROM pg_locks WHERE relation = '\"%s\".state'::regclass AND mode = 'RowShareLock'",
		pg.folder.path);
	pgfx_wait_for(text);
	return still;
}

PGconn *pgfx_lock_table(const char *table, const char *mode)
{
	char text[256];
	PGconn *other = PQconnectdb(pg.server);
	(void)snprintf(text, sizeof(text), "BEGIN; LOCK TABLE \"%s\".%s IN %s MODE", pg.folder.path, table, mode);
	PQclear(PQexec(other, text));
	ck_assert_msg(PQtransactionStatus(other) == PQTRANS_INTRANS, "%s", PQerrorMessage(other));
	return other;
}

PGconn *pgfx_lose_standbys(void)
{
	PGconn *other = PQconnectdb(pg.server);
	ck_assert_int_eq(PQstatus(other), CONNECTION_OK);
	(void)pgfx_sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	(void)pgfx_sql("SELECT pg_reload_conf()");
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	/* Losing the standbys takes the server a moment: repeat until a commit waits. */
	for (;;) {
		struct pollfd p = {.fd = PQsocket(other), .events = POLLIN};
		ck_assert_int_eq(PQsendQuery(other, "SELECT pg_logical_emit_message(true, 'test', '')"), 1);
		if (poll(&p, 1, 500) == 0)
			return other;
		PGresult *r;
		while ((r = PQgetResult(other)))
			PQclear(r);
		ck_assert_int_lt(cairn_clock_mono_ms(), until_ms);
	}
}

void pgfx_find_standbys(PGconn *other)
{
	(void)pgfx_sql("ALTER SYSTEM RESET synchronous_standby_names");
	(void)pgfx_sql("SELECT pg_reload_conf()");
	PQclear(PQgetResult(other));
	PQfinish(other);
}

static void set_up(void)
{
	pgfx_signal_server(SIGCONT); /* a test may have failed before it continued the server */
	pg.folder = tempdir_new();
	pg.admin = PQconnectdb(pg.server);
	ck_assert_int_eq(PQstatus(pg.admin), CONNECTION_OK);
	(void)pgfx_sql("SET synchronous_commit = local");
	(void)pgfx_sql("ALTER SYSTEM RESET synchronous_standby_names"); /* if a test failed before resetting it */
	(void)pgfx_sql("SELECT pg_reload_conf()");
	pg.ix = fx_open(pg.folder.path);
	pg.x = fx_xorb_new(1, 5);
}

static void tear_down(void)
{
	(void)pgfx_sql("ALTER SYSTEM RESET synchronous_standby_names");
	(void)pgfx_sql("SELECT pg_reload_conf()");
	fx_xorb_fini(&pg.x);
	cairn_index_free(pg.ix);
	PQfinish(pg.admin);
	tempdir_fini(&pg.folder);
}

int pgfx_run(int argc, char **argv, TCase *t)
{
	if (argc < 2 || !strchr(argv[1], '?')) {
		(void)fprintf(stderr, "usage: %s URL?schema=*\n", argv[0]);
		return EXIT_FAILURE;
	}
	fx_use_engine(argc, argv);
	char *url = strdup(argv[1]);
	url[strcspn(url, "?")] = '\0';
	pg.server = url;
	tcase_add_checked_fixture(t, set_up, tear_down);
	Suite *s = suite_create("postgres");
	suite_add_tcase(s, t);
	int failed = run_suite(s);
	free(url);
	return failed;
}
