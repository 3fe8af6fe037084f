/* Forgetting and sharing files; retiring, sweeping, renewing and losing xorbs, with uploads in between. */
#include "support/index_gc_fixture.h"
#include "support/run.h"

#include "index/examine.h"
#include "index/needs.h"
#include "index/operate.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static enum cairn_status share(uint64_t file, const char *owner, bool *added)
{
	struct cairn_index_share_file request = {.hash = fx_hash("file", file), .owner = owner};
	enum cairn_status status = cairn_index_share_file(fx_index, &request);
	*added = status == CAIRN_OK && request.shared;
	return status;
}

/* Retires xorbs. @return how many */
static uint32_t mark(int64_t at_s)
{
	uint32_t n = 0;
	struct cairn_index_gc_mark request = {.next_id = 0};
	do {
		int64_t from = request.next_id;
		request.now_unix_s = at_s;
		request.grace_s = GX_GRACE_S;
		request.from_id = from;
		ck_assert_int_eq(cairn_index_gc_mark(fx_index, &request), CAIRN_OK);
		ck_assert(request.next_id == 0 || request.next_id > from);
		n += request.n_retired;
	} while (request.next_id != 0);
	return n;
}

/* Sweeps xorbs. @return how many; their hashes in out */
static uint32_t sweep(int64_t at_s, struct cairn_hash *out, uint32_t n_max)
{
	struct cairn_index_gc_sweep request = {.n = 0};
	uint32_t n = 0;
	do { /* a call may end at its time limit after any xorb */
		request.now_unix_s = at_s;
		request.grace_s = GX_GRACE_S;
		request.swept = out + n;
		request.n_max = n_max - n;
		ck_assert_int_eq(cairn_index_gc_sweep(fx_index, &request), CAIRN_OK);
		n += request.n;
	} while (request.more && request.n > 0 && n < n_max);
	ck_assert(request.more || n < n_max);
	return n;
}

static enum cairn_status renew(const struct fx_xorb *x, int64_t at_s)
{
	struct cairn_index_renew_xorb request = {.hash = x->hash, .now_unix_s = at_s};
	return cairn_index_renew_xorb(fx_index, &request);
}

static enum cairn_status lose(const struct fx_xorb *x)
{
	struct cairn_index_lose_xorb request = {.hash = x->hash};
	return cairn_index_lose_xorb(fx_index, &request);
}

static bool offered(const struct fx_xorb *x, uint32_t place)
{
	struct fx_answer answer = {0};
	enum cairn_status status = fx_query(fx_index, "", &x->list.hashes[place], &answer);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

/* A file that is forgotten after its needs were read is not damaged. */
START_TEST(a_file_forgotten_during_a_check_is_no_damage)
{
	CLEANUP(cairn_index_needs_freep) struct cairn_index_needs *needs = NULL;
	gx_put();
	ck_assert_int_eq(cairn_index_needs_new(&needs, fx_index, NULL, NULL, NULL), CAIRN_OK);
	ck_assert(fx_forget(fx_index, 1, NULL));
	struct cairn_index_gc_mark request = {
		.needs = needs, .now_unix_s = gx_now + GX_GRACE_S + 1, .grace_s = GX_GRACE_S};
	ck_assert_int_eq(cairn_index_gc_mark(fx_index, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_doubted, 1);
	ck_assert(gx_agree());
}
END_TEST

START_TEST(forgotten_with_the_last_owner)
{
	gx_shard.owner = "model/me/one";
	gx_put();
	gx_shard.owner = "model/me/two";
	gx_put();
	ck_assert(!fx_forget(fx_index, 1, "model/me/three"));
	ck_assert(!fx_forget(fx_index, 1, ""));
	ck_assert(!fx_forget(fx_index, 99, NULL));
	ck_assert(gx_known());
	ck_assert(fx_forget(fx_index, 1, "model/me/one"));
	ck_assert(!fx_forget(fx_index, 1, "model/me/one"));
	ck_assert(!fx_sees(fx_index, "model/me/one", 1));
	ck_assert(fx_sees(fx_index, "model/me/two", 1));
	ck_assert(gx_row_of(&fx_a).referenced);
	ck_assert(fx_forget(fx_index, 1, "model/me/two"));
	ck_assert(!fx_sees(fx_index, NULL, 1));
	ck_assert(!gx_row_of(&fx_a).referenced);
	ck_assert(gx_row_of(&fx_b).referenced);
	ck_assert(fx_forget(fx_index, 2, NULL)); /* from all owners at once */
	ck_assert(!fx_sees(fx_index, NULL, 2));
	ck_assert(!gx_row_of(&fx_b).referenced);
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	ck_assert_uint_eq(stats.n_files, 0);
	ck_assert_uint_eq(stats.n_xorbs, 2);
}
END_TEST

/* If the shard of a forgotten file still counted as known, uploading the shard again would not register the file. */
START_TEST(forgotten_and_uploaded_again)
{
	gx_put();
	ck_assert(gx_known());
	ck_assert(fx_forget(fx_index, 1, NULL));
	ck_assert(!gx_known());
	gx_put();
	ck_assert(gx_shard.added);
	ck_assert(fx_sees(fx_index, NULL, 1));
	ck_assert(gx_known());
	gx_put();
	ck_assert(!gx_shard.added);
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	ck_assert_uint_eq(stats.n_shards, 1);
	ck_assert_uint_eq(stats.n_files, 2);
}
END_TEST

START_TEST(shared)
{
	bool added;
	gx_shard.owner = "model/me/one";
	gx_put();
	ck_assert_int_eq(share(99, "", &added), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(share(1, "model/me/two", &added), CAIRN_OK);
	ck_assert(added);
	ck_assert_int_eq(share(1, "model/me/two", &added), CAIRN_OK);
	ck_assert(!added);
	ck_assert(fx_sees(fx_index, "model/me/two", 1));
	ck_assert(!fx_sees(fx_index, "model/me/three", 1));
	ck_assert(!fx_sees(fx_index, "model/me/two", 2));
	ck_assert_int_eq(share(1, "", &added), CAIRN_OK);
	ck_assert(fx_sees(fx_index, "model/me/three", 1));
	ck_assert(fx_forget(fx_index, 1, ""));
	ck_assert(!fx_sees(fx_index, "model/me/three", 1));
	ck_assert(fx_sees(fx_index, "model/me/two", 1));
}
END_TEST

START_TEST(retired_then_swept)
{
	struct cairn_hash gone[4];
	gx_put();
	ck_assert_uint_eq(mark(gx_now + 10 * GX_GRACE_S), 0); /* every xorb is needed */
	fx_forget(fx_index, 1, NULL);
	ck_assert_uint_eq(mark(gx_now + GX_GRACE_S - 60), 0); /* they are too new */
	ck_assert(offered(&fx_a, 5));
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 1);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 0); /* retired only once */
	ck_assert(gx_row_of(&fx_a).retired);
	ck_assert(!gx_row_of(&fx_b).retired);
	ck_assert(!offered(&fx_a, 5)); /* neither as a result nor as a neighbour */
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(fx_index, "", &fx_b.list.hashes[6], &answer), CAIRN_OK);
	ck_assert_uint_eq(answer.n, 1);
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S - 1, gone, 4), 0); /* within the grace time */
	struct cairn_index_stats before, after;
	cairn_index_stats(fx_index, &before);
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S, gone, 4), 1);
	ck_assert(cairn_hash_equal(&gone[0], &fx_a.hash));
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S, gone, 4), 0);
	cairn_index_stats(fx_index, &after);
	ck_assert_uint_eq(after.n_xorbs, 1);
	ck_assert_uint_eq(before.stored_bytes - after.stored_bytes, fx_a.list.spans[19].end);
	struct cairn_index_xorb row;
	struct cairn_chunk_list list;
	ck_assert_int_eq(cairn_index_xorb(fx_index, &fx_a.hash, &row), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_chunk_list(fx_index, &fx_a.hash, &list), CAIRN_E_NOT_FOUND);
	ck_assert(fx_sees(fx_index, NULL, 2));
}
END_TEST

START_TEST(uploads_between_mark_and_sweep)
{
	struct cairn_hash gone[4];
	gx_put();
	fx_forget(fx_index, 1, NULL);
	fx_forget(fx_index, 2, NULL);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 2);
	/* a shard that names a retired xorb keeps it, and offers it again; storing the other's bytes changes nothing */
	struct fx_shard second;
	fx_shard_init(&second, 2);
	fx_shard_xorb(&second, &fx_a, 1, 5);
	fx_shard_file(&second, 3, &fx_a, 0, 20);
	ck_assert_int_eq(fx_shard_put(fx_index, &second), CAIRN_OK);
	ck_assert(second.added);
	ck_assert(!gx_row_of(&fx_a).retired);
	ck_assert(offered(&fx_a, 5));
	ck_assert(!fx_xorb_put(fx_index, &fx_b));
	ck_assert(!gx_row_of(&fx_b).retired);
	ck_assert_uint_eq(sweep(gx_now + 9 * GX_GRACE_S, gone, 4), 0);
	ck_assert(fx_sees(fx_index, NULL, 3));
	/* No file needs the other xorb, so it is swept after another grace time. */
	ck_assert_uint_eq(mark(gx_now + 10 * GX_GRACE_S), 1);
	ck_assert_uint_eq(sweep(gx_now + 11 * GX_GRACE_S, gone, 4), 1);
	ck_assert(cairn_hash_equal(&gone[0], &fx_b.hash));
}
END_TEST

/* The second shard names the xorb only in a term, as after a chunk query, and does not describe it. */
START_TEST(a_term_ends_retirement)
{
	struct cairn_hash gone[4];
	gx_put();
	fx_forget(fx_index, 1, NULL);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 1);
	struct fx_shard second;
	fx_shard_init(&second, 2);
	fx_shard_term(fx_shard_file(&second, 3, &fx_b, 1, 2), &fx_a, 4, 9);
	ck_assert_int_eq(fx_shard_put(fx_index, &second), CAIRN_OK);
	ck_assert(!gx_row_of(&fx_a).retired);
	ck_assert(gx_row_of(&fx_a).referenced);
	ck_assert_uint_eq(sweep(gx_now + 9 * GX_GRACE_S, gone, 4), 0);
}
END_TEST

START_TEST(uploads_after_the_sweep)
{
	struct cairn_hash gone[4];
	gx_put();
	fx_forget(fx_index, 1, NULL);
	mark(gx_now + 2 * GX_GRACE_S);
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S, gone, 4), 1);
	/* a shard verified before the sweep and committed after it is refused, and nothing of it is registered */
	ck_assert(!gx_known());
	ck_assert_int_eq(fx_shard_put(fx_index, &gx_shard), CAIRN_E_CONFLICT);
	ck_assert_str_eq(gx_shard.diag.rule, "xorb.gone");
	ck_assert(!fx_sees(fx_index, NULL, 1));
	ck_assert(fx_xorb_put(fx_index, &fx_a));
	gx_put();
	ck_assert(gx_shard.added);
	ck_assert(fx_sees(fx_index, NULL, 1));
	ck_assert(offered(&fx_a, 5));
	ck_assert_uint_eq(sweep(gx_now + 9 * GX_GRACE_S, gone, 4), 0);
}
END_TEST

/* The shard describes xorbs but registers no file, so only the collection can make it unknown. */
START_TEST(described_and_retired)
{
	gx_shard.n_files = 0;
	gx_put();
	ck_assert_uint_eq(mark(gx_now), 0);
	ck_assert(gx_known());
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 2);
	ck_assert(!gx_known()); /* the xorbs are no longer offered, and sending the shard again must change that */
	gx_put();
	ck_assert(gx_known() && offered(&fx_a, 5) && !gx_row_of(&fx_b).retired);
}
END_TEST

static uint64_t n_shards(void)
{
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	return stats.n_shards;
}

START_TEST(a_shard_goes_with_its_last_xorb)
{
	struct cairn_hash gone[4];
	struct fx_shard more;
	gx_put();
	fx_shard_init(&more, 2);
	fx_shard_xorb(&more, &fx_b, 1, 7);
	ck_assert_int_eq(fx_shard_put(fx_index, &more), CAIRN_OK);
	fx_forget(fx_index, 2, NULL);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 1);
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S, gone, 4), 1);
	ck_assert_uint_eq(n_shards(), 1); /* the other shard still gives the neighbours of a, and there are none */
	ck_assert(offered(&fx_a, 5));
	fx_forget(fx_index, 1, NULL);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 1);
	ck_assert_uint_eq(sweep(gx_now + 3 * GX_GRACE_S, gone, 4), 1);
	ck_assert_uint_eq(n_shards(), 0);
	fx_xorb_put(fx_index, &fx_a);
	fx_xorb_put(fx_index, &fx_b);
	gx_put();
	ck_assert(gx_shard.added);
	ck_assert_uint_eq(n_shards(), 1);
	ck_assert(offered(&fx_b, 6));
}
END_TEST

START_TEST(promises)
{
	struct cairn_hash gone[4];
	ck_assert_int_eq(renew(&fx_a, gx_now + 2 * GX_GRACE_S), CAIRN_OK);
	ck_assert_int_eq(gx_row_of(&fx_a).at_unix_s, gx_now + 2 * GX_GRACE_S);
	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), 1); /* only b, because a was promised a moment ago */
	ck_assert(gx_row_of(&fx_b).retired && !gx_row_of(&fx_a).retired);
	/* A retired xorb that is renewed goes through both steps again, from now on. */
	ck_assert_int_eq(renew(&fx_b, gx_now + 3 * GX_GRACE_S - 1), CAIRN_OK);
	ck_assert(!gx_row_of(&fx_b).retired);
	ck_assert_uint_eq(sweep(gx_now + 9 * GX_GRACE_S, gone, 4), 0);
	ck_assert_uint_eq(mark(gx_now + 4 * GX_GRACE_S - 2), 1); /* only a, which was promised before b */
	ck_assert_uint_eq(mark(gx_now + 4 * GX_GRACE_S - 1), 1);
	ck_assert_uint_eq(sweep(gx_now + 5 * GX_GRACE_S - 2, gone, 4), 1);
	ck_assert_uint_eq(sweep(gx_now + 5 * GX_GRACE_S - 1, gone, 4), 1);
	ck_assert_int_eq(renew(&fx_b, gx_now), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(lost_and_found)
{
	gx_put();
	struct cairn_index_stats before, after;
	cairn_index_stats(fx_index, &before);
	ck_assert_int_eq(lose(&fx_a), CAIRN_OK);
	ck_assert_uint_eq(gx_row_of(&fx_a).stored_bytes, 0);
	ck_assert(!offered(&fx_a, 5));
	ck_assert(!gx_known());
	cairn_index_stats(fx_index, &after);
	ck_assert_uint_eq(before.stored_bytes - after.stored_bytes, fx_a.list.spans[19].end);
	ck_assert(fx_xorb_put(fx_index, &fx_a));
	ck_assert_uint_eq(gx_row_of(&fx_a).stored_bytes, fx_a.list.spans[19].end);
	gx_put();
	ck_assert(gx_shard.added);
	ck_assert(offered(&fx_a, 5));
	cairn_index_stats(fx_index, &after);
	ck_assert_uint_eq(before.stored_bytes, after.stored_bytes);
	struct fx_xorb nothing = fx_xorb_new(77, 3);
	ck_assert_int_eq(lose(&nothing), CAIRN_E_NOT_FOUND);
	fx_xorb_fini(&nothing);
}
END_TEST

/* A file that lost a xorb to damage is uploaded again in other xorbs. It then uses their terms, and is whole again. */
START_TEST(a_lost_file_comes_back_in_other_xorbs)
{
	gx_put();
	struct fx_xorb other = fx_xorb_new(78, 20);
	ck_assert(fx_xorb_put(fx_index, &other));
	struct fx_shard again;
	struct cairn_index_file got;
	for (int lost = 0; lost <= 1; lost++) {
		if (lost)
			ck_assert_int_eq(lose(&fx_a), CAIRN_OK);
		fx_shard_init(&again, 2 + (uint64_t)lost);
		fx_shard_xorb(&again, &other, 1, 7);
		fx_shard_file(&again, 1, &other, 0, 20);
		ck_assert_int_eq(fx_shard_put(fx_index, &again), CAIRN_OK);
		ck_assert_int_eq(cairn_index_file(fx_index, &again.files[0].file.hash, NULL, true, &got), CAIRN_OK);
		bool moved = got.terms[0].xorb_id == gx_row_of(&other).id;
		cairn_index_file_fini(&got);
		ck_assert_int_eq(moved, lost); /* terms that can still be read do not change */
	}
	ck_assert(again.added);
	ck_assert(gx_row_of(&other).referenced);
	ck_assert(!gx_row_of(&fx_a).referenced);
	fx_xorb_fini(&other);
}
END_TEST

static unsigned n_visited;

static void count_xorb(void *ctx, const struct cairn_index_xorb *xorb)
{
	struct cairn_hash *last = ctx;
	n_visited++;
	*last = xorb->hash;
}

static void count_file(void *ctx, const struct cairn_index_file *file)
{
	uint64_t *terms = ctx;
	n_visited++;
	*terms += file->n_terms;
	ck_assert(file->terms[0].end > 0);
}

/* Makes more rows of every kind than one page takes. */
START_TEST(many)
{
	enum { N = 1100 };
	static struct cairn_hash gone[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_hash last = {0};
	gx_put();
	for (uint64_t i = 0; i < N; i++) {
		struct fx_xorb x = fx_xorb_new(100 + i, 1);
		fx_xorb_put(fx_index, &x);
		last = x.hash;
		fx_xorb_fini(&x);
	}
	struct cairn_index_totals totals;
	ck_assert_int_eq(cairn_index_totals(fx_index, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_files, 2);
	ck_assert_uint_eq(totals.file_bytes, gx_shard.files[0].file.size_bytes + gx_shard.files[1].file.size_bytes);
	ck_assert_uint_eq(totals.n_unreferenced, N);
	ck_assert_uint_eq(totals.unreferenced_bytes, N * 500);
	ck_assert_uint_eq(totals.n_retired, 0);

	struct cairn_hash seen = {0};
	unsigned pages = 0;
	int64_t next = 0;
	do {
		ck_assert_int_eq(cairn_index_each_xorb(fx_index, next, 0, count_xorb, &seen, &next), CAIRN_OK);
		pages++;
	} while (next != 0);
	ck_assert_uint_eq(n_visited, N + 2);
	ck_assert_uint_eq(pages, 3);
	ck_assert(cairn_hash_equal(&seen, &last));
	uint64_t terms = 0;
	n_visited = 0;
	do {
		ck_assert_int_eq(cairn_index_each_file(fx_index, next, 1, true, count_file, &terms, &next), CAIRN_OK);
	} while (next != 0);
	ck_assert_uint_eq(n_visited, 2);
	ck_assert_uint_eq(terms, 2);

	ck_assert_uint_eq(mark(gx_now + 2 * GX_GRACE_S), N);
	ck_assert_int_eq(cairn_index_totals(fx_index, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_retired, N);
	ck_assert_uint_eq(totals.retired_bytes, N * 500);
	unsigned n = 0;
	for (unsigned round = 0; n < N && round < N; round++) {
		uint32_t swept = sweep(gx_now + 9 * GX_GRACE_S, gone, round == 0 ? 10 : CAIRN_INDEX_SWEEP_MAX);
		ck_assert_uint_ge(swept, 1);
		n += swept;
	}
	ck_assert_uint_eq(n, N);
	ck_assert_uint_eq(sweep(gx_now + 9 * GX_GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX), 0);
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	ck_assert_uint_eq(stats.n_xorbs, 2);
	ck_assert(fx_sees(fx_index, NULL, 1) && fx_sees(fx_index, NULL, 2));
}
END_TEST

static void tell_fault(void *ctx, const struct cairn_index_fault *fault)
{
	(void)ctx;
	ck_abort_msg("%s", fault->text);
}

static void assert_consistent(void)
{
	ck_assert_int_eq(cairn_index_examine(fx_index, tell_fault, NULL, NULL), CAIRN_OK);
}

enum { UPLOADERS = 4, UPLOADS = 60 };
static atomic_uint n_uploading;

/* Uploads until the shard is accepted, as a client does whose xorb was swept meanwhile. Forgets every third file. */
static void *upload(void *arg)
{
	uint64_t first = *(uint64_t *)arg;
	for (uint64_t i = first; i < first + UPLOADS; i++) {
		struct fx_xorb x = fx_xorb_new(i, 5);
		struct fx_shard shard;
		fx_shard_init(&shard, i);
		fx_shard_xorb(&shard, &x, 1, 1);
		fx_shard_file(&shard, i, &x, 0, 5);
		enum cairn_status status;
		do {
			fx_xorb_put(fx_index, &x);
			status = fx_shard_put(fx_index, &shard);
		} while (status == CAIRN_E_CONFLICT);
		ck_assert_int_eq(status, CAIRN_OK);
		if (i % 3 == 0)
			ck_assert(fx_forget(fx_index, i, NULL));
		fx_xorb_fini(&x);
	}
	atomic_fetch_sub(&n_uploading, 1);
	return NULL;
}

/* While a collector without grace time runs during uploads, no acknowledged file loses a xorb. */
START_TEST(uploads_beside_the_collector)
{
	pthread_t threads[UPLOADERS];
	uint64_t first[UPLOADERS];
	uint32_t n_swept = 0, n;
	static struct cairn_hash gone[CAIRN_INDEX_SWEEP_MAX];
	atomic_store(&n_uploading, UPLOADERS);
	for (unsigned i = 0; i < UPLOADERS; i++) {
		first[i] = 1000 * (i + 1);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, upload, &first[i]), 0);
	}
	while (atomic_load(&n_uploading) > 0) {
		mark(gx_now + 10 * GX_GRACE_S);
		n_swept += sweep(gx_now + 20 * GX_GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX);
	}
	for (unsigned i = 0; i < UPLOADERS; i++)
		pthread_join(threads[i], NULL);
	assert_consistent();
	for (unsigned i = 0; i < UPLOADERS; i++) {
		for (uint64_t number = first[i]; number < first[i] + UPLOADS; number++)
			ck_assert(fx_sees(fx_index, NULL, number) == (number % 3 != 0));
	}
	mark(gx_now + 10 * GX_GRACE_S);
	while ((n = sweep(gx_now + 20 * GX_GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX)) > 0)
		n_swept += n;
	ck_assert_uint_ge(n_swept, UPLOADERS * UPLOADS / 3);
	struct cairn_index_totals totals;
	ck_assert_int_eq(cairn_index_totals(fx_index, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_unreferenced, 0);
	assert_consistent();
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_gc_contract");
	TCase *t = tcase_create("gc");
	tcase_add_checked_fixture(t, gx_set_up, fx_tear_down);
	tcase_add_test(t, forgotten_with_the_last_owner);
	tcase_add_test(t, forgotten_and_uploaded_again);
	tcase_add_test(t, shared);
	tcase_add_test(t, retired_then_swept);
	tcase_add_test(t, uploads_between_mark_and_sweep);
	tcase_add_test(t, a_term_ends_retirement);
	tcase_add_test(t, uploads_after_the_sweep);
	tcase_add_test(t, described_and_retired);
	tcase_add_test(t, a_shard_goes_with_its_last_xorb);
	tcase_add_test(t, promises);
	tcase_add_test(t, lost_and_found);
	tcase_add_test(t, a_lost_file_comes_back_in_other_xorbs);
	tcase_add_test(t, a_file_forgotten_during_a_check_is_no_damage);
	tcase_add_test(t, many);
	tcase_add_test(t, uploads_beside_the_collector);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
