/* Shards that are committed ahead over PostgreSQL: visible at once, and acknowledged only when a standby has them.
 * Rules by their numbers: lib/index/README.md, "Commits over PostgreSQL". */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "index/hub/hub.h"
#include "index/quota.h"
#include "support/pace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SENT_MAX = 4 };

static struct sent {
	struct cairn_index_put_shard put; /* must be the first member */
	struct fx_shard shard;
	atomic_bool done;
} sent[SENT_MAX];

static struct sent_xorb {
	struct cairn_index_put_xorb put; /* must be the first member */
	atomic_bool done;
} sent_xorb;

static struct sent_confirm {
	struct cairn_index_confirm_shard confirm; /* must be the first member */
	atomic_bool done;
} sent_confirm;

static struct sent_probe {
	struct cairn_index_confirm probe; /* must be the first member */
	atomic_bool done;
} sent_probe;

static void put_done(struct cairn_index_write *write)
{
	atomic_store(&((struct sent *)write)->done, true);
}

static void xorb_done(struct cairn_index_write *write)
{
	atomic_store(&((struct sent_xorb *)write)->done, true);
}

static void confirm_done(struct cairn_index_write *write)
{
	atomic_store(&((struct sent_confirm *)write)->done, true);
}

static void probe_done(struct cairn_index_write *write)
{
	atomic_store(&((struct sent_probe *)write)->done, true);
}

/* Sends a usual shard with one file. @return the status of queueing it */
static enum cairn_status try_to_send_as(unsigned which, uint64_t number, struct cairn_index *ix, const char *owner)
{
	struct sent *s = &sent[which];
	atomic_store(&s->done, false);
	fx_shard_init(&s->shard, number);
	s->shard.owner = owner;
	fx_shard_xorb(&s->shard, &pg.x, 1, 1);
	fx_shard_file(&s->shard, number, &pg.x, 0, 5);
	s->put = fx_shard_request(&s->shard);
	s->put.write.done = put_done;
	return cairn_index_put_shard(ix, &s->put);
}

static enum cairn_status try_to_send(unsigned which, const char *owner)
{
	return try_to_send_as(which, which, pg.ix, owner);
}

static void send_shard(unsigned which)
{
	ck_assert_int_eq(try_to_send(which, ""), CAIRN_OK);
}

static void send_xorb(const struct fx_xorb *x)
{
	atomic_store(&sent_xorb.done, false);
	sent_xorb.put = (struct cairn_index_put_xorb){
		.write.done = xorb_done, .hash = x->hash, .list = &x->list, .stored_bytes = 2500};
	ck_assert_int_eq(cairn_index_put_xorb(pg.ix, &sent_xorb.put), CAIRN_OK);
}

static void send_probe(void)
{
	atomic_store(&sent_probe.done, false);
	sent_probe.probe = (struct cairn_index_confirm){.write.done = probe_done};
	ck_assert_int_eq(cairn_index_confirm(pg.ix, &sent_probe.probe), CAIRN_OK);
}

static void wait_until(const atomic_bool *done)
{
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; !atomic_load(done) && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		continue;
	ck_assert(atomic_load(done));
}

static enum cairn_status status_of(unsigned which)
{
	wait_until(&sent[which].done);
	return sent[which].put.write.status;
}

/* Checks that the shard is not acknowledged: its caller has to send it again. */
static void assert_unknown(unsigned which)
{
	ck_assert_int_eq(status_of(which), CAIRN_E_BUSY);
	ck_assert_str_eq(sent[which].put.write.diag.rule, "index.silent");
}

static void wait_until_seen(unsigned which)
{
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; !fx_sees(pg.ix, NULL, which) && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		continue;
	ck_assert(fx_sees(pg.ix, NULL, which));
}

static void wait_until_well(void)
{
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	while (cairn_index_health(pg.ix, NULL) != CAIRN_OK && cairn_clock_mono_ms() < until_ms)
		pgfx_pause_for(PGFX_NEXT_MS);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_OK);
}

/* --- a settler that hangs ----------------------------------------------------------------------------------------- */

static void share_with(struct cairn_index_options options)
{
	options.shared = true;
	cairn_index_free(pg.ix);
	pg.ix = fx_open_with(pg.folder.path, &options);
}

/* Stops the settler's backend, while everything else continues. @return its process */
static pid_t stop_settler(void)
{
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	send_shard(0);
	ck_assert_int_eq(status_of(0), CAIRN_OK);
	pid_t pid = (pid_t)pgfx_sql("SELECT a.pid " PGFX_SETTLER " ORDER BY a.backend_start DESC");
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	return pid;
}

static void go_on(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
}

/* --- acknowledgements --------------------------------------------------------------------------------------------- */

/* Everybody sees a shard committed ahead, and the shards after it. It is acknowledged when a standby has it. */
START_TEST(an_unsettled_shard_is_visible_and_not_acknowledged)
{
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *other = pgfx_lose_standbys();
	send_shard(1);
	pgfx_wait_for(PGFX_SETTLER_WAITS);
	wait_until_seen(1);
	send_shard(2);
	wait_until_seen(2);
	ck_assert_int_eq(pgfx_sql(PGFX_WRITER_WAITS), 0);
	ck_assert(!atomic_load(&sent[1].done) && !atomic_load(&sent[2].done));
	pgfx_find_standbys(other);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert_int_eq(status_of(2), CAIRN_OK);
	ck_assert(sent[1].put.added && sent[2].put.added);
}
END_TEST

/* Another daemon's lookup, or the same batch, may find a shard by a row that no standby has. */
START_TEST(a_shard_known_to_another_daemon_is_not_acknowledged_early)
{
	bool known;
	share_with((struct cairn_index_options){.read_only = false});
	struct cairn_index *second = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *other = pgfx_lose_standbys();
	send_shard(1);
	wait_until_seen(1);
	sent_confirm.confirm = (struct cairn_index_confirm_shard){
		.write.done = confirm_done, .body = sent[1].shard.body, .scope = "", .owner = ""};
	atomic_store(&sent_confirm.done, false);
	ck_assert_int_eq(fx_shard_known(second, &sent[1].shard.body, "", "", &known, &sent_confirm.confirm.registered),
			 CAIRN_OK);
	ck_assert(known);
	if (_i == 0)
		ck_assert_int_eq(cairn_index_confirm_shard(second, &sent_confirm.confirm), CAIRN_OK);
	else
		ck_assert_int_eq(try_to_send_as(2, 1, second, ""), CAIRN_OK);
	pgfx_wait_for("SELECT (count(*) = 2)::int " PGFX_SETTLER " AND a.wait_event = 'SyncRep'");
	ck_assert(!atomic_load(&sent[1].done));
	ck_assert(!atomic_load(_i == 0 ? &sent_confirm.done : &sent[2].done));
	pgfx_find_standbys(other);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	wait_until(_i == 0 ? &sent_confirm.done : &sent[2].done);
	ck_assert_int_eq(_i == 0 ? sent_confirm.confirm.write.status : sent[2].put.write.status, CAIRN_OK);
	cairn_index_free(second);
}
END_TEST

/* Rows as another primary may have them after a failover: no row, an earlier row, or a later one. */
static const struct {
	const char *change;
	bool seen;
} ROWS[] = {
	{"DELETE FROM shard", false},
	{"UPDATE shard SET collection = collection - 1, at = at + 1000", false},
	{"UPDATE shard SET at = at - 1", false},
	{"UPDATE shard SET at = at + 1", true},
	{"UPDATE shard SET collection = collection + 1, at = at - 1000", true},
};

static void change_row(unsigned which, const char *change)
{
	char text[512], hex[2 * sizeof(struct cairn_hash) + 1];
	for (size_t i = 0; i < sizeof(struct cairn_hash); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", sent[which].shard.body.b[i]);
	pgfx_enter_schema();
	(void)snprintf(text, sizeof(text), "%s WHERE hash = decode('%s', 'hex')", change, hex);
	(void)pgfx_sql(text);
}

START_TEST(a_shard_is_acknowledged_only_if_its_rows_are_there)
{
	pid_t settler = stop_settler();
	send_shard(1);
	wait_until_seen(1);
	change_row(1, ROWS[_i].change);
	go_on(settler);
	if (ROWS[_i].seen)
		ck_assert_int_eq(status_of(1), CAIRN_OK);
	else
		assert_unknown(1);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_OK); /* the server itself is healthy */
}
END_TEST

/* The same for a shard that was known when it was sent. */
START_TEST(a_known_shard_is_looked_up_again)
{
	bool known;
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	send_shard(1);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	struct cairn_index_confirm_shard confirm = {.body = sent[1].shard.body, .scope = "", .owner = ""};
	ck_assert_int_eq(fx_shard_known(pg.ix, &confirm.body, "", "", &known, &confirm.registered), CAIRN_OK);
	ck_assert(known && confirm.registered.at_unix_s > 0);
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &confirm), CAIRN_OK);
	change_row(1, ROWS[_i].change);
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &confirm), ROWS[_i].seen ? CAIRN_OK : CAIRN_E_BUSY);
}
END_TEST

/* --- a commit that is not acknowledged ---------------------------------------------------------------------------- */

static const char *const ENDS[] = {"SELECT pg_cancel_backend(a.pid) ", "SELECT pg_terminate_backend(a.pid) "};

/* T2: a commit that somebody ends is no success, and neither is a repeated commit. */
START_TEST(an_ended_commit_is_no_success)
{
	char text[512];
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *other = pgfx_lose_standbys();
	send_shard(1);
	pgfx_wait_for(PGFX_SETTLER_WAITS);
	(void)snprintf(text, sizeof(text), "%s%s", ENDS[_i], PGFX_SETTLER " AND a.wait_event = 'SyncRep'");
	(void)pgfx_sql(text);
	int64_t ended_ms = cairn_clock_mono_ms();
	assert_unknown(1);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - ended_ms, 3000)); /* the commit is not repeated */
	ck_assert(fx_sees(pg.ix, NULL, 1));
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_E_BUSY);
	pgfx_find_standbys(other);
	wait_until_well();
	send_shard(1);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert(!sent[1].put.added);
}
END_TEST

/* T3: nobody cancels the commit. Meanwhile all writes are refused at once, and nothing more is committed ahead. */
START_TEST(writes_are_refused_while_a_commit_is_parked)
{
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *other = pgfx_lose_standbys();
	int64_t begin_ms = cairn_clock_mono_ms();
	send_shard(1);
	assert_unknown(1);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 5000));
	ck_assert_int_eq(pgfx_sql(PGFX_SETTLER_WAITS), 1);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_E_BUSY);
	begin_ms = cairn_clock_mono_ms();
	struct cairn_index_confirm_shard confirm = {
		.body = sent[1].shard.body, .scope = "", .owner = "", .registered = sent[1].put.registered};
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &confirm), CAIRN_E_BUSY);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 1000));
	send_shard(2);
	pgfx_wait_for(PGFX_WRITER_WAITS);
	ck_assert(!fx_sees(pg.ix, NULL, 2));
	ck_assert_int_eq(pgfx_sql(PGFX_SETTLER_WAITS), 1);
	pgfx_find_standbys(other);
	ck_assert_int_eq(status_of(2), CAIRN_OK);
	wait_until_well();
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &confirm), CAIRN_OK);
}
END_TEST

/* Ending a connection that does not wait for a commit loses nothing. */
START_TEST(an_ended_idle_connection_loses_nothing)
{
	pid_t settler = stop_settler();
	char text[128];
	send_shard(1);
	wait_until_seen(1);
	(void)snprintf(text, sizeof(text), "SELECT pg_terminate_backend(%d)", (int)settler);
	(void)pgfx_sql(text);
	go_on(settler);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
}
END_TEST

/* A commit ahead was not acknowledged, so the batch can be repeated. */
START_TEST(a_batch_ended_during_a_commit_ahead_is_repeated)
{
	static const char WAITING[] = "pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'";
	char text[256];
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	send_shard(0);
	ck_assert_int_eq(status_of(0), CAIRN_OK);
	PGconn *other = pgfx_lock_table("file", "EXCLUSIVE");
	send_shard(1);
	(void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", WAITING);
	pgfx_wait_for(text);
	(void)snprintf(text, sizeof(text), "SELECT pg_terminate_backend(pid) FROM %s", WAITING);
	(void)pgfx_sql(text);
	PQfinish(other);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert(fx_sees(pg.ix, NULL, 1));
}
END_TEST

/* --- shards committed ahead --------------------------------------------------------------------------------------- */

/* Returns the owner of a repository of the hub. */
static const char *add_repo(void)
{
	static char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_add_account account = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(pg.ix, &account), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_BUCKET, .account = account.id, .name = "b"};
	ck_assert_int_eq(cairn_index_add_repo(pg.ix, &add), CAIRN_OK);
	cairn_index_repo_owner(owner, add.id);
	return owner;
}

enum { WITH_XORB, OF_HUB, OF_NEW_OWNER, WITH_PROBE, MIXED };

/* A batch with anything but usual shards is not committed ahead: all of it waits for the standby. */
START_TEST(a_mixed_batch_is_not_committed_ahead)
{
	struct fx_xorb y = fx_xorb_new(2, 5);
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	const char *owner = _i == OF_HUB ? add_repo() : "me";
	PGconn *other = pgfx_lose_standbys(), *still = pgfx_stand_still(false);
	send_shard(1);
	if (_i == WITH_XORB)
		send_xorb(&y);
	else if (_i == WITH_PROBE)
		send_probe();
	else
		ck_assert_int_eq(try_to_send(2, owner), CAIRN_OK);
	PQfinish(still);
	pgfx_wait_for(PGFX_WRITER_WAITS);
	ck_assert_int_eq(pgfx_sql(PGFX_SETTLER_WAITS), 0);
	ck_assert(!fx_sees(pg.ix, NULL, 1));
	pgfx_find_standbys(other);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	wait_until(_i == WITH_XORB ? &sent_xorb.done : _i == WITH_PROBE ? &sent_probe.done : &sent[2].done);
	fx_xorb_fini(&y);
}
END_TEST

/* A shard of the hub is never committed ahead. But if its commit was ended, no standby may have its row. So rows that
 * were found at another server are looked up again. */
START_TEST(a_known_one_of_the_hub)
{
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	const char *owner = add_repo();
	ck_assert_int_eq(try_to_send(1, owner), CAIRN_OK);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	PGconn *other = pgfx_lose_standbys();
	sent_confirm.confirm = (struct cairn_index_confirm_shard){
		.write.done = confirm_done, .body = sent[1].shard.body, .scope = "", .owner = owner};
	atomic_store(&sent_confirm.done, false);
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &sent_confirm.confirm), CAIRN_OK);
	pgfx_wait_for(PGFX_SETTLER_WAITS);
	pgfx_find_standbys(other);
	wait_until(&sent_confirm.done);
	ck_assert_int_eq(sent_confirm.confirm.write.status, CAIRN_OK);

	sent_confirm.confirm.body.b[0] ^= 1; /* as if only another server had its row */
	atomic_store(&sent_confirm.done, false);
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &sent_confirm.confirm), CAIRN_OK);
	wait_until(&sent_confirm.done);
	ck_assert_int_eq(sent_confirm.confirm.write.status, CAIRN_E_BUSY);
}
END_TEST

static uint64_t n_asked(void)
{
	struct cairn_index_stats stats;
	cairn_index_stats(pg.ix, &stats);
	return stats.n_asked;
}

/* A batch takes three exchanges, and one of the settler; with a quota, one more. A known shard sends no rows. */
START_TEST(exchanges_of_a_batch)
{
	struct cairn_index_set_quota quota = {.owner = "me", .limit_bytes = 1000000};
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert_int_eq(cairn_index_set_quota(pg.ix, &quota), CAIRN_OK);
	send_shard(0); /* opens the connection */
	ck_assert_int_eq(status_of(0), CAIRN_OK);
	for (unsigned i = 1; i <= 3; i++) {
		uint64_t before = n_asked();
		ck_assert_int_eq(try_to_send_as(i, i < 3 ? i : 1, pg.ix, i == 2 ? "me" : ""), CAIRN_OK);
		ck_assert_int_eq(status_of(i), CAIRN_OK);
		ck_assert(sent[i].put.added == (i < 3));
		ck_assert_uint_eq(n_asked() - before, i == 2 ? 5 : 4);
	}
}
END_TEST

/* The server's counts agree with the rows, and so do the daemon's figures. */
START_TEST(counts_include_commits_ahead)
{
	struct cairn_index_stats stats;
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *still = pgfx_stand_still(false);
	for (unsigned i = 0; i < SENT_MAX; i++)
		send_shard(i);
	PQfinish(still);
	for (unsigned i = 0; i < SENT_MAX; i++)
		ck_assert_int_eq(status_of(i), CAIRN_OK);
	ck_assert_int_eq(pgfx_sql_in(PGFX_COUNTS_AGREE), 1);
	ck_assert_int_eq(pgfx_sql("SELECT xorbs FROM state"), 1);
	cairn_index_stats(pg.ix, &stats);
	ck_assert_uint_eq(stats.n_files, SENT_MAX);
	ck_assert_uint_eq(stats.n_shards, SENT_MAX);
	ck_assert_uint_eq(stats.n_eligible, 2); /* all shards have the same chunks */
	ck_assert_uint_eq(stats.n_eligible, (uint64_t)pgfx_sql("SELECT count(*) FROM dedupe"));
	ck_assert_uint_eq(stats.n_writes, SENT_MAX + 1);
}
END_TEST

/* A shard whose rows the server refuses, when they are sent with the commit, fails alone. */
START_TEST(a_shard_with_refused_rows_fails_alone)
{
	char text[256];
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	(void)snprintf(text, sizeof(text), "ALTER TABLE \"%s\".file ADD CHECK (size <> 4711)", pg.folder.path);
	(void)pgfx_sql(text);
	PGconn *still = pgfx_stand_still(false);
	send_shard(0);
	atomic_store(&sent[1].done, false);
	fx_shard_init(&sent[1].shard, 1);
	fx_shard_file(&sent[1].shard, 1, &pg.x, 0, 5)->file.size_bytes = 4711;
	sent[1].put = fx_shard_request(&sent[1].shard);
	sent[1].put.write.done = put_done;
	ck_assert_int_eq(cairn_index_put_shard(pg.ix, &sent[1].put), CAIRN_OK);
	send_shard(2);
	PQfinish(still);
	ck_assert_int_eq(status_of(1), CAIRN_E_CONFLICT);
	ck_assert_int_eq(status_of(0), CAIRN_OK);
	ck_assert_int_eq(status_of(2), CAIRN_OK);
	ck_assert(fx_sees(pg.ix, NULL, 0) && !fx_sees(pg.ix, NULL, 1) && fx_sees(pg.ix, NULL, 2));
	send_shard(3);
	ck_assert_int_eq(status_of(3), CAIRN_OK);
}
END_TEST

/* --- flushes, stops and the queue --------------------------------------------------------------------------------- */

START_TEST(a_flush_waits_for_commits_ahead)
{
	pid_t settler = stop_settler();
	send_shard(1);
	wait_until_seen(1);
	ck_assert(!cairn_index_flush(pg.ix, 1000));
	ck_assert(!atomic_load(&sent[1].done));
	go_on(settler);
	ck_assert(cairn_index_flush(pg.ix, PGFX_WITHIN_MS));
	ck_assert(atomic_load(&sent[1].done));
	ck_assert_int_eq(status_of(1), CAIRN_OK);
}
END_TEST

struct closing {
	pthread_t thread;
	atomic_bool done;
};

static void *close_index(void *arg)
{
	cairn_index_free(pg.ix);
	atomic_store(&((struct closing *)arg)->done, true);
	return NULL;
}

START_TEST(a_stop_waits_for_commits_ahead)
{
	struct closing closing = {.done = false};
	pid_t settler = stop_settler();
	send_shard(1); /* is being committed */
	wait_until_seen(1);
	send_shard(2); /* waits for the first */
	wait_until_seen(2);
	ck_assert_int_eq(pthread_create(&closing.thread, NULL, close_index, &closing), 0);
	pgfx_pause_for(500);
	ck_assert(!atomic_load(&closing.done));
	go_on(settler);
	ck_assert_int_eq(pthread_join(closing.thread, NULL), 0);
	ck_assert(atomic_load(&sent[1].done) && atomic_load(&sent[2].done));
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert_int_eq(status_of(2), CAIRN_OK);
	pg.ix = fx_open(pg.folder.path);
}
END_TEST

/* Shards committed ahead count towards the writer's queue. */
START_TEST(a_full_queue)
{
	struct cairn_index_stats stats;
	share_with((struct cairn_index_options){.queue_max = 2});
	pid_t settler = stop_settler();
	for (unsigned i = 1; i <= 2; i++) {
		send_shard(i);
		wait_until_seen(i);
	}
	cairn_index_stats(pg.ix, &stats);
	ck_assert_uint_eq(stats.n_queued, 2);
	ck_assert_int_eq(try_to_send(3, ""), CAIRN_E_BUSY);
	struct cairn_index_confirm_shard confirm = {.body = sent[0].shard.body, .scope = "", .owner = ""};
	ck_assert_int_eq(cairn_index_confirm_shard(pg.ix, &confirm), CAIRN_E_BUSY);
	go_on(settler);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert_int_eq(status_of(2), CAIRN_OK);
	send_shard(3);
	ck_assert_int_eq(status_of(3), CAIRN_OK);
}
END_TEST

/* Settled shards do not hide that the writer fails. */
START_TEST(settled_shards_do_not_hide_a_failing_writer)
{
	struct fx_xorb y = fx_xorb_new(2, 5);
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	PGconn *other = pgfx_lose_standbys();
	send_shard(1);
	pgfx_wait_for(PGFX_SETTLER_WAITS);
	send_xorb(&y);
	pgfx_wait_for(PGFX_WRITER_WAITS);
	(void)pgfx_sql("SELECT pg_terminate_backend(a.pid) " PGFX_WRITER);
	wait_until(&sent_xorb.done);
	ck_assert_int_eq(sent_xorb.put.write.status, CAIRN_E_BUSY);
	pgfx_find_standbys(other);
	ck_assert_int_eq(status_of(1), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_index_writable(pg.ix), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_OK);
	fx_xorb_fini(&y);
}
END_TEST

/* Writes that succeed do not hide that shards are not settled. Recovery is noticed even without new shards. */
START_TEST(successful_writes_do_not_hide_a_failing_settler)
{
	struct fx_xorb y = fx_xorb_new(2, 5);
	pid_t settler = stop_settler();
	send_shard(1);
	assert_unknown(1);
	ck_assert(fx_xorb_put(pg.ix, &y));
	ck_assert_int_eq(cairn_index_writable(pg.ix), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_E_BUSY);
	send_shard(2);
	ck_assert_int_eq(status_of(2), CAIRN_OK); /* not committed ahead */
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_E_BUSY);
	go_on(settler);
	wait_until_well();
	fx_xorb_fini(&y);
}
END_TEST

int main(int argc, char **argv)
{
	enum { N_ROWS = sizeof(ROWS) / sizeof(ROWS[0]) };
	TCase *t = tcase_create("commits ahead");
	tcase_add_test(t, an_unsettled_shard_is_visible_and_not_acknowledged);
	tcase_add_loop_test(t, a_shard_known_to_another_daemon_is_not_acknowledged_early, 0, 2);
	tcase_add_loop_test(t, a_shard_is_acknowledged_only_if_its_rows_are_there, 0, N_ROWS);
	tcase_add_loop_test(t, a_known_shard_is_looked_up_again, 0, N_ROWS);
	tcase_add_loop_test(t, an_ended_commit_is_no_success, 0, 2);
	tcase_add_test(t, writes_are_refused_while_a_commit_is_parked);
	tcase_add_test(t, an_ended_idle_connection_loses_nothing);
	tcase_add_test(t, a_batch_ended_during_a_commit_ahead_is_repeated);
	tcase_add_loop_test(t, a_mixed_batch_is_not_committed_ahead, 0, MIXED);
	tcase_add_test(t, a_known_one_of_the_hub);
	tcase_add_test(t, exchanges_of_a_batch);
	tcase_add_test(t, counts_include_commits_ahead);
	tcase_add_test(t, a_shard_with_refused_rows_fails_alone);
	tcase_add_test(t, a_flush_waits_for_commits_ahead);
	tcase_add_test(t, a_stop_waits_for_commits_ahead);
	tcase_add_test(t, a_full_queue);
	tcase_add_test(t, settled_shards_do_not_hide_a_failing_writer);
	tcase_add_test(t, successful_writes_do_not_hide_a_failing_settler);
	return pgfx_run(argc, argv, t);
}
