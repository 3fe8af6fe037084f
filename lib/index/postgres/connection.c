#include "index/postgres/connection.h"

#include "base/sys.h"
#include "index/postgres/errors.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what failed -------------------------------------------------------------------------------------------------- */

static void connection_note(struct cairn_pg *pg, const char *sqlstate, const char *message)
{
	(void)snprintf(pg->sqlstate, sizeof(pg->sqlstate), "%s", sqlstate ? sqlstate : "");
	(void)snprintf(pg->message, sizeof(pg->message), "%.*s", (int)strcspn(message, "\n"), message);
}

enum cairn_status cairn_pg_fail(const struct cairn_pg *pg, struct cairn_diag *diag, const char *what)
{
	enum cairn_status status = cairn_pg_status(pg->sqlstate);
	const char *rule = status == CAIRN_E_DAMAGED ? "index.corrupt"
			   : status == CAIRN_E_BUSY  ? "index.silent"
						     : "index.database";
	return cairn_fail(diag, status, rule, CAIRN_NO_OFFSET, "%s: PostgreSQL: %s%s%s", what, pg->message,
			  pg->sqlstate[0] ? " " : "", pg->sqlstate);
}

/* Closes a connection that can no longer be used. */
static enum cairn_status connection_lose(struct cairn_pg *pg, const char *why)
{
	connection_note(pg, NULL, why);
	cairn_pg_close(pg);
	return CAIRN_E_BUSY;
}

void cairn_pg_count(const struct cairn_pg *pg, int64_t began_ms, bool well, bool silent)
{
	if (pg->watch)
		cairn_pg_watch_asked(pg->watch, well, silent, cairn_clock_mono_ms() - began_ms);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Notes a WARNING, which during COMMIT means that the commit may not be replicated. */
static void connection_notice(void *ctx, const PGresult *notice)
{
	struct cairn_pg *pg = ctx;
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	if (severity && strcmp(severity, "WARNING") == 0) {
		const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
		pg->warned = true;
		connection_note(pg, NULL, text ? text : "a warning");
	}
}

/* Commits wait for the standbys, whatever the server's settings. Plans are generic: plans for given values cost more
 * and gain nothing. The planner believes that a table still has the size of its last analysis, so it may read whole
 * tables only where no index helps, and joins look up each row. Timeouts free the locks of a daemon that hangs. */
static const char CONNECTION_SET_UP[] =
	"SELECT set_config('search_path', $1, false),"
	" CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"
	" THEN set_config('synchronous_commit', 'on', false) END,"
	" set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false),"
	" set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),"
	" set_config('lock_timeout', '3500', false),"
	" CASE WHEN $4 > '' THEN set_config('statement_timeout', $4, false) END,"
	" set_config('idle_in_transaction_session_timeout', $2, false), set_config('jit', 'off', false),"
	" set_config('default_transaction_read_only', $3, false), set_config('default_transaction_isolation',"
	" 'read committed', false), set_config('client_min_messages', 'warning', false),"
	" (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, current_setting('server_encoding')";

static enum cairn_status connection_set_up(struct cairn_pg *pg)
{
	const PGresult *r;
	char still_ms[16];
	if (PQsetnonblocking(pg->conn, 1) != 0 || PQenterPipelineMode(pg->conn) != 1)
		return connection_lose(pg, PQerrorMessage(pg->conn));
	char *schema = PQescapeIdentifier(pg->conn, pg->place->schema, strlen(pg->place->schema));
	if (!schema)
		return connection_lose(pg, PQerrorMessage(pg->conn));
	(void)snprintf(still_ms, sizeof(still_ms), "%d", CAIRN_PG_STILL_MS);
	enum cairn_status status = cairn_pg_ask(
		pg, CONNECTION_SET_UP,
		CAIRN_ARGS(cairn_db_text(schema), cairn_db_text(pg->reads_only ? "0" : still_ms),
			   cairn_db_text(pg->reads_only ? "on" : "off"), cairn_db_text(pg->answers_soon ? "3500" : "")),
		&r);
	PQfreemem(schema);
	if (status != CAIRN_OK) {
		cairn_pg_close(pg);
		return status;
	}
	pg->server = cairn_pg_get_int8(r, 0, PQnfields(r) - 2);
	return strcmp(PQgetvalue(r, 0, PQnfields(r) - 1), "UTF8") == 0
		       ? CAIRN_OK
		       : connection_lose(pg, "the database's encoding is not UTF8; make one with ENCODING 'UTF8'");
}

static enum cairn_status connection_open(struct cairn_pg *pg)
{
	/* The URL comes last, so its settings win. */
	static const char *const NAMES[] = {"connect_timeout",
					    "tcp_user_timeout",
					    "keepalives_idle",
					    "keepalives_interval",
					    "target_session_attrs",
					    "fallback_application_name",
					    "client_encoding",
					    "gssencmode",
					    "dbname",
					    NULL};
	const char *const values[] = {"2",       "4000",         "2", "1", "read-write", "cairn", "UTF8",
				      "disable", pg->place->url, NULL};
	pg->conn = PQconnectdbParams(NAMES, values, 1);
	if (!pg->conn)
		return connection_lose(pg, "no memory");
	if (PQstatus(pg->conn) != CONNECTION_OK)
		return connection_lose(pg, PQerrorMessage(pg->conn));
	(void)PQsetNoticeReceiver(pg->conn, connection_notice, pg);
	return connection_set_up(pg);
}

enum cairn_status cairn_pg_open(struct cairn_pg *pg)
{
	cairn_pg_close(pg);
	pg->silence_ms = CAIRN_PG_SILENCE_MS;
	if (!pg->watch)
		return connection_open(pg);
	if (!cairn_pg_watch_may_try(pg->watch))
		return connection_lose(pg, "it stopped answering a moment ago");
	int64_t began_ms = cairn_clock_mono_ms();
	pg->silences = cairn_pg_watch_silences(pg->watch);
	enum cairn_status status = connection_open(pg);
	cairn_pg_watch_tried(pg->watch, status == CAIRN_OK, cairn_clock_mono_ms() - began_ms);
	if (status != CAIRN_OK)
		cairn_pg_count(pg, began_ms, false, false);
	return status;
}

static void connection_clear(struct cairn_pg *pg)
{
	for (unsigned i = 0; i < pg->n_results; i++)
		cairn_pg_clearp(&pg->results[i]);
	pg->n_results = pg->n_got = pg->n_sent = pg->n_answered = 0;
	pg->queued = CAIRN_OK;
	pg->db.exchange++; /* rows of the last exchange are no longer valid */
}

void cairn_pg_close(struct cairn_pg *pg)
{
	connection_clear(pg);
	PQfinish(pg->conn);
	pg->conn = NULL;
	memset(pg->prepared, 0, sizeof(pg->prepared));
}

bool cairn_pg_is_alive(struct cairn_pg *pg)
{
	struct pollfd p = {.fd = pg->conn ? PQsocket(pg->conn) : -1, .events = POLLIN};
	if (pg->watch && pg->silences != cairn_pg_watch_silences(pg->watch))
		return false;
	/* on an idle connection, only the end of the connection arrives */
	return pg->conn && cairn_sys_poll(&p, 1, 0) == 0;
}

/* --- queueing ----------------------------------------------------------------------------------------------------- */

/* @return index in `prepared`; CAIRN_PG_PREPARED_MAX: there is no room */
static unsigned connection_find(const struct cairn_pg *pg, const char *sql, bool *prepared)
{
	unsigned unused = CAIRN_PG_PREPARED_MAX;
	for (unsigned i = 0; i < CAIRN_PG_PREPARED_MAX; i++) {
		*prepared = pg->prepared[i] == sql;
		if (*prepared)
			return i;
		if (!pg->prepared[i] && unused == CAIRN_PG_PREPARED_MAX)
			unused = i;
	}
	return unused;
}

static void connection_name(char name[static 16], unsigned prepared)
{
	(void)snprintf(name, 16, "s%u", prepared);
}

/* @return highest number of the parameters $1, $2 ... */
static uint8_t connection_count_params(const char *sql)
{
	unsigned long n = 0;
	for (const char *p = strchr(sql, '$'); p; p = strchr(p + 1, '$')) {
		unsigned long param = strtoul(p + 1, NULL, 10);
		n = param > n ? param : n;
	}
	return n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

/* Queues the preparation of a statement, unless it is prepared. */
static enum cairn_status connection_prepare(struct cairn_pg *pg, const char *sql, const struct cairn_pg_args *args,
					    char name[static 16])
{
	bool prepared;
	unsigned place = connection_find(pg, sql, &prepared);
	if (place == CAIRN_PG_PREPARED_MAX)
		return CAIRN_E_LIMIT;
	connection_name(name, place);
	if (!prepared)
		pg->n_params[place] = connection_count_params(sql);
	if (pg->n_params[place] != args->n)
		return CAIRN_E_LIMIT;
	if (prepared)
		return CAIRN_OK;
	if (PQsendPrepare(pg->conn, name, sql, args->n, args->types) != 1)
		return CAIRN_E_BUSY;
	pg->prepared[place] = sql;
	pg->sent[pg->n_sent++] = (struct cairn_pg_sent){true, place};
	return CAIRN_OK;
}

static enum cairn_status connection_send(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args)
{
	struct cairn_pg_args sent;
	char name[16];
	if (!pg->conn)
		return CAIRN_E_BUSY;
	enum cairn_status status = cairn_pg_encode(&sent, args);
	if (status != CAIRN_OK || pg->n_results == CAIRN_PG_STATEMENTS_MAX)
		return status != CAIRN_OK ? status : CAIRN_E_LIMIT;
	status = connection_prepare(pg, sql, &sent, name);
	if (status != CAIRN_OK)
		return status;
	if (PQsendQueryPrepared(pg->conn, name, sent.n, sent.values, sent.lengths, sent.formats, 1) != 1)
		return CAIRN_E_BUSY;
	pg->sent[pg->n_sent++] = (struct cairn_pg_sent){.prepares = false};
	pg->n_results++;
	return CAIRN_OK;
}

unsigned cairn_pg_queue(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args)
{
	static const struct cairn_db_args NONE = {0};
	if (pg->n_sent > 0 && pg->n_answered == pg->n_sent)
		connection_clear(pg);
	if (pg->queued == CAIRN_OK)
		pg->queued = connection_send(pg, sql, args ? args : &NONE);
	return pg->n_results > 0 ? pg->n_results - 1 : 0;
}

void cairn_pg_scan(struct cairn_pg *pg)
{
	static const char SCAN[] = CAIRN_PG_SCAN;
	(void)cairn_pg_queue(pg, SCAN, NULL);
}

void cairn_pg_take_long(struct cairn_pg *pg)
{
	static const char LONG[] = "SELECT set_config('statement_timeout', '0', true)";
	(void)cairn_pg_queue(pg, LONG, NULL);
}

void cairn_pg_look_up(struct cairn_pg *pg)
{
	static const char LOOK_UP[] = CAIRN_PG_PLAN("off");
	(void)cairn_pg_queue(pg, LOOK_UP, NULL);
}

bool cairn_pg_has_queued(const struct cairn_pg *pg)
{
	return pg->n_answered < pg->n_sent;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* If preparing a statement failed, it can be prepared again. */
static void connection_took(struct cairn_pg *pg, PGresult *r)
{
	const struct cairn_pg_sent *sent = &pg->sent[pg->n_answered];
	ExecStatusType got = PQresultStatus(r);
	bool well = got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK;
	if (!well && got != PGRES_PIPELINE_ABORTED && pg->queued == CAIRN_OK) {
		const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
		connection_note(pg, PQresultErrorField(r, PG_DIAG_SQLSTATE), text ? text : PQresultErrorMessage(r));
		pg->queued = cairn_pg_status(pg->sqlstate);
	}
	if (sent->prepares && !well)
		pg->prepared[sent->prepared] = NULL;
	if (sent->prepares)
		PQclear(r);
	else
		pg->results[pg->n_got++] = r;
}

/* Takes the answers that have arrived. @param[out] done  all have arrived */
static enum cairn_status connection_take(struct cairn_pg *pg, bool *done)
{
	*done = false;
	while (!PQisBusy(pg->conn)) {
		PGresult *r = PQgetResult(pg->conn);
		if (PQstatus(pg->conn) == CONNECTION_BAD) {
			PQclear(r);
			return connection_lose(pg, PQerrorMessage(pg->conn));
		}
		if (!r && pg->n_answered < pg->n_sent) {
			pg->n_answered++;
		} else if (!r) {
			return connection_lose(pg, "it answered out of turn");
		} else if (PQresultStatus(r) == PGRES_PIPELINE_SYNC) {
			PQclear(r);
			*done = true;
			return CAIRN_OK;
		} else if (pg->n_answered < pg->n_sent &&
			   (pg->sent[pg->n_answered].prepares || pg->n_got < pg->n_results)) {
			connection_took(pg, r);
		} else {
			PQclear(r);
			return connection_lose(pg, "it answered out of turn");
		}
	}
	return CAIRN_OK;
}

/* @return CAIRN_E_BUSY the server was silent */
static enum cairn_status connection_wait(struct cairn_pg *pg, bool writes, int64_t until_ms)
{
	struct pollfd p = {.fd = PQsocket(pg->conn), .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
	int64_t left = until_ms - cairn_clock_mono_ms();
	int n = cairn_sys_poll(&p, 1, left > 0 ? (int)left : 0);
	if (n == 0 && left <= 0) {
		connection_note(pg, NULL, "it does not answer");
		pg->silent = true;
		return CAIRN_E_BUSY;
	}
	return n <= 0 || PQconsumeInput(pg->conn) == 1 ? CAIRN_OK : connection_lose(pg, PQerrorMessage(pg->conn));
}

enum cairn_status cairn_pg_await(struct cairn_pg *pg)
{
	int64_t until_ms = cairn_clock_mono_ms() + pg->silence_ms;
	pg->silent = false;
	for (;;) {
		bool done;
		int unsent = PQflush(pg->conn);
		if (unsent < 0)
			return connection_lose(pg, PQerrorMessage(pg->conn));
		unsigned answered = pg->n_answered;
		enum cairn_status status = connection_take(pg, &done);
		if (status != CAIRN_OK || done)
			return status == CAIRN_OK ? pg->queued : status;
		if (pg->n_answered > answered)
			until_ms = cairn_clock_mono_ms() + pg->silence_ms;
		status = connection_wait(pg, unsent > 0, until_ms);
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_pg_exchange(struct cairn_pg *pg)
{
	if (!pg->conn)
		return CAIRN_E_BUSY;
	enum cairn_status status = pg->queued;
	if (status != CAIRN_OK) { /* some of the statements may have been sent */
		(void)connection_lose(pg, status == CAIRN_E_NOMEM ? "no memory" : PQerrorMessage(pg->conn));
		return status;
	}
	if (PQpipelineSync(pg->conn) != 1)
		return connection_lose(pg, PQerrorMessage(pg->conn));
	int64_t began_ms = cairn_clock_mono_ms();
	status = cairn_pg_await(pg);
	cairn_pg_count(pg, began_ms, status == CAIRN_OK, pg->silent);
	return pg->silent ? connection_lose(pg, "it does not answer") : status;
}

enum cairn_status cairn_pg_ask(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args,
			       const PGresult **result)
{
	*result = NULL;
	unsigned place = cairn_pg_queue(pg, sql, args);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status == CAIRN_OK)
		*result = pg->results[place];
	return status;
}

int64_t cairn_pg_changed(PGresult *r)
{
	return strtoll(PQcmdTuples(r), NULL, 10);
}

enum cairn_status cairn_pg_run(struct cairn_pg *pg, const char *sql, const struct cairn_db_args *args, int64_t *n)
{
	unsigned place = cairn_pg_queue(pg, sql, args);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (n)
		*n = status == CAIRN_OK ? cairn_pg_changed(pg->results[place]) : 0;
	return status;
}

PGresult *cairn_pg_keep(struct cairn_pg *pg, const PGresult *result)
{
	for (unsigned i = 0; i < pg->n_results; i++) {
		PGresult *r = pg->results[i];
		if (r != result)
			continue;
		pg->results[i] = NULL;
		return r;
	}
	return NULL;
}

void cairn_pg_clearp(PGresult **result)
{
	PQclear(*result);
	*result = NULL;
}
