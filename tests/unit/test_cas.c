/* The use cases over a real folder: real index, real files, captured uploads. */
#include "base/clock.h"
#include "cas/cas.h"
#include "cas/plan.h"
#include "cas/prove.h"
#include "shard/reader.h"
#include "support/cas_fixture.h"
#include "support/index_fixture.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

START_TEST(a_xorb_is_inserted_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_index_xorb xorb;
	bool inserted;
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &xorb), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(!inserted);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &xorb), CAIRN_OK);
	ck_assert_uint_eq(xorb.stored_bytes, body.len);
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

/* The disk lost the object; the row is still there. The xorb counts as not stored, and comes back when it is sent. */
START_TEST(a_lost_object_is_taken_again)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_index_xorb xorb;
	bool inserted;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(cairn_cas_store(f.cas), &hash), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &xorb), CAIRN_E_NOT_FOUND);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &inserted, &diag),
			 CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_xorb(f.cas, &hash, &xorb), CAIRN_OK);
}
END_TEST

/* An object without a row is a left-over of a crash between the two. It may be packed otherwise than what comes now. */
START_TEST(an_object_without_a_row_is_replaced)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_store_put *put;
	bool existed, inserted;
	uint64_t bytes;
	ck_assert_int_eq(cairn_store_put_begin(cairn_cas_store(f.cas), &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(put, body.bytes, 10), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, &hash, &existed), CAIRN_OK);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
	ck_assert_int_eq(cairn_store_stat(cairn_cas_store(f.cas), &hash, &bytes), CAIRN_OK);
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
	cairn_index_stats(cairn_cas_index(f.cas), &stats);
	ck_assert_uint_eq(stats.n_files + stats.n_shards + stats.n_eligible, 0);
	struct cairn_cas_stats cas_stats;
	cairn_cas_stats(f.cas, &cas_stats);
	ck_assert_uint_eq(cas_stats.spool_bytes, 0);
}
END_TEST

/* First chunk of the first file of shards/medium with one term from chunk 67 on. */
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
	ck_assert_ptr_eq(answer, again); /* from the cache */

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
	struct cairn_index_write lose = {.kind = CAIRN_INDEX_LOSE_XORB, .promise = {.hash = *hash}};
	ck_assert_int_eq(cairn_index_write(cairn_cas_index(cas), &lose), CAIRN_OK);
}

/* @return how many xorbs an answer has; 0: there is none */
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

/* Clients deduplicate against all that an answer holds, and never send it: their shards would be refused for ever. */
START_TEST(a_lost_xorb_is_not_offered)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct fx_xorb a = fx_xorb_new(1, 20), b = fx_xorb_new(2, 30);
	struct fx_shard s;
	fx_xorb_put(cairn_cas_index(f.cas), &a);
	fx_xorb_put(cairn_cas_index(f.cas), &b);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 2, 1, 2);
	fx_shard_xorb(&s, &b, 1, 1);
	ck_assert_int_eq(fx_shard_put(cairn_cas_index(f.cas), &s), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 2);
	lose_xorb(f.cas, &b.hash);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[2]), 1);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &b.list.hashes[1]), 0);
	fx_xorb_put(cairn_cas_index(f.cas), &b);
	cas_fixture_reopen(&f, NULL);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[1]), 2);
	/* A shard may have described it while it was lost. */
	fx_sql(f.dir.path, "UPDATE xorb SET stored = NULL WHERE id = 1");
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &a.list.hashes[2]), 0);
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
}
END_TEST

/* The row does not vouch for the object: neither HEAD nor a grant calls the xorb stored, and so no shard may rely on
 * it. */
START_TEST(a_xorb_that_its_row_calls_lost_is_no_base_for_a_shard)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_diag diag = {0};
	bool changed;
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &changed, NULL), CAIRN_OK);
	if (_i == 0)
		lose_xorb(f.cas, &hash);
	else
		fx_sql(f.dir.path, "UPDATE xorb SET stored = stored + 1");
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &changed, &diag),
			 CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_put_captured(f.cas, &CAS_OPERATOR, "shards/medium.shard", &changed, NULL), CAIRN_OK);
}
END_TEST

/* An upload finds the object gone: what was answered with it is withdrawn with the rows of its chunks. */
START_TEST(an_upload_that_finds_a_xorb_lost_withdraws_its_answers)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB), chunk = first_chunk_of_medium();
	bool inserted;
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &chunk), 1);
	ck_assert_int_eq(cairn_store_remove(cairn_cas_store(f.cas), &hash), CAIRN_OK);
	ck_assert_int_eq(cas_put_xorb(f.cas, CAS_FIXTURE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_uint_eq(xorbs_of_answer(f.cas, &chunk), 0);
}
END_TEST

static bool stop_at_the_third(void *ctx)
{
	unsigned *n = ctx;
	return ++*n == 3;
}

START_TEST(a_proof_that_is_stopped_proves_nothing)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_diag diag = {0};
	unsigned n = 0;
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(cairn_store_get(cairn_cas_store(f.cas), &hash, &object), CAIRN_OK);
	const struct cairn_fetch_range all = {0, cairn_store_object_bytes(object) - 1};
	ck_assert_int_eq(cairn_cas_prove(f.cas, &hash, object, &all, 1, stop_at_the_third, &n, &diag), CAIRN_E_BUSY);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(diag.rule, "verify.stopped");
	ck_assert(!cairn_cas_is_proved(f.cas, &hash, &all));
	ck_assert_int_eq(cairn_cas_prove(f.cas, &hash, object, &all, 1, NULL, NULL, NULL), CAIRN_OK);
	ck_assert(cairn_cas_is_proved(f.cas, &hash, &all));
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

START_TEST(a_folder_in_use_is_refused)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	struct cairn_diag diag = {0};
	struct cairn_cas *second;
	options.data_dir = f.dir.path;
	ck_assert_int_eq(cairn_cas_open(&second, &options, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "data_dir.in_use");
}
END_TEST

static void small_spool(struct cairn_cas_options *options)
{
	options->spool_bytes_max = 1000;
}

START_TEST(bodies_in_flight_are_bounded)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, small_spool);
	struct cairn_shard_upload *one, *two;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_shard_upload_begin(f.cas, &CAS_OPERATOR, 1000, false, &one, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_upload_begin(f.cas, &CAS_OPERATOR, 1, false, &two, &diag), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "spool.full");
	cairn_shard_upload_free(one);
	ck_assert_int_eq(cairn_shard_upload_begin(f.cas, &CAS_OPERATOR, 1, false, &two, NULL), CAIRN_OK);
	cairn_shard_upload_free(two);
}
END_TEST

static void large_reserve(struct cairn_cas_options *options)
{
	options->reserve_bytes = UINT64_C(1) << 60;
}

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
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_xorb_is_inserted_once);
	tcase_add_test(t, a_false_body_is_refused_under_a_known_name_too);
	tcase_add_test(t, a_lost_object_is_taken_again);
	tcase_add_test(t, an_object_without_a_row_is_replaced);
	tcase_add_test(t, of_many_uploads_of_a_xorb_at_once_one_inserts_it);
	tcase_add_test(t, a_shard_is_added_once_for_each_owner);
	tcase_add_test(t, nothing_of_a_refused_shard_is_visible);
	tcase_add_test(t, a_query_is_answered_with_keyed_chunks);
	tcase_add_test(t, a_lost_xorb_is_not_offered);
	tcase_add_loop_test(t, a_xorb_that_its_row_calls_lost_is_no_base_for_a_shard, 0, 2);
	tcase_add_test(t, an_upload_that_finds_a_xorb_lost_withdraws_its_answers);
	tcase_add_test(t, a_proof_that_is_stopped_proves_nothing);
	tcase_add_test(t, two_scopes_get_other_keys_and_do_not_see_each_other);
	tcase_add_test(t, all_is_there_after_opening_again);
	tcase_add_test(t, a_folder_in_use_is_refused);
	tcase_add_test(t, bodies_in_flight_are_bounded);
	tcase_add_test(t, a_full_disk_is_told_before_the_body);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *runner = srunner_create(cas_suite());
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
