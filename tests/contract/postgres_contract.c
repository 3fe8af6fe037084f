/* Faults that only PostgreSQL has: a commit waits for a standby or is ended, the server is silent or comes back. */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "support/pace.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static struct write_on_its_way {
	struct cairn_index_put_xorb put;
	struct cairn_index_write *write; /* the write that is under way */
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
		.write.done = sent_done, .hash = pg.x.hash, .list = &pg.x.list, .stored_bytes = 2500};
	sent.write = &sent.put.write;
	ck_assert_int_eq(cairn_index_put_xorb(pg.ix, &sent.put), CAIRN_OK);
}

static enum cairn_status sent_status(void)
{
	pthread_mutex_lock(&sent.lock);
	while (!sent.done)
		pthread_cond_wait(&sent.changed, &sent.lock);
	pthread_mutex_unlock(&sent.lock);
	return sent.write->status;
}

/* Checks that the write is not acknowledged: its caller has to try again. */
static void assert_unknown(void)
{
	ck_assert_int_eq(sent_status(), CAIRN_E_BUSY);
	ck_assert_str_eq(sent.write->diag.rule, "index.silent");
}

/* A repeated write finds its row, but must not be acknowledged for that. */
START_TEST(a_repeated_commit_is_no_acknowledgement)
{
	struct cairn_index_xorb row;
	PGconn *other = pgfx_lose_standbys();
	send_xorb();
	pgfx_wait_for(PGFX_WRITER_WAITS);
	(void)pgfx_sql("SELECT pg_terminate_backend(a.pid) " PGFX_WRITER);
	assert_unknown();
	ck_assert_int_eq(cairn_index_xorb(pg.ix, &pg.x.hash, &row), CAIRN_OK); /* the row is there, but on no standby */
	send_xorb();
	pgfx_wait_for(PGFX_WRITER_WAITS);
	pgfx_find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
	ck_assert(!sent.put.added);
}
END_TEST

/* A row that can be read is not confirmed before a standby has it. */
START_TEST(a_readable_row_is_no_acknowledgement)
{
	struct cairn_index_confirm confirm = {.write.done = sent_done};
	PGconn *other = pgfx_lose_standbys();
	send_xorb();
	pgfx_wait_for(PGFX_WRITER_WAITS);
	(void)pgfx_sql("SELECT pg_terminate_backend(a.pid) " PGFX_WRITER);
	assert_unknown();
	sent.done = false;
	sent.write = &confirm.write;
	ck_assert_int_eq(cairn_index_confirm(pg.ix, &confirm), CAIRN_OK);
	pgfx_wait_for(PGFX_WRITER_WAITS);
	pgfx_find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
}
END_TEST

/* Nothing is removed because of a row that may exist on this server only, for example on a former primary. */
START_TEST(dead_copies_are_listed_only_once_durable)
{
	struct cairn_index_copy found[1];
	struct cairn_index_find_dead find = {.write.done = sent_done, .found = found, .n_max = 1};
	PGconn *other = pgfx_lose_standbys();
	sent.done = false;
	sent.write = &find.write;
	ck_assert_int_eq(cairn_index_find_dead(pg.ix, &find), CAIRN_OK);
	pgfx_wait_for(PGFX_WRITER_WAITS);
	pgfx_find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
}
END_TEST

START_TEST(a_cancelled_commit_is_no_acknowledgement)
{
	PGconn *other = pgfx_lose_standbys();
	send_xorb();
	pgfx_wait_for(PGFX_WRITER_WAITS);
	(void)pgfx_sql("SELECT pg_cancel_backend(a.pid) " PGFX_WRITER);
	assert_unknown();
	send_xorb();
	pgfx_wait_for(PGFX_WRITER_WAITS);
	pgfx_find_standbys(other);
	ck_assert_int_eq(sent_status(), CAIRN_OK);
}
END_TEST

/* A commit that nobody cancels keeps waiting. Meanwhile all writes are refused at once. */
START_TEST(a_commit_without_an_answer_is_parked)
{
	PGconn *other = pgfx_lose_standbys();
	int64_t begin_ms = cairn_clock_mono_ms();
	send_xorb();
	assert_unknown();
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 5000));
	ck_assert_int_eq(pgfx_sql(PGFX_WRITER_WAITS), 1);
	begin_ms = cairn_clock_mono_ms();
	send_xorb();
	assert_unknown();
	ck_assert_int_ne(cairn_index_health(pg.ix, NULL), CAIRN_OK);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 1000));
	ck_assert_int_eq(pgfx_sql(PGFX_WRITER_WAITS), 1);
	pgfx_find_standbys(other);
	begin_ms = cairn_clock_mono_ms();
	do {
		send_xorb();
	} while (sent_status() != CAIRN_OK && pace_in_time(cairn_clock_mono_ms() - begin_ms, 2000));
	ck_assert_int_eq(sent.put.write.status, CAIRN_OK);
	ck_assert(!sent.put.added);
}
END_TEST

/* Ended connections lose nothing: the next call opens a new one. */
START_TEST(ended_connections_are_reopened)
{
	struct cairn_index_xorb row;
	for (unsigned i = 0; i < 3; i++) {
		struct fx_xorb other = fx_xorb_new(10 + i, 3);
		ck_assert(fx_xorb_put(pg.ix, &other));
		ck_assert_int_eq(cairn_index_xorb(pg.ix, &other.hash, &row), CAIRN_OK);
		(void)pgfx_sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
			       " WHERE pid <> pg_backend_pid() AND application_name = 'cairn'");
		pgfx_wait_for("SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE application_name = 'cairn'");
		fx_xorb_fini(&other);
	}
}
END_TEST

/* While its backends are stopped, each call fails in time. When they continue, calls succeed again. */
START_TEST(a_silent_server)
{
	struct cairn_index_xorb row;
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert_int_eq(cairn_index_xorb(pg.ix, &pg.x.hash, &row), CAIRN_OK);
	pgfx_signal_backends(SIGSTOP);
	int64_t begin_ms = cairn_clock_mono_ms();
	send_xorb();
	ck_assert_int_eq(cairn_index_xorb(pg.ix, &pg.x.hash, &row), CAIRN_E_BUSY);
	ck_assert_int_eq(sent_status(), CAIRN_E_BUSY);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 5000));
	pgfx_signal_backends(SIGCONT);
	begin_ms = cairn_clock_mono_ms();
	do {
		send_xorb();
	} while (sent_status() != CAIRN_OK && pace_in_time(cairn_clock_mono_ms() - begin_ms, 2000));
	ck_assert_int_eq(sent.put.write.status, CAIRN_OK);
	ck_assert_int_eq(cairn_index_xorb(pg.ix, &pg.x.hash, &row), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(pg.ix, NULL), CAIRN_OK);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 2000));
}
END_TEST

/* A silent server is tried from time to time, by one caller. All others are refused at once. */
START_TEST(a_silent_server_is_tried_seldom)
{
	struct cairn_index_xorb row;
	pgfx_signal_server(SIGSTOP);
	pgfx_signal_backends(SIGSTOP);
	int64_t begin_ms = cairn_clock_mono_ms();
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(cairn_index_xorb(pg.ix, &pg.x.hash, &row), CAIRN_E_BUSY);
	ck_assert(pace_in_time(cairn_clock_mono_ms() - begin_ms, 10000)); /* not 2 s for each call */
	pgfx_signal_server(SIGCONT);
	pgfx_signal_backends(SIGCONT);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("commits and silence");
	tcase_add_test(t, a_repeated_commit_is_no_acknowledgement);
	tcase_add_test(t, a_readable_row_is_no_acknowledgement);
	tcase_add_test(t, dead_copies_are_listed_only_once_durable);
	tcase_add_test(t, a_cancelled_commit_is_no_acknowledgement);
	tcase_add_test(t, a_commit_without_an_answer_is_parked);
	tcase_add_test(t, ended_connections_are_reopened);
	tcase_add_test(t, a_silent_server);
	tcase_add_test(t, a_silent_server_is_tried_seldom);
	return pgfx_run(argc, argv, t);
}
