/* What PostgreSQL alone can do to an index: keep a commit waiting for a standby, end it, fall silent, come back.
 * The server must be the tests' own: its settings are changed, and all its connections are ended. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include "base/clock.h"
#include "index/hub.h"
#include "index/lease.h"
#include "index/quota.h"
#include "index/session.h"

#include <check.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEXT_MS = 10, WITHIN_MS = 20000 };

static const char *server; /* URL without a schema */
static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb x;
static PGconn *admin;

static void pause_for(int ms)
{
	(void)poll(NULL, 0, ms);
}

/* @return the first value; 0: there is none */
static int64_t sql(const char *text)
{
	PGresult *r = PQexec(admin, text);
	ExecStatusType status = PQresultStatus(r);
	ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", text, PQerrorMessage(admin));
	int64_t value = PQntuples(r) > 0 ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
	PQclear(r);
	return value;
}

/* Until a question is answered with more than nothing. */
static void wait_for(const char *question)
{
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	while (sql(question) == 0) {
		ck_assert_msg(cairn_clock_mono_ms() < until_ms, "%s", question);
		pause_for(NEXT_MS);
	}
}

static void signal_server(int number)
{
	const char *pid = getenv("CAIRN_TEST_POSTGRES_PID");
	ck_assert_ptr_nonnull(pid);
	ck_assert_int_eq(kill((pid_t)strtol(pid, NULL, 10), number), 0);
}

static void set_up(void)
{
	signal_server(SIGCONT); /* of a test that failed */
	folder = tempdir_new();
	admin = PQconnectdb(server);
	ck_assert_int_eq(PQstatus(admin), CONNECTION_OK);
	(void)sql("SET synchronous_commit = local");
	(void)sql("ALTER SYSTEM RESET synchronous_standby_names"); /* of a test that failed */
	(void)sql("SELECT pg_reload_conf()");
	ix = fx_open(folder.path);
	x = fx_xorb_new(1, 5);
}

static void tear_down(void)
{
	(void)sql("ALTER SYSTEM RESET synchronous_standby_names");
	(void)sql("SELECT pg_reload_conf()");
	fx_xorb_fini(&x);
	cairn_index_free(ix);
	PQfinish(admin);
	tempdir_fini(&folder);
}

/* --- a write on its way ------------------------------------------------------------------------------------------- */

static struct write_on_its_way {
	struct cairn_index_put_xorb put;
	struct fx_shard shard;
	struct cairn_index_put_shard put_shard;
	struct cairn_index_write *write; /* one of them */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
} sent = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void sent_done(struct cairn_index_write *write)
{
	(void)write;
	pthread_mutex_lock(&sent.lock);
	sent.done = true;
	pthread_cond_broadcast(&sent.changed);
	pthread_mutex_unlock(&sent.lock);
}

static void send_xorb(void)
{
	sent.done = false;
	sent.put = (struct cairn_index_put_xorb){
		.write.done = sent_done, .hash = x.hash, .list = &x.list, .stored_bytes = 2500};
	sent.write = &sent.put.write;
	ck_assert_int_eq(cairn_index_put_xorb(ix, &sent.put), CAIRN_OK);
}

static void send_shard(void)
{
	sent.done = false;
	fx_shard_init(&sent.shard, 1);
	fx_shard_xorb(&sent.shard, &x, 1, 1);
	fx_shard_file(&sent.shard, 1, &x, 0, 5);
	sent.put_shard = fx_shard_request(&sent.shard);
	sent.put_shard.write.done = sent_done;
	sent.write = &sent.put_shard.write;
	ck_assert_int_eq(cairn_index_put_shard(ix, &sent.put_shard), CAIRN_OK);
}

static enum cairn_status sent_status(void)
{
	pthread_mutex_lock(&sent.lock);
	while (!sent.done)
		pthread_cond_wait(&sent.changed, &sent.lock);
	pthread_mutex_unlock(&sent.lock);
	return sent.write->status;
}

/* A write that a server must not have acknowledged: its caller is to try again. */
static void assert_unknown(void)
{
	ck_assert_int_eq(sent_status(), CAIRN_E_BUSY);
	ck_assert_str_eq(sent.write->diag.rule, "index.silent");
}

/* Our own, among those that wait: it has the lock of a writer. */
#define WRITER                                                                                                         \
	"FROM pg_stat_activity a WHERE a.wait_event = 'SyncRep' AND EXISTS(SELECT 1 FROM pg_locks l"                   \
	" WHERE l.pid = a.pid AND l.locktype = 'advisory')"

static const char WRITER_WAITS[] = "SELECT count(*) " WRITER;

/* No commit is acknowledged from here on: the standby that must have it is not there. */
static PGconn *lose_standbys(void)
{
	PGconn *other = PQconnectdb(server);
	ck_assert_int_eq(PQstatus(other), CONNECTION_OK);
	(void)sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	(void)sql("SELECT pg_reload_conf()");
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	/* It takes the server a moment: until one commit waits. */
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

static void find_standbys(PGconn *other)
{
	(void)sql("ALTER SYSTEM RESET synchronous_standby_names");
	(void)sql("SELECT pg_reload_conf()");
	PQclear(PQgetResult(other));
	PQfinish(other);
}

/* What is done again is known by then, and must not be acknowledged for that. */
START_TEST(a_repeated_commit_is_no_acknowledgement)
{
	ck_assert(fx_xorb_put(ix, &x));
	PGconn *other = lose_standbys();
	send_shard();
	wait_for(WRITER_WAITS);
	(void)sql("SELECT pg_terminate_backend(a.pid) " WRITER);
	assert_unknown();
	ck_assert(fx_sees(ix, NULL, 1)); /* it is there, and on no standby */
	send_shard();
	wait_for(WRITER_WAITS);
	find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
	ck_assert(!sent.put_shard.added);
}
END_TEST

START_TEST(a_cancelled_commit_is_no_acknowledgement)
{
	PGconn *other = lose_standbys();
	send_xorb();
	wait_for(WRITER_WAITS);
	(void)sql("SELECT pg_cancel_backend(a.pid) " WRITER);
	assert_unknown();
	send_xorb();
	wait_for(WRITER_WAITS);
	find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
}
END_TEST

/* Nobody cancels it: it waits on, and meanwhile all writes are refused at once. */
START_TEST(a_commit_that_waits_is_parked)
{
	PGconn *other = lose_standbys();
	int64_t begin_ms = cairn_clock_mono_ms();
	send_xorb();
	assert_unknown();
	ck_assert_int_lt(cairn_clock_mono_ms() - begin_ms, 5000);
	ck_assert_int_eq(sql(WRITER_WAITS), 1);
	begin_ms = cairn_clock_mono_ms();
	send_xorb();
	assert_unknown();
	ck_assert_int_ne(cairn_index_health(ix, NULL), CAIRN_OK);
	ck_assert_int_lt(cairn_clock_mono_ms() - begin_ms, 1000);
	ck_assert_int_eq(sql(WRITER_WAITS), 1);
	find_standbys(other);
	begin_ms = cairn_clock_mono_ms();
	do {
		send_xorb();
	} while (sent_status() != CAIRN_OK && cairn_clock_mono_ms() - begin_ms < 2000);
	ck_assert_int_eq(sent.put.write.status, CAIRN_OK);
	ck_assert(!sent.put.added);
}
END_TEST

/* --- a server that goes and comes --------------------------------------------------------------------------------- */

/* Whoever ends connections takes nothing along: the next call opens one. */
START_TEST(connections_that_are_ended)
{
	struct cairn_index_xorb row;
	for (unsigned i = 0; i < 3; i++) {
		struct fx_xorb other = fx_xorb_new(10 + i, 3);
		ck_assert(fx_xorb_put(ix, &other));
		ck_assert_int_eq(cairn_index_xorb(ix, &other.hash, &row), CAIRN_OK);
		(void)sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
			  " WHERE pid <> pg_backend_pid() AND application_name = 'cairn'");
		wait_for("SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE application_name = 'cairn'");
		fx_xorb_fini(&other);
	}
}
END_TEST

static void signal_backends(int number)
{
	PGresult *r = PQexec(admin, "SELECT pid FROM pg_stat_activity WHERE application_name = 'cairn'");
	ck_assert_int_gt(PQntuples(r), 0);
	for (int i = 0; i < PQntuples(r); i++)
		ck_assert_int_eq(kill((pid_t)strtol(PQgetvalue(r, i, 0), NULL, 10), number), 0);
	PQclear(r);
}

/* Its backends stand still: each call answers in time, and well again when they go on. */
START_TEST(a_silent_server)
{
	struct cairn_index_xorb row;
	ck_assert(fx_xorb_put(ix, &x));
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	signal_backends(SIGSTOP);
	int64_t begin_ms = cairn_clock_mono_ms();
	send_xorb();
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_E_BUSY);
	ck_assert_int_eq(sent_status(), CAIRN_E_BUSY);
	ck_assert_int_lt(cairn_clock_mono_ms() - begin_ms, 5000);
	signal_backends(SIGCONT);
	begin_ms = cairn_clock_mono_ms();
	do {
		send_xorb();
	} while (sent_status() != CAIRN_OK && cairn_clock_mono_ms() - begin_ms < 2000);
	ck_assert_int_eq(sent.put.write.status, CAIRN_OK);
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(ix, NULL), CAIRN_OK);
	ck_assert_int_lt(cairn_clock_mono_ms() - begin_ms, 2000);
}
END_TEST

/* --- who may open it ---------------------------------------------------------------------------------------------- */

START_TEST(one_writer)
{
	struct cairn_index *second = NULL;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_open(&second, fx_url(folder.path).text, NULL, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "index.taken");
	ck_assert_ptr_null(second);
	ck_assert(fx_xorb_put(ix, &x));
}
END_TEST

static void assert_refused(const char *rule)
{
	struct cairn_index *second = NULL;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_open(&second, fx_url(folder.path).text, NULL, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, rule);
}

START_TEST(other_versions_and_other_schemas)
{
	char text[256];
	(void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", folder.path);
	(void)sql(text);
	(void)sql("UPDATE cluster SET version = 999");
	assert_refused("index.newer");
	(void)sql("UPDATE cluster SET application = 'another'");
	assert_refused("index.foreign");
	(void)sql("DROP TABLE cluster");
	assert_refused("index.foreign");
	int from, to;
	ck_assert_int_eq(cairn_index_migrate(fx_url(folder.path).text, NULL, &from, &to), CAIRN_E_CONFLICT);
}
END_TEST

START_TEST(an_older_one_is_brought_forward)
{
	char text[256];
	int from, to;
	struct cairn_index_add_account add = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	ck_assert(fx_xorb_put(ix, &x));
	cairn_index_free(ix);
	ix = NULL;
	(void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", folder.path);
	(void)sql(text);
	(void)sql("DROP TABLE entry, content, ref, commit_, line, object, former, repo, membership");
	(void)sql("ALTER TABLE account DROP COLUMN quota");
	(void)sql("DROP TABLE dead");
	(void)sql("ALTER TABLE xorb DROP COLUMN copy");
	(void)sql("ALTER TABLE state DROP COLUMN keys, DROP COLUMN withdrawn, DROP COLUMN frozen");
	(void)sql("DROP TABLE session, job, rule_off");
	(void)sql("DROP TABLE proof");
	(void)sql("ALTER TABLE file_owner DROP COLUMN proof, DROP COLUMN due");
	(void)sql("ALTER TABLE scope DROP COLUMN quota, DROP COLUMN stored");
	(void)sql("DROP INDEX file_owner_sha256, file_owner_claim");
	(void)sql("CREATE INDEX file_owner_claim ON file_owner(scope, sha256, file)");
	(void)sql("UPDATE cluster SET version = 1");
	assert_refused("index.older");
	ck_assert_int_eq(cairn_index_migrate(fx_url(folder.path).text, NULL, &from, &to), CAIRN_OK);
	ck_assert_int_eq(from, 1);
	ck_assert_int_gt(to, 1);
	ix = fx_open(folder.path);
	ck_assert(!fx_xorb_put(ix, &x)); /* known */
	ck_assert_int_eq(cairn_index_add_account(ix, &add), CAIRN_OK);
}
END_TEST

START_TEST(urls)
{
	static const char *const URLS[] = {
		"postgres:///x?schema=",
		"postgres:///x?schema=a%20b",
		("postgres:///x?schema=0123456789012345678901234567890123456789"
		 "012345678901234567890123"),
	};
	struct cairn_index *second;
	struct cairn_diag diag;
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(cairn_index_open(&second, URLS[i], NULL, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "index.url");
	}
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_open(&second, "postgres://127.0.0.1:1/x", NULL, &diag), CAIRN_E_BUSY);
	ck_assert_ptr_nonnull(strstr(diag.text, "PostgreSQL"));
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_open(&second, "postgres://127.0.0.1:1/x?nonsense=1", NULL, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "nonsense"));
}
END_TEST

/* A password is refused wherever it stands, and not repeated. */
START_TEST(passwords_in_urls)
{
	static const char *const URLS[] = {
		"postgres://me:s3cret@127.0.0.1:1/x",         "postgres://127.0.0.1:1/x?password=s3cret",
		"postgres://127.0.0.1:1/x?pass%77ord=s3cret", "postgres://127.0.0.1:1/x?sslpassword=s3cret",
		"postgres://me:s3cret%zz@127.0.0.1:1/x",
	};
	struct cairn_index_reach reach;
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_index_reach(URLS[i], &reach, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "index.password");
		ck_assert_ptr_null(strstr(diag.text, "s3cret"));
	}
}
END_TEST

START_TEST(what_connecting_takes)
{
	struct cairn_index_reach reach;
	ck_assert_int_eq(cairn_index_reach("postgres://a,b:7000/x?passfile=/run/pass", &reach, NULL), CAIRN_OK);
	ck_assert_uint_ge(reach.n_ports, 1);
	ck_assert_uint_eq(reach.ports[reach.n_ports - 1], 7000);
	ck_assert(!reach.by_socket);
	ck_assert_str_eq(reach.files[0], "/run/pass");
	ck_assert_int_eq(cairn_index_reach("postgres:///x?host=/run/postgresql", &reach, NULL), CAIRN_OK);
	ck_assert(reach.by_socket);
	ck_assert_int_eq(cairn_index_reach("sqlite:x", &reach, NULL), CAIRN_OK);
	ck_assert(reach.n_ports == 0 && reach.n_files == 0 && !reach.by_socket);
}
END_TEST

static enum cairn_status open_for(const char *owner, struct cairn_diag *diag)
{
	const struct cairn_index_options options = {.owner = owner};
	cairn_index_freep(&ix);
	return cairn_index_open(&ix, fx_url(folder.path).text, &options, diag);
}

/* One without rows is whose it is first said to be; one with rows that is nobody's is not taken. */
START_TEST(owners)
{
	struct cairn_diag diag = {0};
	ck_assert_int_eq(open_for("one", NULL), CAIRN_OK);
	ck_assert_int_eq(open_for("two", &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "index.owner");
	ck_assert_int_eq(open_for("one", NULL), CAIRN_OK);
	ck_assert(fx_xorb_put(ix, &x));
	char text[256];
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".cluster SET owner = ''", folder.path);
	(void)sql(text);
	ck_assert_int_eq(open_for("one", NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(open_for(NULL, NULL), CAIRN_OK);
}
END_TEST

/* It is tried now and then, by one of those who ask: the others are told at once. */
START_TEST(a_silent_server_is_tried_seldom)
{
	struct cairn_index_xorb row;
	signal_server(SIGSTOP);
	signal_backends(SIGSTOP);
	int64_t begin_ms = cairn_clock_mono_ms();
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_E_BUSY);
	ck_assert_int_lt(cairn_clock_mono_ms() - begin_ms, 10000); /* and not 2 s each */
	signal_server(SIGCONT);
	signal_backends(SIGCONT);
}
END_TEST

/* Known, and not as long as a standby has not confirmed it. */
START_TEST(what_is_read_is_no_acknowledgement)
{
	struct cairn_index_confirm confirm = {.write.done = sent_done};
	ck_assert(fx_xorb_put(ix, &x));
	PGconn *other = lose_standbys();
	send_shard();
	wait_for(WRITER_WAITS);
	(void)sql("SELECT pg_terminate_backend(a.pid) " WRITER);
	assert_unknown();
	sent.done = false;
	sent.write = &confirm.write;
	ck_assert_int_eq(cairn_index_confirm(ix, &confirm), CAIRN_OK);
	wait_for(WRITER_WAITS);
	find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
}
END_TEST

/* Scopes and owners come from tokens, and may be no text. */
START_TEST(names_that_are_no_text)
{
	struct fx_shard s;
	bool known;
	fx_shard_init(&s, 1);
	s.owner = "\xff\xfe";
	fx_shard_xorb(&s, &x, 1, 1);
	ck_assert(fx_xorb_put(ix, &x));
	ck_assert_int_ne(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert_ptr_nonnull(s.diag.rule);
	ck_assert_int_ne(cairn_index_shard_known(ix, &s.body, "", s.owner, &known), CAIRN_OK);
	ck_assert(!known);
	s.owner = "it's \"me\"; DROP TABLE file --";
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
}
END_TEST

/* --- several at once ---------------------------------------------------------------------------------------------- */

static PGconn *stand_still(bool in_an_exchange);

enum { PLAIN, OF_ANOTHER, TWIN, KNOWN_FILE, AGAIN, RETIRED, NEW_OWNER, BAD, TOGETHER };

static struct together {
	struct cairn_index_put_shard put; /* first */
	struct fx_shard shard;
} together[TOGETHER];
static atomic_uint n_together;

static void together_done(struct cairn_index_write *write)
{
	(void)write;
	atomic_fetch_add(&n_together, 1);
}

static void together_add(unsigned which, uint64_t number, const char *owner, const struct fx_xorb *of, uint64_t file)
{
	struct fx_shard *s = &together[which].shard;
	fx_shard_init(s, number);
	s->owner = owner;
	fx_shard_xorb(s, of, 1, 1);
	fx_shard_file(s, file, of, 0, 5);
}

static void together_send(unsigned which)
{
	together[which].put = fx_shard_request(&together[which].shard);
	together[which].put.write.done = together_done;
	ck_assert_int_eq(cairn_index_put_shard(ix, &together[which].put), CAIRN_OK);
}

static int64_t sql_in(const char *question)
{
	char text[512];
	(void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", folder.path);
	(void)sql(text);
	return sql(question);
}

/* What is new goes in together and what is not by itself, in one commit; with a bad one among them, too. */
START_TEST(shards_that_wait_together)
{
	struct cairn_index_stats before, after;
	struct cairn_index_room room;
	struct fx_xorb y = fx_xorb_new(2, 5);
	struct fx_shard known;
	struct cairn_index_set_quota quota = {.owner = "me", .limit_bytes = 1000000};
	bool bad = _i != 0;
	ck_assert(fx_xorb_put(ix, &x));
	ck_assert(fx_xorb_put(ix, &y));
	fx_shard_init(&known, 1);
	fx_shard_file(&known, 100, &x, 0, 2);
	ck_assert_int_eq(fx_shard_put(ix, &known), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_quota(ix, &quota), CAIRN_OK);
	(void)sql_in("UPDATE xorb SET retired = 1 WHERE id = (SELECT max(id) FROM xorb)");
	together_add(PLAIN, 10, "", &x, 1);
	fx_shard_file(&together[PLAIN].shard, 2, &x, 2, 5);
	together_add(OF_ANOTHER, 11, "me", &x, 3);
	together_add(TWIN, 12, "me", &x, 1);
	together_add(KNOWN_FILE, 13, "me", &x, 4);
	fx_shard_file(&together[KNOWN_FILE].shard, 100, &x, 0, 2);
	together_add(AGAIN, 10, "", &x, 1);
	fx_shard_file(&together[AGAIN].shard, 2, &x, 2, 5);
	together_add(RETIRED, 14, "", &y, 5);
	together_add(NEW_OWNER, 15, "you", &x, 6);
	together_add(BAD, 16, "", &x, 7);
	fx_shard_fail(&together[BAD].shard);

	cairn_index_stats(ix, &before);
	int64_t number = sql_in("SELECT last_value FROM shard_id_seq");
	atomic_store(&n_together, 0);
	PGconn *still = stand_still(false);
	unsigned n = bad ? TOGETHER : BAD;
	for (unsigned i = 0; i < n; i++)
		together_send(i);
	PQfinish(still);
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	for (; atomic_load(&n_together) < n && cairn_clock_mono_ms() < until_ms; pause_for(NEXT_MS))
		continue;
	ck_assert_uint_eq(atomic_load(&n_together), n);

	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(together[i].put.write.status, i == BAD ? CAIRN_E_CONFLICT : CAIRN_OK);
		ck_assert(i == BAD || together[i].put.added == (i != AGAIN));
	}
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, 1);
	/* Nothing was tried a second time but for the bad one's sake: 7 were numbered, 4 of them by themselves, too. */
	if (!bad)
		ck_assert_int_eq(sql_in("SELECT last_value FROM shard_id_seq") - number, 7 + 4);
	for (uint64_t file = 1; file <= 6; file++)
		ck_assert(fx_sees(ix, NULL, file));
	ck_assert(!fx_sees(ix, NULL, 7));
	ck_assert(fx_sees(ix, "me", 3) && !fx_sees(ix, "you", 3) && fx_sees(ix, "you", 6));
	ck_assert_int_eq(cairn_index_owner_quota(ix, "me", false, &room), CAIRN_OK);
	ck_assert_uint_eq(room.stored_bytes, together[OF_ANOTHER].shard.files[0].file.size_bytes +
						     together[TWIN].shard.files[0].file.size_bytes +
						     together[KNOWN_FILE].shard.files[0].file.size_bytes +
						     together[KNOWN_FILE].shard.files[1].file.size_bytes);
	ck_assert_int_eq(sql_in("SELECT count(*) FROM xorb WHERE retired IS NOT NULL"), 0);
	ck_assert_int_eq(sql_in("SELECT (files = (SELECT count(*) FROM file) AND shards = (SELECT count(*) FROM shard)"
				" AND eligible = (SELECT count(*) FROM dedupe))::int FROM state"),
			 1);
	ck_assert_int_eq(sql_in("SELECT count(*) FROM file"), 7);
	ck_assert_int_eq(sql_in("SELECT count(*) FROM reference"), 7);
	ck_assert_int_eq(sql_in("SELECT count(*) FROM member"), 6);
	fx_xorb_fini(&y);
}
END_TEST

/* --- chunk queries ------------------------------------------------------------------------------------------------ */

static atomic_uint n_told;

static void told(struct cairn_index_screen *screen)
{
	(void)screen;
	atomic_fetch_add(&n_told, 1);
}

static void wait_until_told(unsigned n)
{
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	for (; atomic_load(&n_told) < n && cairn_clock_mono_ms() < until_ms; pause_for(NEXT_MS))
		continue;
	ck_assert_uint_eq(atomic_load(&n_told), n);
}

/* It is waited for where it is asked, for as long as the server answers soon, and nobody is called back then. */
START_TEST(a_query_that_stays)
{
	struct cairn_index_screen screen = {.scope = "", .chunk = x.hash, .done = told, .stays = true};
	struct cairn_index_screen next = screen;
	atomic_store(&n_told, 0);
	ck_assert(cairn_index_screens_soon(ix));
	ck_assert(cairn_index_screen(ix, &screen));
	while (!cairn_index_await_screen(ix, &screen)) /* the first opens a connection */
		continue;
	ck_assert_int_eq(screen.status, CAIRN_E_NOT_FOUND);
	ck_assert(cairn_index_leave_screen(ix, &screen));
	ck_assert_uint_eq(atomic_load(&n_told), 0);

	/* One that leaves is told as any other, also when nobody has waited. */
	screen.stays = true;
	ck_assert(cairn_index_screen(ix, &screen));
	if (!cairn_index_leave_screen(ix, &screen))
		wait_until_told(1);
	atomic_store(&n_told, 0);

	signal_backends(SIGSTOP);
	screen.stays = true;
	ck_assert(cairn_index_screen(ix, &screen));
	int64_t began_ms = cairn_clock_mono_ms();
	ck_assert(!cairn_index_await_screen(ix, &screen));
	ck_assert(cairn_index_screen(ix, &next));
	ck_assert(!cairn_index_await_screen(ix, &next)); /* and the next one not at all */
	ck_assert_int_lt(cairn_clock_mono_ms() - began_ms, 1000);
	ck_assert(!cairn_index_screens_soon(ix));
	ck_assert(!cairn_index_leave_screen(ix, &screen));
	ck_assert(!cairn_index_leave_screen(ix, &next));
	wait_until_told(2);
	ck_assert_int_eq(screen.status, CAIRN_E_BUSY);
	signal_backends(SIGCONT);
}
END_TEST

/* --- several that write it ---------------------------------------------------------------------------------------- */

/* Instead of the one of the fixture, so that others may write, too. */
static void share(void)
{
	cairn_index_free(ix);
	ix = fx_open_with(folder.path, &(struct cairn_index_options){.shared = true});
}

static enum cairn_status take(struct cairn_index *of, struct cairn_index_lease *lease, const char **rule)
{
	static struct cairn_diag diag;
	diag = (struct cairn_diag){0};
	enum cairn_status status = cairn_index_take_lease(of, CAIRN_INDEX_COLLECT, lease, &diag);
	*rule = diag.rule;
	return status;
}

static void set_note(struct cairn_index_note *note, const char *text)
{
	(void)snprintf(note->text, sizeof(note->text), "%s", text);
}

static enum cairn_status mark_with(const struct cairn_index_lease *lease)
{
	struct cairn_index_gc_mark mark = {.write.lease = lease, .now_unix_s = cairn_clock_unix_s() + 10, .grace_s = 1};
	enum cairn_status status = cairn_index_gc_mark(ix, &mark);
	ck_assert(status != CAIRN_E_BUSY || strcmp(mark.write.diag.rule, "lease.over") == 0);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_BUSY);
	return status;
}

/* One holds it; one that was taken over is over for good, whoever holds it then and also when nobody does. */
START_TEST(leases)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease one, two;
	share();
	struct cairn_index *other = fx_open_with(folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert(cairn_index_is_shared(ix));
	ck_assert_int_eq(take(ix, &one, &rule), CAIRN_OK);
	ck_assert_int_eq(take(other, &two, &rule), CAIRN_E_CONFLICT);
	ck_assert_str_eq(rule, "lease.taken");
	ck_assert_int_eq(mark_with(&one), CAIRN_OK);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET until = '-infinity'", folder.path);
	(void)sql(text);
	ck_assert_int_eq(take(other, &two, &rule), CAIRN_OK);
	ck_assert_int_eq(mark_with(&one), CAIRN_E_BUSY);
	ck_assert_int_eq(mark_with(&two), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(ix, &one, 7, 7), CAIRN_OK);
	ck_assert_int_eq(take(ix, &one, &rule), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_give_lease(other, &two, 9, 8), CAIRN_OK);
	ck_assert_int_eq(mark_with(&one), CAIRN_OK); /* without an epoch there is no lease */
	(void)snprintf(text, sizeof(text), "SELECT 1 FROM \"%s\".job WHERE name = 'collect' AND ran = 9 AND good = 8",
		       folder.path);
	ck_assert_int_eq(sql(text), 1);
	cairn_index_free(other);
}
END_TEST

/* One that ends later than any can was taken by the clock of a server that led before. */
START_TEST(a_lease_of_another_clock)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease one, two;
	share();
	ck_assert_int_eq(take(ix, &one, &rule), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(ix, &one, 0, 0), CAIRN_OK);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET until = clock_timestamp() + interval '1 hour'",
		       folder.path);
	(void)sql(text);
	ck_assert_int_eq(take(ix, &two, &rule), CAIRN_OK);
	ck_assert_int_gt(two.epoch, one.epoch);
	ck_assert_int_eq(take(ix, &one, &rule), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_give_lease(ix, &two, 0, 0), CAIRN_OK);
}
END_TEST

/* Each replaces the one that was read, and who has lost the lease none. Who has it is told to all. */
START_TEST(notes_of_a_job)
{
	char text[256];
	struct cairn_diag diag = {0};
	struct cairn_index_lease lease;
	struct cairn_index_job_state state = {0};
	struct cairn_index_put_note put = {.job = CAIRN_INDEX_SCRUB};
	share();
	struct cairn_index *other = fx_open_with(folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert_str_eq(cairn_index_introduce(ix, "h\xf6st:1\n"), "h?st:1?");
	ck_assert_int_eq(cairn_index_take_lease(ix, CAIRN_INDEX_SCRUB, &lease, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_note(other, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "");
	set_note(&put.note, "told");
	ck_assert_int_eq(cairn_index_put_note(other, &put), CAIRN_OK);
	put.note.version--;
	ck_assert_int_eq(cairn_index_put_note(ix, &put), CAIRN_E_CONFLICT);
	ck_assert_str_eq(put.write.diag.rule, "lease.note");
	put.write.lease = &lease;
	ck_assert_int_eq(cairn_index_note(ix, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "told");
	set_note(&put.note, "further");
	ck_assert_int_eq(cairn_index_put_note(ix, &put), CAIRN_OK);
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	for (; !state.taken && cairn_clock_mono_ms() < until_ms; pause_for(NEXT_MS))
		cairn_index_job_state(other, CAIRN_INDEX_SCRUB, &state);
	ck_assert_str_eq(state.who, "h?st:1?");
	ck_assert_int_gt(state.since_unix_s, cairn_clock_unix_s() - 60);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET epoch = epoch + 1", folder.path);
	(void)sql(text);
	set_note(&put.note, "furthest");
	ck_assert_int_eq(cairn_index_put_note(ix, &put), CAIRN_E_BUSY);
	ck_assert_str_eq(put.write.diag.rule, "lease.over");
	ck_assert_int_eq(cairn_index_note(other, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "further");
	ck_assert_int_eq(put.note.version, 2);
	cairn_index_free(other);
}
END_TEST

/* It is renewed for as long as its holder moves. */
START_TEST(a_lease_is_renewed)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease lease;
	struct cairn_index_job_state state = {0};
	share();
	ck_assert_int_eq(take(ix, &lease, &rule), CAIRN_OK);
	(void)snprintf(text, sizeof(text),
		       "UPDATE \"%s\".job SET until = clock_timestamp() + interval '2 s' WHERE name = 'collect'",
		       folder.path);
	(void)sql(text);
	(void)snprintf(text, sizeof(text),
		       "SELECT count(*) FROM \"%s\".job WHERE until > clock_timestamp() + interval '5 s'", folder.path);
	wait_for(text);
	int64_t until_ms = cairn_clock_mono_ms() + WITHIN_MS;
	for (; !state.taken && cairn_clock_mono_ms() < until_ms; pause_for(NEXT_MS))
		cairn_index_job_state(ix, CAIRN_INDEX_COLLECT, &state);
	ck_assert(state.taken);
	ck_assert_int_eq(cairn_index_give_lease(ix, &lease, 0, 0), CAIRN_OK);
}
END_TEST

/* Hold the row that all who write wait for, and stand still: as one that is asked for more, or in the middle of an
 * exchange, which is no state of idleness to the server. */
static PGconn *stand_still(bool in_an_exchange)
{
	char text[256];
	PGconn *still = PQconnectdb(server);
	(void)snprintf(text, sizeof(text), "SELECT 1 FROM \"%s\".state FOR NO KEY UPDATE", folder.path);
	ck_assert_int_eq(PQstatus(still), CONNECTION_OK);
	ck_assert_int_eq(PQenterPipelineMode(still), 1);
	ck_assert_int_eq(PQsendQueryParams(still, "BEGIN", 0, NULL, NULL, NULL, NULL, 0), 1);
	ck_assert_int_eq(PQsendQueryParams(still, text, 0, NULL, NULL, NULL, NULL, 0), 1);
	ck_assert_int_eq(in_an_exchange ? PQsendFlushRequest(still) : PQpipelineSync(still), 1);
	ck_assert_int_eq(PQflush(still), 0);
	(void)snprintf(
		text, sizeof(text),
		"SELECT count(*) FROM pg_locks WHERE relation = '\"%s\".state'::regclass AND mode = 'RowShareLock'",
		folder.path);
	wait_for(text);
	return still;
}

START_TEST(one_that_stands_still)
{
	share();
	PGconn *still = stand_still(_i != 0);
	int64_t began_ms = cairn_clock_mono_ms();
	ck_assert(fx_xorb_put(ix, &x));
	ck_assert_int_lt(cairn_clock_mono_ms() - began_ms, 5000);
	PQfinish(still);
}
END_TEST

START_TEST(sessions)
{
	struct cairn_index_session found;
	struct cairn_index_begin_session begin = {
		.session = {.digest = {1}, .key = {2}, .account = 3, .ends_unix_s = 1000},
		.now_unix_s = 100,
		.n_max = 4,
		.n_of_one_max = 2};
	struct cairn_index_end_session end = {.digest = {1}};
	share();
	ck_assert_int_eq(cairn_index_begin_session(ix, &begin), CAIRN_OK);
	ck_assert_int_eq(cairn_index_session(ix, begin.session.digest, 999, &found), CAIRN_OK);
	ck_assert_mem_eq(&found, &begin.session, sizeof(found));
	ck_assert_int_eq(cairn_index_session(ix, begin.session.digest, 1000, &found), CAIRN_E_NOT_FOUND);
	/* The third of one ends his first, the fifth of all the oldest. */
	for (uint8_t i = 2; i <= 3; i++) {
		begin.session.digest[0] = i;
		begin.session.ends_unix_s++;
		ck_assert_int_eq(cairn_index_begin_session(ix, &begin), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_index_session(ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
	for (uint8_t i = 4; i <= 6; i++) { /* operators' keys are counted each */
		begin.session = (struct cairn_index_session){.digest = {i}, .key = {i}, .ends_unix_s = 1000 + i};
		ck_assert_int_eq(cairn_index_begin_session(ix, &begin), CAIRN_OK);
	}
	end.digest[0] = 2;
	ck_assert_int_eq(cairn_index_session(ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
	end.digest[0] = 3;
	ck_assert_int_eq(cairn_index_session(ix, end.digest, 100, &found), CAIRN_OK);
	ck_assert_int_eq(cairn_index_end_session(ix, &end), CAIRN_OK);
	ck_assert_int_eq(cairn_index_end_session(ix, &end), CAIRN_OK);
	ck_assert_int_eq(cairn_index_session(ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
}
END_TEST

/* --- chunk queries that are told apart ---------------------------------------------------------------------------- */

static atomic_uint n_screened;

static void screened(struct cairn_index_screen *screen)
{
	(void)screen;
	atomic_fetch_add(&n_screened, 1);
}

/* The server waits with what it is asked about eligible chunks, until that is called off. */
static PGconn *hold_screens(struct cairn_index_screen *screen)
{
	char text[256];
	PGconn *other = PQconnectdb(server);
	(void)snprintf(text, sizeof(text), "BEGIN; LOCK TABLE \"%s\".dedupe", folder.path);
	PQclear(PQexec(other, text));
	ck_assert_int_eq(PQtransactionStatus(other), PQTRANS_INTRANS);
	atomic_store(&n_screened, 0);
	ck_assert(cairn_index_screen(ix, screen));
	(void)snprintf(text, sizeof(text),
		       "SELECT count(*) FROM pg_locks WHERE relation = '\"%s\".dedupe'::regclass AND NOT granted",
		       folder.path);
	wait_for(text);
	ck_assert_uint_eq(atomic_load(&n_screened), 0);
	return other;
}

struct ender {
	pthread_t thread;
	void (*end)(struct cairn_index *ix);
	atomic_bool begun;
	unsigned n_screened; /* when it has ended */
};

static void *end_screens(void *arg)
{
	struct ender *e = arg;
	atomic_store(&e->begun, true);
	e->end(ix);
	e->n_screened = atomic_load(&n_screened);
	return NULL;
}

/* What is under way is waited for by whoever finishes it, and what is queued behind it is answered, too. */
START_TEST(screens_that_wait)
{
	struct cairn_index_screen one = {.scope = "", .done = screened}, two = one;
	struct ender e = {.end = _i == 0 ? cairn_index_finish_screens : cairn_index_free};
	PGconn *other = hold_screens(&one);
	if (_i > 0)
		ck_assert(cairn_index_screen(ix, &two));
	ck_assert_int_eq(pthread_create(&e.thread, NULL, end_screens, &e), 0);
	while (!atomic_load(&e.begun))
		pause_for(1);
	PQfinish(other);
	ck_assert_int_eq(pthread_join(e.thread, NULL), 0);
	ck_assert_uint_eq(e.n_screened, _i == 0 ? 1 : 2);
	ck_assert_int_eq(one.status, CAIRN_E_NOT_FOUND);
	if (_i > 0)
		ix = fx_open(folder.path);
}
END_TEST

/* Nobody is told that there is nothing when that is not known. */
START_TEST(a_screen_that_fails)
{
	char text[256];
	struct cairn_index_screen one = {.scope = "", .done = screened};
	PGconn *other = hold_screens(&one);
	(void)snprintf(text, sizeof(text),
		       "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = '\"%s\".dedupe'::regclass"
		       " AND NOT granted",
		       folder.path);
	(void)sql(text);
	cairn_index_finish_screens(ix);
	ck_assert_uint_eq(atomic_load(&n_screened), 1);
	ck_assert(one.status != CAIRN_OK && one.status != CAIRN_E_NOT_FOUND);
	PQfinish(other);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc < 2 || !strchr(argv[1], '?')) {
		(void)fprintf(stderr, "usage: postgres_contract URL?schema=*\n");
		return EXIT_FAILURE;
	}
	fx_use_engine(argc, argv);
	char *url = strdup(argv[1]);
	url[strcspn(url, "?")] = '\0';
	server = url;
	Suite *s = suite_create("postgres_contract");
	TCase *t = tcase_create("postgres");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_repeated_commit_is_no_acknowledgement);
	tcase_add_test(t, a_cancelled_commit_is_no_acknowledgement);
	tcase_add_test(t, a_commit_that_waits_is_parked);
	tcase_add_test(t, connections_that_are_ended);
	tcase_add_test(t, a_silent_server);
	tcase_add_test(t, one_writer);
	tcase_add_test(t, other_versions_and_other_schemas);
	tcase_add_test(t, an_older_one_is_brought_forward);
	tcase_add_test(t, a_silent_server_is_tried_seldom);
	tcase_add_test(t, what_is_read_is_no_acknowledgement);
	tcase_add_test(t, owners);
	tcase_add_test(t, passwords_in_urls);
	tcase_add_test(t, what_connecting_takes);
	tcase_add_test(t, urls);
	tcase_add_test(t, names_that_are_no_text);
	tcase_add_loop_test(t, shards_that_wait_together, 0, 2);
	tcase_add_test(t, a_query_that_stays);
	tcase_add_test(t, leases);
	tcase_add_test(t, a_lease_is_renewed);
	tcase_add_test(t, a_lease_of_another_clock);
	tcase_add_test(t, notes_of_a_job);
	tcase_add_loop_test(t, one_that_stands_still, 0, 2);
	tcase_add_test(t, sessions);
	tcase_add_loop_test(t, screens_that_wait, 0, 2);
	tcase_add_test(t, a_screen_that_fails);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	free(url);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
