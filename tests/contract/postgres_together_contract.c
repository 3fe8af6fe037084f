/* Work that is batched over PostgreSQL: waiting shards, and chunk queries that wait for an answer. */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "index/daemon/lease.h"
#include "index/quota.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PLAIN, OF_ANOTHER, TWIN, KNOWN_FILE, AGAIN, RETIRED, NEW_OWNER, BAD, TOGETHER };

static struct together {
	struct cairn_index_put_shard put; /* must be the first member */
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
	ck_assert_int_eq(cairn_index_put_shard(pg.ix, &together[which].put), CAIRN_OK);
}

static void together_wait(unsigned n)
{
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; atomic_load(&n_together) < n && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		continue;
	ck_assert_uint_eq(atomic_load(&n_together), n);
}

/* Adds one shard of each kind. @param retired  a retired xorb */
static void together_fill(const struct fx_xorb *retired)
{
	together_add(PLAIN, 10, "", &pg.x, 1);
	fx_shard_file(&together[PLAIN].shard, 2, &pg.x, 2, 5);
	together_add(OF_ANOTHER, 11, "me", &pg.x, 3);
	together_add(TWIN, 12, "me", &pg.x, 1);
	together_add(KNOWN_FILE, 13, "me", &pg.x, 4);
	fx_shard_file(&together[KNOWN_FILE].shard, 100, &pg.x, 0, 2);
	together_add(AGAIN, 10, "", &pg.x, 1);
	fx_shard_file(&together[AGAIN].shard, 2, &pg.x, 2, 5);
	together_add(RETIRED, 14, "", retired, 5);
	together_add(NEW_OWNER, 15, "you", &pg.x, 6);
	together_add(BAD, 16, "", &pg.x, 7);
	fx_shard_fail(&together[BAD].shard);
}

static uint64_t counts_of(int shard, uint32_t file)
{
	return cairn_index_file_counts(together[shard].shard.files[file].file.size_bytes);
}

/* Checks that each shard but the bad one is registered once, with its files. */
static void must_have_gone_in(void)
{
	struct cairn_index_room room;
	for (uint64_t file = 1; file <= 6; file++)
		ck_assert(fx_sees(pg.ix, NULL, file));
	ck_assert(!fx_sees(pg.ix, NULL, 7));
	ck_assert(fx_sees(pg.ix, "me", 3) && !fx_sees(pg.ix, "you", 3) && fx_sees(pg.ix, "you", 6));
	ck_assert_int_eq(cairn_index_owner_quota(pg.ix, "me", false, &room), CAIRN_OK);
	ck_assert_uint_eq(room.stored_bytes, counts_of(OF_ANOTHER, 0) + counts_of(TWIN, 0) + counts_of(KNOWN_FILE, 0) +
						     counts_of(KNOWN_FILE, 1));
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM xorb WHERE retired IS NOT NULL"), 0);
	ck_assert_int_eq(pgfx_sql_in(PGFX_COUNTS_AGREE), 1);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM file"), 7);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM reference"), 7);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM member"), 6);
}

/* New shards are joined, others are registered one by one, all in one commit, even if one of them is bad. */
START_TEST(waiting_shards_are_registered_in_one_commit)
{
	struct cairn_index_stats before, after;
	struct fx_xorb y = fx_xorb_new(2, 5);
	struct fx_shard known;
	struct cairn_index_set_quota quota = {.owner = "me", .limit_bytes = 1000000};
	bool bad = _i != 0;
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert(fx_xorb_put(pg.ix, &y));
	fx_shard_init(&known, 1);
	fx_shard_file(&known, 100, &pg.x, 0, 2);
	ck_assert_int_eq(fx_shard_put(pg.ix, &known), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_quota(pg.ix, &quota), CAIRN_OK);
	(void)pgfx_sql_in("UPDATE xorb SET retired = 1 WHERE id = (SELECT max(id) FROM xorb)");
	together_fill(&y);

	cairn_index_stats(pg.ix, &before);
	int64_t number = pgfx_sql_in("SELECT last_value FROM shard_id_seq");
	atomic_store(&n_together, 0);
	PGconn *still = pgfx_stand_still(false);
	unsigned n = bad ? TOGETHER : BAD;
	for (unsigned i = 0; i < n; i++)
		together_send(i);
	PQfinish(still);
	together_wait(n);

	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(together[i].put.write.status, i == BAD ? CAIRN_E_CONFLICT : CAIRN_OK);
		ck_assert(i == BAD || together[i].put.added == (i != AGAIN));
	}
	cairn_index_stats(pg.ix, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, 1);
	/* only the bad shard caused retries: 2 shards were joined, and 4 registered one by one */
	if (!bad)
		ck_assert_int_eq(pgfx_sql_in("SELECT last_value FROM shard_id_seq") - number, 2 + 4);
	must_have_gone_in();
	fx_xorb_fini(&y);
}
END_TEST

/* A note in one batch with a bad shard is applied a second time. */
START_TEST(a_note_beside_a_bad_shard)
{
	struct cairn_index_put_note put = {.write.done = together_done, .job = CAIRN_INDEX_SCRUB};
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert_int_eq(cairn_index_note(pg.ix, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	(void)snprintf(put.note.text, sizeof(put.note.text), "further");
	together_add(BAD, 16, "", &pg.x, 7);
	fx_shard_fail(&together[BAD].shard);
	atomic_store(&n_together, 0);
	PGconn *still = pgfx_stand_still(false);
	ck_assert_int_eq(cairn_index_put_note(pg.ix, &put), CAIRN_OK);
	together_send(BAD);
	PQfinish(still);
	together_wait(2);
	ck_assert_int_eq(together[BAD].put.write.status, CAIRN_E_CONFLICT);
	ck_assert_int_eq(put.write.status, CAIRN_OK);
	ck_assert_int_eq(cairn_index_note(pg.ix, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "further");
	ck_assert_int_eq(put.note.version, 1);
}
END_TEST

static atomic_uint n_screened;

static void screened(struct cairn_index_screen *screen)
{
	(void)screen;
	atomic_fetch_add(&n_screened, 1);
}

/* Locks the table that screens read, so that the server keeps them waiting until the lock is released. */
static PGconn *hold_screens(struct cairn_index_screen *screen)
{
	char text[256];
	PGconn *other = pgfx_lock_table("dedupe", "ACCESS EXCLUSIVE");
	atomic_store(&n_screened, 0);
	ck_assert(cairn_index_screen(pg.ix, screen));
	(void)snprintf(text, sizeof(text),
		       "SELECT count(*) FROM pg_locks WHERE relation = '\"%s\".dedupe'::regclass AND NOT granted",
		       pg.folder.path);
	pgfx_wait_for(text);
	ck_assert_uint_eq(atomic_load(&n_screened), 0);
	return other;
}

struct ender {
	pthread_t thread;
	void (*end)(struct cairn_index *ix);
	atomic_bool begun;
	unsigned n_screened; /* number of screens answered when the call returned */
};

static void *end_screens(void *arg)
{
	struct ender *e = arg;
	atomic_store(&e->begun, true);
	e->end(pg.ix);
	e->n_screened = atomic_load(&n_screened);
	return NULL;
}

/* Finishing waits for the exchange under way, and also answers the screens queued after it. */
START_TEST(stopping_answers_queued_screens)
{
	struct cairn_index_screen one = {.scope = "", .done = screened}, two = one;
	struct ender e = {.end = _i == 0 ? cairn_index_finish_screens : cairn_index_free};
	PGconn *other = hold_screens(&one);
	if (_i > 0)
		ck_assert(cairn_index_screen(pg.ix, &two));
	ck_assert_int_eq(pthread_create(&e.thread, NULL, end_screens, &e), 0);
	while (!atomic_load(&e.begun))
		pgfx_pause_for(1);
	PQfinish(other);
	ck_assert_int_eq(pthread_join(e.thread, NULL), 0);
	ck_assert_uint_eq(e.n_screened, _i == 0 ? 1 : 2);
	ck_assert_int_eq(one.status, CAIRN_E_NOT_FOUND);
	if (_i > 0)
		pg.ix = fx_open(pg.folder.path);
}
END_TEST

/* A screen that fails is not answered as a miss. */
START_TEST(a_failed_screen_is_no_miss)
{
	char text[256];
	struct cairn_index_screen one = {.scope = "", .done = screened};
	PGconn *other = hold_screens(&one);
	(void)snprintf(text, sizeof(text),
		       "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = '\"%s\".dedupe'::regclass"
		       " AND NOT granted",
		       pg.folder.path);
	(void)pgfx_sql(text);
	cairn_index_finish_screens(pg.ix);
	ck_assert_uint_eq(atomic_load(&n_screened), 1);
	ck_assert(one.status != CAIRN_OK && one.status != CAIRN_E_NOT_FOUND);
	PQfinish(other);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("together");
	tcase_add_loop_test(t, waiting_shards_are_registered_in_one_commit, 0, 2);
	tcase_add_test(t, a_note_beside_a_bad_shard);
	tcase_add_loop_test(t, stopping_answers_queued_screens, 0, 2);
	tcase_add_test(t, a_failed_screen_is_no_miss);
	return pgfx_run(argc, argv, t);
}
