/* Lookups of shards before they are verified, over PostgreSQL: what they find, and when registration relies on them. */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "index/quota.h"
#include "support/pace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { NAMES_MAX = 4 };

/* A shard that describes two xorbs and has a term of a third one, and the result of the shard's lookup. */
static struct looked_up {
	struct fx_xorb xorbs[3];
	struct fx_shard shard;
	struct cairn_hash names[NAMES_MAX], files[NAMES_MAX];
	struct cairn_index_seen_xorb found[NAMES_MAX];
	struct cairn_index_shard_lookup lookup;
	struct cairn_index_put_shard put;
} l;

/* Adds a xorb whose row names a copy, as over S3. */
static void put_xorb(const struct fx_xorb *x)
{
	struct cairn_index_put_xorb put = {
		.hash = x->hash,
		.list = &x->list,
		.stored_bytes = x->list.spans[x->list.n - 1].end,
	};
	cairn_copy_id_set_unix_ms(&put.copy, cairn_clock_unix_s() * 1000);
	put.copy.b[sizeof(put.copy.b) - 1] = (uint8_t)x->list.n;
	enum cairn_status status = cairn_index_put_xorb(pg.ix, &put);
	ck_assert_msg(status == CAIRN_OK, "%s", put.write.diag.text);
}

static void make(const char *owner)
{
	for (unsigned i = 0; i < 3; i++) {
		l.xorbs[i] = fx_xorb_new(50 + i, 5 + i);
		put_xorb(&l.xorbs[i]);
	}
	fx_shard_init(&l.shard, 10);
	l.shard.owner = owner;
	fx_shard_xorb(&l.shard, &l.xorbs[0], 1, 1);
	fx_shard_xorb(&l.shard, &l.xorbs[1], 1, 2);
	fx_shard_term(fx_shard_file(&l.shard, 1, &l.xorbs[0], 0, 5), &l.xorbs[2], 1, 3);
	(void)fx_shard_file(&l.shard, 2, &l.xorbs[1], 1, 4);
}

static void drop(void)
{
	for (unsigned i = 0; i < 3; i++) {
		fx_xorb_fini(&l.xorbs[i]);
		cairn_chunk_list_fini(&l.found[i].places);
	}
}

static void look_up(void)
{
	for (unsigned i = 0; i < NAMES_MAX; i++)
		cairn_chunk_list_fini(&l.found[i].places);
	memset(l.found, 0, sizeof(l.found));
	for (unsigned i = 0; i < 3; i++)
		l.names[i] = l.xorbs[i].hash;
	for (unsigned i = 0; i < l.shard.n_files; i++)
		l.files[i] = l.shard.files[i].file.hash;
	l.lookup = (struct cairn_index_shard_lookup){
		.body = l.shard.body,
		.scope = l.shard.scope,
		.owner = l.shard.owner,
		.xorbs = l.names,
		.n_xorbs = 3,
		.n_described = 2,
		.files = l.files,
		.n_files = l.shard.n_files,
		.found = l.found,
	};
	ck_assert_int_eq(cairn_index_look_up_shard(pg.ix, &l.lookup), CAIRN_OK);
}

/* Registers the shard with the result of the lookup. */
static enum cairn_status put_seen(void)
{
	l.put = fx_shard_request(&l.shard);
	for (unsigned i = 0; i < 3; i++)
		l.shard.records.xorbs[i].id = l.found[i].id;
	l.put.seen = l.lookup.seen;
	return cairn_index_put_shard(pg.ix, &l.put);
}

static void assert_registered(const char *owner)
{
	ck_assert(fx_sees(pg.ix, owner, 1) && fx_sees(pg.ix, owner, 2));
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM file_owner WHERE scope NOT IN (SELECT id FROM scope)"), 0);
	ck_assert_int_eq(pgfx_sql_in(PGFX_COUNTS_AGREE), 1);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM dedupe WHERE shard NOT IN (SELECT id FROM shard)"), 0);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM member WHERE shard NOT IN (SELECT id FROM shard)"), 0);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM reference WHERE file NOT IN (SELECT id FROM file)"), 0);
}

/* Makes an owner known, by registering a file for it. */
static void know_owner(const char *owner)
{
	struct fx_shard s;
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	fx_shard_init(&s, 1);
	s.owner = owner;
	(void)fx_shard_file(&s, 100, &pg.x, 0, 2);
	ck_assert_int_eq(fx_shard_put(pg.ix, &s), CAIRN_OK);
}

START_TEST(a_look_up_finds_xorbs_and_files)
{
	make("");
	look_up();
	ck_assert(l.lookup.seen.plain && !l.lookup.known);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_ne(l.found[i].id, 0);
		ck_assert_uint_eq(l.found[i].places.n, l.xorbs[i].list.n);
		ck_assert_ptr_null(l.found[i].places.hashes);
		ck_assert_mem_eq(l.found[i].places.spans, l.xorbs[i].list.spans,
				 l.xorbs[i].list.n * sizeof(struct cairn_span));
	}
	ck_assert_int_ne(l.found[2].id, 0);
	ck_assert_uint_eq(l.found[2].places.n, 0);
	ck_assert_int_eq(put_seen(), CAIRN_OK);
	ck_assert(l.put.added);
	assert_registered("");
	struct cairn_index_registered then = l.put.registered;
	look_up();
	ck_assert(l.lookup.known && !l.lookup.seen.plain);
	ck_assert_int_eq(l.lookup.registered.collection, then.collection);
	ck_assert_int_eq(l.lookup.registered.at_unix_s, then.at_unix_s);
	drop();
}
END_TEST

/* After each of these changes the lookup is not simple, so the registration looks everything up again. */
START_TEST(changed_rows_make_a_look_up_not_plain)
{
	static const char *const CHANGES[] = {
		"UPDATE xorb SET retired = 1 WHERE id = (SELECT max(id) - 1 FROM xorb)",
		"UPDATE xorb SET withdrawn = 1 WHERE id = (SELECT max(id) - 1 FROM xorb)",
		"UPDATE xorb SET stored = NULL WHERE id = (SELECT max(id) - 1 FROM xorb)",
		"UPDATE xorb SET copy = NULL WHERE id = (SELECT max(id) - 1 FROM xorb)",
		"UPDATE list SET spans = '' WHERE xorb = (SELECT max(id) - 1 FROM xorb)",
		"DELETE FROM list WHERE xorb = (SELECT max(id) - 1 FROM xorb)",
		"UPDATE xorb SET hash = sha256('') WHERE id = (SELECT max(id) - 1 FROM xorb)",
	};
	make("");
	(void)pgfx_sql_in(CHANGES[_i]);
	look_up();
	ck_assert(!l.lookup.seen.plain);
	ck_assert_int_ne(l.found[0].id, 0);
	ck_assert_int_eq(l.found[1].id, 0);
	ck_assert_int_ne(l.found[2].id, 0);
	drop();
}
END_TEST

START_TEST(a_known_file_is_not_plain)
{
	struct fx_shard s;
	make("");
	fx_shard_init(&s, 1);
	(void)fx_shard_file(&s, 2, &l.xorbs[1], 1, 4);
	ck_assert_int_eq(fx_shard_put(pg.ix, &s), CAIRN_OK);
	look_up();
	ck_assert(!l.lookup.seen.plain);
	ck_assert_int_ne(l.found[1].id, 0);
	drop();
}
END_TEST

/* Ends the backend, because it reports its statistics only then. */
static void reopen(void)
{
	cairn_index_free(pg.ix);
	pgfx_wait_for("SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE application_name = 'cairn'");
	pg.ix = fx_open(pg.folder.path);
}

/* Returns how often a lookup searches the index of files. */
static int64_t searches_of_a_lookup(void)
{
	static const char LOOK_UPS[] = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'file_hash_key'"
				       " AND schemaname = current_schema()";
	int64_t before = pgfx_sql_in(LOOK_UPS);
	look_up();
	reopen();
	return pgfx_sql_in(LOOK_UPS) - before;
}

/* A sender has proved nothing yet, so the duration of a lookup must not reveal which files of the shard are here. */
START_TEST(a_lookup_ends_at_no_file)
{
	struct fx_shard s;
	make("");
	bool first = memcmp(&l.shard.files[0].file.hash, &l.shard.files[1].file.hash, sizeof(struct cairn_hash)) < 0;
	fx_shard_init(&s, 1);
	(void)fx_shard_file(&s, first ? 1 : 2, &l.xorbs[1], 1, 4);
	(void)searches_of_a_lookup();
	int64_t n = searches_of_a_lookup();
	ck_assert(l.lookup.seen.plain);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(fx_shard_put(pg.ix, &s), CAIRN_OK);
	(void)searches_of_a_lookup();
	ck_assert_int_eq(searches_of_a_lookup(), n);
	ck_assert(!l.lookup.seen.plain);
	drop();
}
END_TEST

START_TEST(an_unknown_owner_is_not_plain)
{
	make("me");
	look_up();
	ck_assert(!l.lookup.seen.plain);
	ck_assert_int_eq(put_seen(), CAIRN_OK);
	assert_registered("me");
	look_up();
	ck_assert(l.lookup.known);
	drop();
}
END_TEST

/* The batch does not look up names of owners again. Here the owner is renamed, so the settler finds nothing by it. */
START_TEST(a_found_owner_is_not_looked_up_again)
{
	know_owner("me");
	make("me");
	look_up();
	ck_assert(l.lookup.seen.plain);
	(void)pgfx_sql_in("UPDATE scope SET name = 'you' WHERE name = 'me'");
	ck_assert_int_eq(put_seen(), CAIRN_E_BUSY);
	(void)pgfx_sql_in("UPDATE scope SET name = 'me' WHERE name = 'you'");
	assert_registered("me");
	drop();
}
END_TEST

/* If something was removed since, or another server answers, the lookup is discarded and repeated. */
START_TEST(an_outdated_look_up_is_discarded)
{
	know_owner("me");
	make("me");
	look_up();
	ck_assert(l.lookup.seen.plain);
	if (_i == 0)
		(void)pgfx_sql_in("UPDATE state SET collection = collection + 1");
	else
		l.lookup.seen.server++;
	l.lookup.seen.owner = 12345;
	ck_assert_int_eq(put_seen(), CAIRN_OK);
	ck_assert(l.put.added);
	assert_registered("me");
	drop();
}
END_TEST

/* A file or the shard was added since. Inserting the rows notices that, and everything is looked up again. */
START_TEST(rows_added_after_a_look_up_are_noticed)
{
	struct fx_shard s;
	make("");
	look_up();
	ck_assert(l.lookup.seen.plain);
	fx_shard_init(&s, _i == 0 ? 11 : 10);
	(void)fx_shard_file(&s, _i == 0 ? 1 : 3, &l.xorbs[0], 0, 5);
	ck_assert_int_eq(fx_shard_put(pg.ix, &s), CAIRN_OK);
	ck_assert_int_eq(put_seen(), CAIRN_OK);
	ck_assert(l.put.added == (_i == 0)); /* the same body has the same contents, whatever is in it here */
	if (_i == 0)
		assert_registered("");
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM shard"), _i == 0 ? 2 : 1);
	drop();
}
END_TEST

/* --- batches with a bad shard ------------------------------------------------------------------------------------- */

enum { STREAM = 60 };

/* The first shard is bad by itself, or fails its whole batch. The others were looked up. */
static struct streamed {
	struct cairn_index_put_shard put; /* must be the first member */
	struct fx_shard shard;
} streamed[STREAM];
static atomic_uint n_streamed;

static void stream_done(struct cairn_index_write *write)
{
	(void)write;
	atomic_fetch_add(&n_streamed, 1);
}

static void stream_send(unsigned which, const char *owner)
{
	struct streamed *s = &streamed[which];
	fx_shard_init(&s->shard, 1000 + which);
	s->shard.owner = owner;
	(void)fx_shard_file(&s->shard, 1000 + which, &l.xorbs[0], 0, 5);
	if (which == 0 && owner[0] == '\0')
		fx_shard_fail(&s->shard);
	s->put = fx_shard_request(&s->shard);
	s->put.write.done = stream_done;
	s->put.seen = l.lookup.seen;
	s->put.seen.plain = which != 0;
	s->shard.records.xorbs[0].id = l.found[0].id;
	ck_assert_int_eq(cairn_index_put_shard(pg.ix, &s->put), CAIRN_OK);
}

static void *stream_rest(void *arg)
{
	(void)arg;
	for (unsigned i = 2; i < STREAM; i++, pgfx_pause_for(1))
		stream_send(i, "");
	return NULL;
}

/* Shards that arrive meanwhile are joined. They are no reason to retry a batch that another shard made fail. */
START_TEST(a_bad_one_in_a_stream)
{
	static const char ROLLBACKS[] = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
	struct cairn_index_set_quota quota = {.owner = "me", .limit_bytes = 1};
	pthread_t thread;
	ck_assert_int_eq(cairn_index_set_quota(pg.ix, &quota), CAIRN_OK);
	make("");
	look_up();
	ck_assert(l.lookup.seen.plain);
	reopen();
	int64_t before = pgfx_sql_in(ROLLBACKS);
	atomic_store(&n_streamed, 0);
	PGconn *still = pgfx_stand_still(false);
	stream_send(0, _i == 0 ? "" : "me");
	stream_send(1, "");
	ck_assert_int_eq(pthread_create(&thread, NULL, stream_rest, NULL), 0);
	PQfinish(still);
	pthread_join(thread, NULL);
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	while (atomic_load(&n_streamed) < STREAM && cairn_clock_mono_ms() < until_ms)
		pgfx_pause_for(PGFX_NEXT_MS);
	ck_assert_uint_eq(atomic_load(&n_streamed), STREAM);
	for (unsigned i = 0; i < STREAM; i++)
		ck_assert_int_eq(streamed[i].put.write.status, i > 0     ? CAIRN_OK
							       : _i == 0 ? CAIRN_E_CONFLICT
									 : CAIRN_E_DENIED);
	reopen();
	/* rollbacks of the hanging transaction and of the batch; also of another batch if the lookup may be at fault */
	ck_assert_int_eq(pgfx_sql_in(ROLLBACKS) - before, _i == 0 ? 2 : 3);
	drop();
}
END_TEST

/* After a failover, the row number with which a shard was verified may belong to another xorb. */
START_TEST(a_number_of_another_xorb)
{
	make("");
	look_up();
	l.lookup.seen.plain = false;
	l.found[1].id = l.found[0].id;
	ck_assert_int_eq(put_seen(), CAIRN_E_CONFLICT);
	ck_assert_str_eq(l.put.write.diag.rule, "xorb.gone");
	ck_assert(!fx_sees(pg.ix, NULL, 2));
	drop();
}
END_TEST

/* --- concurrent lookups ------------------------------------------------------------------------------------------ */

enum {
	LOOKERS = 4,
	BAD_LOOKER = 2,
	LARGE_LOOKER_FILES = 101,
	ONCE_MS = 5500, /* a call waits 3.5 s for a lock */
};

static struct looker {
	const char *owner;
	struct cairn_hash body, xorb, files[LARGE_LOOKER_FILES];
	uint32_t n_files;
	struct cairn_index_seen_xorb found;
	struct cairn_index_shard_lookup lookup;
	enum cairn_status status;
	pthread_t thread;
} lookers[LOOKERS];

static void *looker_run(void *arg)
{
	struct looker *k = arg;
	k->lookup = (struct cairn_index_shard_lookup){
		.body = k->body,
		.scope = "",
		.owner = k->owner,
		.xorbs = &k->xorb,
		.n_xorbs = 1,
		.n_described = 1,
		.files = k->files,
		.n_files = k->n_files,
		.found = &k->found,
	};
	k->status = cairn_index_look_up_shard(pg.ix, &k->lookup);
	return NULL;
}

/* Begins lookups. The first waits in the server, the others for it. @param n_files  files that the last shard names */
static void lookers_start(uint32_t n_files)
{
	for (unsigned i = 0; i < LOOKERS; i++) {
		struct looker *k = &lookers[i];
		*k = (struct looker){.owner = "", .body = fx_hash("shard", 500 + i), .xorb = l.xorbs[i % 3].hash};
		k->n_files = i == LOOKERS - 1 ? n_files : 1;
		for (uint32_t f = 0; f < k->n_files; f++)
			k->files[f] = fx_hash("file", 1000 * (i + 1) + f);
		if (i == BAD_LOOKER)
			k->owner = "\xff"; /* no valid text for the server */
		ck_assert_int_eq(pthread_create(&k->thread, NULL, looker_run, k), 0);
		if (i == 0)
			pgfx_wait_for(
				"SELECT (count(*) = 1)::int FROM pg_stat_activity WHERE application_name = 'cairn'"
				" AND wait_event_type = 'Lock'");
	}
	pgfx_pause_for(PGFX_NEXT_MS);
}

static void lookers_join(void)
{
	for (unsigned i = 0; i < LOOKERS; i++)
		pthread_join(lookers[i].thread, NULL);
}

static void lookers_drop(void)
{
	for (unsigned i = 0; i < LOOKERS; i++)
		cairn_chunk_list_fini(&lookers[i].found.places);
	drop();
}

/* A connection serves all waiting lookups. A bad one does not affect the others, and nobody waits for a large one. */
START_TEST(waiting_look_ups_share_an_exchange)
{
	static const char OPEN[] = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn'";
	make("");
	look_up();
	int64_t before = pgfx_sql_in(OPEN);
	PGconn *locked = pgfx_lock_table("file", "ACCESS EXCLUSIVE");
	lookers_start(_i == 0 ? 1 : LARGE_LOOKER_FILES);
	PQfinish(locked);
	lookers_join();
	ck_assert_int_eq(pgfx_sql_in(OPEN), before + _i);
	for (unsigned i = 0; i < LOOKERS; i++) {
		ck_assert_int_eq(lookers[i].status == CAIRN_OK, i != BAD_LOOKER);
		ck_assert_int_eq(lookers[i].lookup.seen.plain, i != BAD_LOOKER);
		ck_assert_uint_eq(lookers[i].found.places.n, i == BAD_LOOKER ? 0 : l.xorbs[i % 3].list.n);
	}
	lookers_drop();
}
END_TEST

/* A caller whose exchange timed out does not wait for another one. */
START_TEST(waiting_look_ups_fail_together)
{
	make("");
	PGconn *locked = pgfx_lock_table("file", "ACCESS EXCLUSIVE");
	int64_t began_ms = cairn_clock_mono_ms();
	lookers_start(1);
	lookers_join();
	ck_assert(pace_in_time(cairn_clock_mono_ms() - began_ms, ONCE_MS));
	PQfinish(locked);
	for (unsigned i = 0; i < LOOKERS; i++)
		ck_assert_int_eq(lookers[i].status, CAIRN_E_BUSY);
	lookers_drop();
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("lookup");
	tcase_add_test(t, a_look_up_finds_xorbs_and_files);
	tcase_add_loop_test(t, changed_rows_make_a_look_up_not_plain, 0, 7);
	tcase_add_test(t, a_known_file_is_not_plain);
	tcase_add_test(t, a_lookup_ends_at_no_file);
	tcase_add_test(t, an_unknown_owner_is_not_plain);
	tcase_add_test(t, a_found_owner_is_not_looked_up_again);
	tcase_add_loop_test(t, an_outdated_look_up_is_discarded, 0, 2);
	tcase_add_loop_test(t, rows_added_after_a_look_up_are_noticed, 0, 2);
	tcase_add_loop_test(t, a_bad_one_in_a_stream, 0, 2);
	tcase_add_test(t, a_number_of_another_xorb);
	tcase_add_loop_test(t, waiting_look_ups_share_an_exchange, 0, 2);
	tcase_add_test(t, waiting_look_ups_fail_together);
	return pgfx_run(argc, argv, t);
}
