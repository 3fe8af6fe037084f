/* Uploads, queries and bodies over a real folder, with a real index, real files, and captured uploads. */
#include "base/clock.h"
#include "cas/body.h"
#include "cas/cas.h"
#include "cas/internal.h"
#include "cas/object/sound_copy.h"
#include "cas/object/verify_read.h"
#include "cas/put/put_shard.h"
#include "cas/put/put_xorb.h"
#include "cas/serve/plan.h"
#include "cas/serve/query_chunk.h"
#include "cas/stats.h"
#include "shard/reader.h"
#include "support/cas_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

START_TEST(a_xorb_is_inserted_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	uint64_t stored_bytes;
	bool inserted;
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(!inserted);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_OK);
	ck_assert_uint_eq(stored_bytes, body.len);
}
END_TEST

START_TEST(a_false_body_is_refused_under_a_known_name_too)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_diag diag = {0};
	bool inserted;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	body.len -= 1;
	ck_assert_int_ne(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, &diag), CAIRN_OK);
	ck_assert_ptr_nonnull(diag.rule);
}
END_TEST

/* The disk lost the object, but its row remains. The xorb counts as not stored, and is stored when uploaded again. */
START_TEST(a_lost_object_is_taken_again)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	uint64_t stored_bytes;
	bool inserted;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(f.cas->store, &hash, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_E_NOT_FOUND);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &inserted, &diag),
			 CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_OK);
}
END_TEST

/* A crash before adding the row leaves an object without a row. The next upload may have another layout. */
START_TEST(an_object_without_a_row_is_replaced)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_store_put *put;
	bool existed, inserted;
	uint64_t bytes;
	ck_assert_int_eq(cairn_store_put_begin(f.cas->store, &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(put, body.bytes, 10), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, &hash, &existed), CAIRN_OK);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
	ck_assert_int_eq(cairn_store_stat(f.cas->store, &hash, &bytes), CAIRN_OK);
	ck_assert_uint_eq(bytes, body.len);
}
END_TEST

struct racer {
	struct cairn_cas *cas;
	const struct vec_bytes *body;
	enum cairn_status status;
	bool inserted;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	r->status = cas_put_xorb(r->cas, CAS_FIXTURE_XORB, r->body, &r->inserted, NULL);
	return NULL;
}

START_TEST(of_many_uploads_of_a_xorb_at_once_one_inserts_it)
{
	enum { N = 8 };
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct racer racers[N];
	pthread_t threads[N];
	unsigned n_inserted = 0;
	for (int i = 0; i < N; i++) {
		racers[i] = (struct racer){.cas = f.cas, .body = &body};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < N; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(racers[i].status, CAIRN_OK);
		n_inserted += racers[i].inserted;
	}
	ck_assert_uint_eq(n_inserted, 1);
}
END_TEST

START_TEST(a_shard_is_added_once_for_each_owner)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	const struct cairn_cas_who tenant = {.scope = "", .owner = "models/a/b", .viewer = "models/a/b"};
	bool added;
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &added, NULL), CAIRN_OK);
	ck_assert(!added);
	ck_assert_int_eq(cas_put_captured(f.cas, &tenant, "shards/medium.shard", &added, NULL), CAIRN_OK);
	ck_assert(added);
}
END_TEST

START_TEST(nothing_of_a_refused_shard_is_visible)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_diag diag = {0};
	struct cairn_index_stats stats;
	bool added;
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &added, &diag),
			 CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	cairn_index_stats(f.cas->index, &stats);
	ck_assert_uint_eq(stats.n_files + stats.n_shards + stats.n_eligible, 0);
	struct cairn_cas_stats cas_stats;
	cairn_cas_stats(f.cas, &cas_stats);
	ck_assert_uint_eq(cas_stats.spool_bytes, 0);
}
END_TEST

/* Returns the first chunk of the first file of shards/medium that has one term from chunk 67 on. */
static struct cairn_hash first_chunk_of_medium(void)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("shards/medium.shard");
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more = true;
	uint32_t place = 0;
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, shard.len, NULL), CAIRN_OK);
	while (more) {
		ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
		if (more && file.n_terms > 0)
			place = cairn_shard_file_term(&file, 0).start;
	}
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
	return cairn_shard_xorb_chunk(&xorb, place).hash;
}

START_TEST(a_query_is_answered_with_keyed_chunks)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	struct cairn_hash chunk = first_chunk_of_medium(), keyed;
	const struct cairn_answer *answer, *again;
	ck_assert_int_eq(cairn_cas_query(f.cas, &CAS_OPERATOR, &chunk, &answer), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_query(f.cas, &CAS_OPERATOR, &chunk, &again), CAIRN_OK);
	ck_assert_ptr_eq(answer, again); /* the second answer comes from the cache */

	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	struct cairn_shard_footer footer;
	const uint8_t *tables;
	size_t tables_len;
	bool more, has_footer, found = false;
	ck_assert_int_eq(cairn_shard_reader_init(&r, answer->bytes, answer->len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
	ck_assert(!more);
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
	ck_assert(more);
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &(struct cairn_shard_xorb){0}, &more, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_reader_end(&r, &footer, &has_footer, &tables, &tables_len, NULL), CAIRN_OK);
	ck_assert(has_footer && !cairn_hash_is_zero(&footer.chunk_hash_key));
	ck_assert_uint_eq(footer.file_lookup_offset, footer.footer_offset);
	ck_assert_int_gt((int64_t)footer.key_expiry_unix_s, cairn_clock_unix_s());
	cairn_hash_keyed(&keyed, &footer.chunk_hash_key, &chunk);
	for (uint32_t i = 0; i < xorb.n_chunks; i++) {
		struct cairn_shard_chunk c = cairn_shard_xorb_chunk(&xorb, i);
		found = found || (cairn_hash_equal(&c.hash, &keyed) && (c.flags & CAIRN_SHARD_CHUNK_ELIGIBLE));
	}
	ck_assert(found);
	cairn_answer_unref(answer);
	cairn_answer_unref(again);
}
END_TEST

static void lose_xorb(struct cairn_cas *cas, const struct cairn_hash *hash)
{
	struct cairn_index_lose_xorb lose = {.hash = *hash};
	ck_assert_int_eq(cairn_index_lose_xorb(cas->index, &lose), CAIRN_OK);
}

/* Returns how many xorbs an answer names; 0: there is no answer. */
static unsigned xorbs_of_answer(struct cairn_cas *cas, const struct cairn_hash *chunk)
{
	const struct cairn_answer *answer;
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more = true;
	unsigned n = 0;
	enum cairn_status status = cairn_cas_query(cas, &CAS_OPERATOR, chunk, &answer);
	if (status == CAIRN_E_NOT_FOUND)
		return 0;
	ck_assert_int_eq(status, CAIRN_OK);
	ck_assert_int_eq(cairn_shard_reader_init(&r, answer->bytes, answer->len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
	for (;; n++) {
		ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
		if (!more)
			break;
	}
	cairn_answer_unref(answer);
	return n;
}

/* Stores an object of the length in the row. These tests do not read its contents. */
static void put_object_of(struct cairn_cas *cas, const struct fx_xorb *x)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf bytes = cairn_buf_init(1 << 24);
	struct cairn_store_put *put;
	bool existed;
	memset(cairn_buf_extend(&bytes, x->list.spans[x->list.n - 1].end), 0, x->list.spans[x->list.n - 1].end);
	ck_assert_int_eq(cairn_store_put_begin(cas->store, &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(put, bytes.bytes, bytes.len), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, &x->hash, &existed), CAIRN_OK);
}

/* A xorb of one chunk has the hash of that chunk. A client need not prove more than this hash to refer to the chunk. */
START_TEST(a_xorb_of_one_chunk_is_no_neighbour)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct fx_xorb a = fx_xorb_new(1, 20), alone = fx_xorb_new(2, 1), b = fx_xorb_new(3, 2);
	struct fx_shard s;
	fx_xorb_put(f.cas->index, &a);
	fx_xorb_put(f.cas->index, &alone);
	fx_xorb_put(f.cas->index, &b);
	put_object_of(f.cas, &a);
	put_object_of(f.cas, &alone);
	put_object_of(f.cas, &b);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 1);
	fx_shard_xorb(&s, &alone, 1, 0);
	fx_shard_xorb(&s, &b, 1, 0);
	ck_assert_int_eq(fx_shard_put(f.cas->index, &s), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 2);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &b.list.hashes[0]), 2);
	/* a client that asks for the chunk itself knows its hash */
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &alone.list.hashes[0]), 3);
	fx_xorb_fini(&a);
	fx_xorb_fini(&alone);
	fx_xorb_fini(&b);
}
END_TEST

/* A client deduplicates against all xorbs in an answer, and does not upload them. If a lost xorb were among them, its
 * shards would be refused forever. */
START_TEST(a_lost_xorb_is_not_offered)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct fx_xorb a = fx_xorb_new(1, 20), b = fx_xorb_new(2, 30);
	struct fx_shard s;
	fx_xorb_put(f.cas->index, &a);
	fx_xorb_put(f.cas->index, &b);
	put_object_of(f.cas, &a);
	put_object_of(f.cas, &b);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 2, 1, 2);
	fx_shard_xorb(&s, &b, 1, 1);
	ck_assert_int_eq(fx_shard_put(f.cas->index, &s), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 2);
	lose_xorb(f.cas, &b.hash);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[2]), 1);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &b.list.hashes[1]), 0);
	fx_xorb_put(f.cas->index, &b);
	cas_fixture_reopen(&f, NULL);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 2);
	/* this answer is cached */
	ck_assert_int_eq(cairn_store_remove(f.cas->store, &b.hash, NULL), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 1);
	/* A shard may have described the xorb while it was lost. */
	fx_sql(f.dir.path, "UPDATE xorb SET stored = NULL WHERE id = 1");
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[2]), 0);
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
}
END_TEST

/* A xorb whose row says "lost" does not count as stored: HEAD and grants do not report it, no shard may rely on it. */
START_TEST(a_xorb_that_its_row_calls_lost_is_no_base_for_a_shard)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_diag diag = {0};
	uint64_t stored_bytes;
	bool changed;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &changed, NULL), CAIRN_OK);
	if (_i == 0)
		lose_xorb(f.cas, &hash);
	else
		fx_sql(f.dir.path, "UPDATE xorb SET stored = stored + 1");
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_E_NOT_FOUND);
	cas_flip_bit(&f, &hash, 2000);
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &changed, &diag),
			 CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &changed, NULL), CAIRN_OK);
}
END_TEST

/* If the bytes turn out to be sound, as when a pack was moved away and back, the xorb is recorded as stored again. */
START_TEST(a_sound_object_with_a_lost_row_is_recorded_again)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	uint64_t stored_bytes;
	struct cairn_cas_stats stats;
	bool changed;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &changed, NULL), CAIRN_OK);
	if (_i == 0)
		lose_xorb(f.cas, &hash);
	else
		fx_sql(f.dir.path, "UPDATE xorb SET stored = stored + 1");
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &stored_bytes), CAIRN_OK);
	ck_assert_uint_eq(stored_bytes, body.len);
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.xorbs_found, 1);
	ck_assert_uint_eq(stats.objects_damaged, 0);
}
END_TEST

/* An upload that finds the object missing removes the cached answers, and the rows of the xorb's chunks. */
START_TEST(an_upload_that_finds_a_xorb_lost_withdraws_its_answers)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB), chunk = first_chunk_of_medium();
	bool inserted;
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &chunk), 1);
	ck_assert_int_eq(cairn_store_remove(f.cas->store, &hash, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &chunk), 0);
}
END_TEST

static bool stop_at_the_third(void *ctx)
{
	unsigned *n = ctx;
	return ++*n == 3;
}

START_TEST(a_verification_that_is_stopped_verifies_nothing)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL, *sound = NULL;
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_diag diag = {0};
	unsigned n = 0;
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(cairn_store_get(f.cas->store, &hash, &object), CAIRN_OK);
	const struct cairn_fetch_range all = {0, cairn_store_object_bytes(object) - 1};
	ck_assert_int_eq(cas_sound_copy(f.cas, &hash, &all, 1, stop_at_the_third, &n, &sound, &diag), CAIRN_E_BUSY);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(diag.rule, "verify.stopped");
	ck_assert(!cairn_cas_is_verified(f.cas, &hash, object, &all, 1));
	ck_assert_int_eq(cas_sound_copy(f.cas, &hash, &all, 1, NULL, NULL, &sound, NULL), CAIRN_OK);
	ck_assert(cairn_cas_is_verified(f.cas, &hash, object, &all, 1));
}
END_TEST

START_TEST(two_scopes_get_other_keys_and_do_not_see_each_other)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	const struct cairn_cas_who a = {.scope = "a", .owner = "", .viewer = NULL}, b = {.scope = "b", .owner = ""};
	struct cairn_hash chunk = first_chunk_of_medium();
	const struct cairn_answer *mine, *theirs;
	bool added;
	cas_put_medium(f.cas, &a);
	ck_assert_int_eq(cairn_cas_query(f.cas, &b, &chunk, &theirs), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_query(f.cas, &a, &chunk, &mine), CAIRN_OK);
	ck_assert_int_eq(cas_put_captured(f.cas, &b, "shards/medium.shard", &added, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_query(f.cas, &b, &chunk, &theirs), CAIRN_OK);
	ck_assert_uint_eq(mine->len, theirs->len);
	ck_assert_str_ne(mine->etag, theirs->etag);
	cairn_answer_unref(mine);
	cairn_answer_unref(theirs);
}
END_TEST

START_TEST(all_is_there_after_opening_again)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	struct cairn_hash chunk = first_chunk_of_medium();
	const struct cairn_answer *before, *after;
	ck_assert_int_eq(cairn_cas_query(f.cas, &CAS_OPERATOR, &chunk, &before), CAIRN_OK);
	cas_fixture_reopen(&f, NULL);
	ck_assert_int_eq(cairn_cas_query(f.cas, &CAS_OPERATOR, &chunk, &after), CAIRN_OK);
	ck_assert_str_eq(before->etag, after->etag);
	cairn_answer_unref(before);
	cairn_answer_unref(after);
}
END_TEST

static const struct cairn_hash BODY_SENDER = {{7}};

START_TEST(a_long_body_goes_to_a_file)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	static uint8_t bytes[CAIRN_BODY_MEMORY_BYTES + 1];
	struct cairn_body b;
	struct cairn_cas_stats stats;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	for (size_t len = CAIRN_BODY_MEMORY_BYTES; len <= sizeof(bytes); len++) {
		ck_assert_int_eq(cairn_body_begin(&b, f.cas, &BODY_SENDER, UINT64_MAX, NULL), CAIRN_OK);
		ck_assert_int_eq(cairn_body_write(&b, bytes, 1000, NULL), CAIRN_OK);
		ck_assert_uint_eq(b.len, 1000);
		ck_assert(!cairn_body_waits(&b, len - 1000)); /* the disk keeps up with the body */
		ck_assert_int_eq(cairn_body_write(&b, bytes + 1000, len - 1000, NULL), CAIRN_OK);
		ck_assert(!b.spool == (len == CAIRN_BODY_MEMORY_BYTES));
		ck_assert(b.use.on_disk == (b.spool != NULL));
		ck_assert_int_eq(cairn_body_read(&b), CAIRN_OK);
		ck_assert_uint_eq(b.len, len);
		ck_assert_mem_eq(b.bytes, bytes, len);
		cairn_cas_stats(f.cas, &stats);
		ck_assert_uint_eq(stats.spool_bytes, len);
		cairn_body_fini(&b);
	}
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 0);
}
END_TEST

static void large_reserve(struct cairn_cas_options *options)
{
	options->reserve_bytes = UINT64_C(1) << 60;
}

/* A body of known length is refused at once. A body of unknown length is refused when it outgrows memory. */
START_TEST(a_long_body_leaves_the_reserve)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, large_reserve);
	static uint8_t bytes[CAIRN_BODY_MEMORY_BYTES + 1];
	struct cairn_body b;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_body_begin(&b, f.cas, &BODY_SENDER, sizeof(bytes), &diag), CAIRN_E_FULL);
	ck_assert_str_eq(diag.rule, "disk.reserve");
	cairn_body_fini(&b);
	ck_assert_int_eq(cairn_body_begin(&b, f.cas, &BODY_SENDER, sizeof(bytes) - 1, NULL), CAIRN_OK);
	cairn_body_fini(&b);
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_body_begin(&b, f.cas, &BODY_SENDER, UINT64_MAX, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_body_write(&b, bytes, sizeof(bytes), &diag), CAIRN_E_FULL);
	ck_assert_str_eq(diag.rule, "disk.reserve");
	cairn_body_fini(&b);
}
END_TEST

static void small_spool(struct cairn_cas_options *options)
{
	options->spool_bytes_max = 1000;
	options->spool_share_percent = 40;
	options->shard_bytes_max = options->xorb_bytes_max = 300;
}

/* Begins an upload for the sender of this number. */
static struct cairn_shard_upload *begin_shard(struct cas_fixture *f, uint8_t sender, uint64_t bytes_expected,
					      enum cairn_status expected, const char *rule)
{
	struct cairn_shard_upload *u = NULL;
	struct cairn_diag diag = {0};
	const struct cairn_cas_who who = {.scope = "", .owner = "", .sender = {{sender}}};
	ck_assert_int_eq(cairn_shard_upload_begin(f->cas, &who, bytes_expected, false, &u, &diag), expected);
	ck_assert_pstr_eq(diag.rule, rule);
	return u;
}

static void write_shard(struct cairn_shard_upload *u, size_t len, enum cairn_status expected, struct cairn_diag *diag)
{
	uint8_t bytes[400] = {0};
	ck_assert_int_eq(cairn_shard_upload_write(u, bytes, len, diag), expected);
}

START_TEST(a_body_without_a_length_reserves_only_received_bytes)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, small_spool);
	struct cairn_shard_upload *slow[20];
	struct cairn_cas_stats stats;
	for (size_t i = 0; i < 20; i++) {
		slow[i] = begin_shard(&f, 1, UINT64_MAX, CAIRN_OK, NULL);
		write_shard(slow[i], 1, CAIRN_OK, NULL);
	}
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 20);
	ck_assert_uint_eq(stats.spool_reserved_bytes, 0);
	cairn_shard_upload_free(begin_shard(&f, 1, 300, CAIRN_OK, NULL));
	for (size_t i = 0; i < 20; i++)
		cairn_shard_upload_free(slow[i]);
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 0);
}
END_TEST

/* An accepted body has space to its end, whatever else is uploaded meanwhile. */
START_TEST(an_announced_body_has_its_room)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, small_spool);
	struct cairn_cas_stats stats;
	struct cairn_shard_upload *in[3];
	for (uint8_t i = 0; i < 3; i++)
		in[i] = begin_shard(&f, i, 300, CAIRN_OK, NULL);
	begin_shard(&f, 4, 101, CAIRN_E_BUSY, "spool.full");
	begin_shard(&f, 1, 101, CAIRN_E_BUSY, "spool.share");
	struct cairn_shard_upload *chunked = begin_shard(&f, 5, UINT64_MAX, CAIRN_OK, NULL);
	write_shard(chunked, 100, CAIRN_OK, NULL);
	write_shard(chunked, 1, CAIRN_E_BUSY, NULL);
	for (uint8_t i = 0; i < 3; i++) {
		write_shard(in[i], 200, CAIRN_OK, NULL);
		write_shard(in[i], 100, CAIRN_OK, NULL);
	}
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 1000);
	ck_assert_uint_eq(stats.spool_reserved_bytes, 0);
	for (uint8_t i = 0; i < 3; i++)
		cairn_shard_upload_free(in[i]);
	/* a body that ends early releases the rest of its space */
	struct cairn_shard_upload *early = begin_shard(&f, 6, 300, CAIRN_OK, NULL);
	write_shard(early, 10, CAIRN_OK, NULL);
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 110);
	ck_assert_uint_eq(stats.spool_reserved_bytes, 290);
	cairn_shard_upload_free(early);
	/* bytes beyond the announced length count like those of a body without a length */
	struct cairn_shard_upload *longer = begin_shard(&f, 6, 10, CAIRN_OK, NULL);
	write_shard(longer, 20, CAIRN_OK, NULL);
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 120);
	ck_assert_uint_eq(stats.spool_reserved_bytes, 0);
	cairn_shard_upload_free(longer);
	cairn_shard_upload_free(chunked);
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 0);
	ck_assert_uint_eq(stats.spool_reserved_bytes, 0);
}
END_TEST

START_TEST(a_sender_has_a_share_and_others_go_on)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, small_spool);
	struct cairn_diag diag = {0};
	struct cairn_shard_upload *one = begin_shard(&f, 1, 300, CAIRN_OK, NULL);
	struct cairn_shard_upload *chunked = begin_shard(&f, 1, UINT64_MAX, CAIRN_OK, NULL);
	write_shard(one, 300, CAIRN_OK, NULL);
	write_shard(chunked, 100, CAIRN_OK, NULL);
	write_shard(chunked, 1, CAIRN_E_BUSY, &diag);
	ck_assert_str_eq(diag.rule, "spool.share");
	ck_assert_str_eq(diag.expected, "400");
	ck_assert_str_eq(diag.actual, "401");
	begin_shard(&f, 1, 1, CAIRN_E_BUSY, "spool.share");
	struct cairn_shard_upload *other = begin_shard(&f, 2, 300, CAIRN_OK, NULL);
	write_shard(other, 300, CAIRN_OK, NULL);
	cairn_shard_upload_free(other);
	cairn_shard_upload_free(one);
	write_shard(chunked, 1, CAIRN_OK, NULL);
	cairn_shard_upload_free(chunked);
}
END_TEST

START_TEST(bodies_of_all_senders_are_bounded)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, small_spool);
	struct cairn_diag diag = {0};
	struct cairn_shard_upload *u[4];
	for (uint8_t i = 0; i < 4; i++)
		u[i] = begin_shard(&f, i, UINT64_MAX, CAIRN_OK, NULL);
	for (uint8_t i = 0; i < 3; i++)
		write_shard(u[i], 300, CAIRN_OK, NULL);
	begin_shard(&f, 4, 101, CAIRN_E_BUSY, "spool.full");
	write_shard(u[3], 100, CAIRN_OK, NULL);
	write_shard(u[3], 1, CAIRN_E_BUSY, &diag);
	ck_assert_str_eq(diag.rule, "spool.full");
	cairn_shard_upload_free(u[0]);
	write_shard(u[3], 1, CAIRN_OK, NULL);
	for (uint8_t i = 1; i < 4; i++)
		cairn_shard_upload_free(u[i]);
}
END_TEST

START_TEST(a_full_disk_is_told_before_the_body)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, large_reserve);
	struct cairn_shard_upload *u;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_shard_upload_begin(f.cas, &CAS_OPERATOR, 100, false, &u, &diag), CAIRN_E_FULL);
	ck_assert_str_eq(diag.rule, "disk.reserve");
	ck_assert_int_eq(cairn_cas_ready(f.cas, NULL), CAIRN_E_FULL);
}
END_TEST

static Suite *cas_suite(void)
{
	Suite *s = suite_create("cas");
	TCase *t = tcase_create("cas");
	tcase_add_test(t, a_xorb_is_inserted_once);
	tcase_add_test(t, a_false_body_is_refused_under_a_known_name_too);
	tcase_add_test(t, a_lost_object_is_taken_again);
	tcase_add_test(t, an_object_without_a_row_is_replaced);
	tcase_add_test(t, of_many_uploads_of_a_xorb_at_once_one_inserts_it);
	tcase_add_test(t, a_shard_is_added_once_for_each_owner);
	tcase_add_test(t, nothing_of_a_refused_shard_is_visible);
	tcase_add_test(t, a_query_is_answered_with_keyed_chunks);
	tcase_add_test(t, a_xorb_of_one_chunk_is_no_neighbour);
	tcase_add_test(t, a_lost_xorb_is_not_offered);
	tcase_add_loop_test(t, a_xorb_that_its_row_calls_lost_is_no_base_for_a_shard, 0, 2);
	tcase_add_loop_test(t, a_sound_object_with_a_lost_row_is_recorded_again, 0, 2);
	tcase_add_test(t, an_upload_that_finds_a_xorb_lost_withdraws_its_answers);
	tcase_add_test(t, a_verification_that_is_stopped_verifies_nothing);
	tcase_add_test(t, two_scopes_get_other_keys_and_do_not_see_each_other);
	tcase_add_test(t, all_is_there_after_opening_again);
	tcase_add_test(t, a_body_without_a_length_reserves_only_received_bytes);
	tcase_add_test(t, an_announced_body_has_its_room);
	tcase_add_test(t, a_sender_has_a_share_and_others_go_on);
	tcase_add_test(t, bodies_of_all_senders_are_bounded);
	tcase_add_test(t, a_long_body_goes_to_a_file);
	tcase_add_test(t, a_long_body_leaves_the_reserve);
	tcase_add_test(t, a_full_disk_is_told_before_the_body);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(cas_suite());
}
