/* Files that are forgotten and shared; xorbs that are retired, swept, renewed and lost, with uploads in between. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include "base/clock.h"
#include "index/examine.h"
#include "index/needs.h"
#include "index/operate.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { GRACE_S = 1000 };

static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb a, b;
static struct fx_shard s; /* describes a and b; file 1 of a's chunks, file 2 of b's */
static int64_t now;

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	a = fx_xorb_new(1, 20);
	b = fx_xorb_new(2, 30);
	fx_xorb_put(ix, &a);
	fx_xorb_put(ix, &b);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	fx_shard_xorb(&s, &b, 1, 6);
	fx_shard_file(&s, 1, &a, 0, 20);
	fx_shard_file(&s, 2, &b, 0, 30);
	now = cairn_clock_unix_s();
}

static void tear_down(void)
{
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static void put(void)
{
	enum cairn_status status = fx_shard_put(ix, &s);
	ck_assert_msg(status == CAIRN_OK, "%s", s.diag.text);
}

static enum cairn_status share(uint64_t file, const char *owner, bool *added)
{
	struct cairn_index_share_file request = {.hash = fx_hash("file", file), .owner = owner};
	enum cairn_status status = cairn_index_share_file(ix, &request);
	*added = status == CAIRN_OK && request.shared;
	return status;
}

/* @return how many were retired */
static uint32_t mark(int64_t at_s)
{
	uint32_t n = 0;
	struct cairn_index_gc_mark request = {.next_id = 0};
	do {
		int64_t from = request.next_id;
		request.now_unix_s = at_s;
		request.grace_s = GRACE_S;
		request.from_id = from;
		ck_assert_int_eq(cairn_index_gc_mark(ix, &request), CAIRN_OK);
		ck_assert(request.next_id == 0 || request.next_id > from);
		n += request.n_retired;
	} while (request.next_id != 0);
	return n;
}

/* @return how many were swept; their hashes in out */
static uint32_t sweep(int64_t at_s, struct cairn_hash *out, uint32_t n_max)
{
	struct cairn_index_gc_sweep request = {.n = 0};
	uint32_t n = 0;
	do { /* its milliseconds may be over after any xorb */
		request.now_unix_s = at_s;
		request.grace_s = GRACE_S;
		request.swept = out + n;
		request.n_max = n_max - n;
		ck_assert_int_eq(cairn_index_gc_sweep(ix, &request), CAIRN_OK);
		n += request.n;
	} while (request.more && request.n > 0 && n < n_max);
	ck_assert(request.more || n < n_max);
	return n;
}

static enum cairn_status renew(const struct fx_xorb *x, int64_t at_s)
{
	struct cairn_index_renew_xorb request = {.hash = x->hash, .now_unix_s = at_s};
	return cairn_index_renew_xorb(ix, &request);
}

static enum cairn_status lose(const struct fx_xorb *x)
{
	struct cairn_index_lose_xorb request = {.hash = x->hash};
	return cairn_index_lose_xorb(ix, &request);
}

static struct cairn_index_xorb row_of(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x->hash, &row), CAIRN_OK);
	return row;
}

static bool offered(const struct fx_xorb *x, uint32_t place)
{
	struct fx_answer answer = {0};
	enum cairn_status status = fx_query(ix, "", &x->list.hashes[place], &answer);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

static bool known(void)
{
	bool yes;
	struct cairn_index_registered registered;
	ck_assert_int_eq(fx_shard_known(ix, &s.body, s.scope, s.owner, &yes, &registered), CAIRN_OK);
	return yes;
}

static bool agree(void)
{
	bool yes;
	ck_assert_int_eq(cairn_index_needs_agree(ix, &yes), CAIRN_OK);
	return yes;
}

/* A file that is forgotten after it was asked what it needs is no damage. */
START_TEST(a_witness_that_left)
{
	CLEANUP(cairn_index_needs_freep) struct cairn_index_needs *needs = NULL;
	put();
	ck_assert_int_eq(cairn_index_needs_new(&needs, ix, NULL, NULL, NULL), CAIRN_OK);
	ck_assert(fx_forget(ix, 1, NULL));
	struct cairn_index_gc_mark request = {.needs = needs, .now_unix_s = now + GRACE_S + 1, .grace_s = GRACE_S};
	ck_assert_int_eq(cairn_index_gc_mark(ix, &request), CAIRN_OK);
	ck_assert_uint_eq(request.n_doubted, 1);
	ck_assert(agree());
}
END_TEST

START_TEST(forgotten_with_the_last_owner)
{
	s.owner = "model/me/one";
	put();
	s.owner = "model/me/two";
	put();
	ck_assert(!fx_forget(ix, 1, "model/me/three"));
	ck_assert(!fx_forget(ix, 1, ""));
	ck_assert(!fx_forget(ix, 99, NULL));
	ck_assert(known());
	ck_assert(fx_forget(ix, 1, "model/me/one"));
	ck_assert(!fx_forget(ix, 1, "model/me/one"));
	ck_assert(!fx_sees(ix, "model/me/one", 1));
	ck_assert(fx_sees(ix, "model/me/two", 1));
	ck_assert(row_of(&a).referenced);
	ck_assert(fx_forget(ix, 1, "model/me/two"));
	ck_assert(!fx_sees(ix, NULL, 1));
	ck_assert(!row_of(&a).referenced);
	ck_assert(row_of(&b).referenced);
	ck_assert(fx_forget(ix, 2, NULL)); /* from all at once */
	ck_assert(!fx_sees(ix, NULL, 2));
	ck_assert(!row_of(&b).referenced);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files, 0);
	ck_assert_uint_eq(stats.n_xorbs, 2);
}
END_TEST

/* The trap: "known already" for an upload whose file was forgotten would store it nowhere. */
START_TEST(forgotten_and_uploaded_again)
{
	put();
	ck_assert(known());
	ck_assert(fx_forget(ix, 1, NULL));
	ck_assert(!known());
	put();
	ck_assert(s.added);
	ck_assert(fx_sees(ix, NULL, 1));
	ck_assert(known());
	put();
	ck_assert(!s.added);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_shards, 1);
	ck_assert_uint_eq(stats.n_files, 2);
}
END_TEST

START_TEST(shared)
{
	bool added;
	s.owner = "model/me/one";
	put();
	ck_assert_int_eq(share(99, "", &added), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(share(1, "model/me/two", &added), CAIRN_OK);
	ck_assert(added);
	ck_assert_int_eq(share(1, "model/me/two", &added), CAIRN_OK);
	ck_assert(!added);
	ck_assert(fx_sees(ix, "model/me/two", 1));
	ck_assert(!fx_sees(ix, "model/me/three", 1));
	ck_assert(!fx_sees(ix, "model/me/two", 2));
	ck_assert_int_eq(share(1, "", &added), CAIRN_OK);
	ck_assert(fx_sees(ix, "model/me/three", 1));
	ck_assert(fx_forget(ix, 1, ""));
	ck_assert(!fx_sees(ix, "model/me/three", 1));
	ck_assert(fx_sees(ix, "model/me/two", 1));
}
END_TEST

START_TEST(retired_then_swept)
{
	struct cairn_hash gone[4];
	put();
	ck_assert_uint_eq(mark(now + 10 * GRACE_S), 0); /* all are needed */
	fx_forget(ix, 1, NULL);
	ck_assert_uint_eq(mark(now + GRACE_S - 60), 0); /* too new */
	ck_assert(offered(&a, 5));
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 1);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 0); /* once */
	ck_assert(row_of(&a).retired);
	ck_assert(!row_of(&b).retired);
	ck_assert(!offered(&a, 5)); /* not by itself, nor as a neighbour */
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(ix, "", &b.list.hashes[6], &answer), CAIRN_OK);
	ck_assert_uint_eq(answer.n, 1);
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S - 1, gone, 4), 0); /* the grace time */
	struct cairn_index_stats before, after;
	cairn_index_stats(ix, &before);
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S, gone, 4), 1);
	ck_assert(cairn_hash_equal(&gone[0], &a.hash));
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S, gone, 4), 0);
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_xorbs, 1);
	ck_assert_uint_eq(before.stored_bytes - after.stored_bytes, a.list.spans[19].end);
	struct cairn_index_xorb row;
	struct cairn_chunk_list list;
	ck_assert_int_eq(cairn_index_xorb(ix, &a.hash, &row), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_chunk_list(ix, &a.hash, &list), CAIRN_E_NOT_FOUND);
	ck_assert(fx_sees(ix, NULL, 2));
}
END_TEST

START_TEST(uploads_between_mark_and_sweep)
{
	struct cairn_hash gone[4];
	put();
	fx_forget(ix, 1, NULL);
	fx_forget(ix, 2, NULL);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 2);
	/* A shard that names one keeps it, and offers it again; the bytes of the other arriving keep that. */
	struct fx_shard second;
	fx_shard_init(&second, 2);
	fx_shard_xorb(&second, &a, 1, 5);
	fx_shard_file(&second, 3, &a, 0, 20);
	ck_assert_int_eq(fx_shard_put(ix, &second), CAIRN_OK);
	ck_assert(second.added);
	ck_assert(!row_of(&a).retired);
	ck_assert(offered(&a, 5));
	ck_assert(!fx_xorb_put(ix, &b));
	ck_assert(!row_of(&b).retired);
	ck_assert_uint_eq(sweep(now + 9 * GRACE_S, gone, 4), 0);
	ck_assert(fx_sees(ix, NULL, 3));
	/* The other still is needed by none, so it goes when its time has come again. */
	ck_assert_uint_eq(mark(now + 10 * GRACE_S), 1);
	ck_assert_uint_eq(sweep(now + 11 * GRACE_S, gone, 4), 1);
	ck_assert(cairn_hash_equal(&gone[0], &b.hash));
}
END_TEST

/* A term alone names it, as after a dedupe answer: no description. */
START_TEST(a_term_ends_retirement)
{
	struct cairn_hash gone[4];
	put();
	fx_forget(ix, 1, NULL);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 1);
	struct fx_shard second;
	fx_shard_init(&second, 2);
	fx_shard_term(fx_shard_file(&second, 3, &b, 1, 2), &a, 4, 9);
	ck_assert_int_eq(fx_shard_put(ix, &second), CAIRN_OK);
	ck_assert(!row_of(&a).retired);
	ck_assert(row_of(&a).referenced);
	ck_assert_uint_eq(sweep(now + 9 * GRACE_S, gone, 4), 0);
}
END_TEST

START_TEST(uploads_after_the_sweep)
{
	struct cairn_hash gone[4];
	put();
	fx_forget(ix, 1, NULL);
	mark(now + 2 * GRACE_S);
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S, gone, 4), 1);
	/* Verified before it, committed after it: a clear answer, and nothing half-registered. */
	ck_assert(!known());
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.gone");
	ck_assert(!fx_sees(ix, NULL, 1));
	ck_assert(fx_xorb_put(ix, &a));
	put();
	ck_assert(s.added);
	ck_assert(fx_sees(ix, NULL, 1));
	ck_assert(offered(&a, 5));
	ck_assert_uint_eq(sweep(now + 9 * GRACE_S, gone, 4), 0);
}
END_TEST

/* It described xorbs and no file, so that nothing but the collection tells that it is not known any more. */
START_TEST(described_and_retired)
{
	s.n_files = 0;
	put();
	ck_assert_uint_eq(mark(now), 0);
	ck_assert(known());
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 2);
	ck_assert(!known()); /* they are not offered any more: sent again, it has to see to that */
	put();
	ck_assert(known() && offered(&a, 5) && !row_of(&b).retired);
}
END_TEST

static uint64_t n_shards(void)
{
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	return stats.n_shards;
}

START_TEST(a_shard_goes_with_its_last_xorb)
{
	struct cairn_hash gone[4];
	struct fx_shard more;
	put();
	fx_shard_init(&more, 2);
	fx_shard_xorb(&more, &b, 1, 7);
	ck_assert_int_eq(fx_shard_put(ix, &more), CAIRN_OK);
	fx_forget(ix, 2, NULL);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 1);
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S, gone, 4), 1);
	ck_assert_uint_eq(n_shards(), 1); /* the other one still lends a's neighbours, of which there are none */
	ck_assert(offered(&a, 5));
	fx_forget(ix, 1, NULL);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 1);
	ck_assert_uint_eq(sweep(now + 3 * GRACE_S, gone, 4), 1);
	ck_assert_uint_eq(n_shards(), 0);
	fx_xorb_put(ix, &a);
	fx_xorb_put(ix, &b);
	put();
	ck_assert(s.added);
	ck_assert_uint_eq(n_shards(), 1);
	ck_assert(offered(&b, 6));
}
END_TEST

START_TEST(promises)
{
	struct cairn_hash gone[4];
	ck_assert_int_eq(renew(&a, now + 2 * GRACE_S), CAIRN_OK);
	ck_assert_int_eq(row_of(&a).at_unix_s, now + 2 * GRACE_S);
	ck_assert_uint_eq(mark(now + 2 * GRACE_S), 1); /* b alone: a was promised just now */
	ck_assert(row_of(&b).retired && !row_of(&a).retired);
	/* A retired one that is promised goes through both steps again, from now. */
	ck_assert_int_eq(renew(&b, now + 3 * GRACE_S - 1), CAIRN_OK);
	ck_assert(!row_of(&b).retired);
	ck_assert_uint_eq(sweep(now + 9 * GRACE_S, gone, 4), 0);
	ck_assert_uint_eq(mark(now + 4 * GRACE_S - 2), 1); /* a alone, which was promised before it */
	ck_assert_uint_eq(mark(now + 4 * GRACE_S - 1), 1);
	ck_assert_uint_eq(sweep(now + 5 * GRACE_S - 2, gone, 4), 1);
	ck_assert_uint_eq(sweep(now + 5 * GRACE_S - 1, gone, 4), 1);
	ck_assert_int_eq(renew(&b, now), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(lost_and_found)
{
	put();
	struct cairn_index_stats before, after;
	cairn_index_stats(ix, &before);
	ck_assert_int_eq(lose(&a), CAIRN_OK);
	ck_assert_uint_eq(row_of(&a).stored_bytes, 0);
	ck_assert(!offered(&a, 5));
	ck_assert(!known());
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(before.stored_bytes - after.stored_bytes, a.list.spans[19].end);
	ck_assert(fx_xorb_put(ix, &a));
	ck_assert_uint_eq(row_of(&a).stored_bytes, a.list.spans[19].end);
	put();
	ck_assert(s.added);
	ck_assert(offered(&a, 5));
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(before.stored_bytes, after.stored_bytes);
	struct fx_xorb nothing = fx_xorb_new(77, 3);
	ck_assert_int_eq(lose(&nothing), CAIRN_E_NOT_FOUND);
	fx_xorb_fini(&nothing);
}
END_TEST

/* Damage took a xorb of a file, and the same file comes again in other xorbs: it takes their terms, and is whole. */
START_TEST(a_lost_file_comes_back_in_other_xorbs)
{
	put();
	struct fx_xorb other = fx_xorb_new(78, 20);
	ck_assert(fx_xorb_put(ix, &other));
	struct fx_shard again;
	struct cairn_index_file got;
	for (int lost = 0; lost <= 1; lost++) {
		if (lost)
			ck_assert_int_eq(lose(&a), CAIRN_OK);
		fx_shard_init(&again, 2 + (uint64_t)lost);
		fx_shard_xorb(&again, &other, 1, 7);
		fx_shard_file(&again, 1, &other, 0, 20);
		ck_assert_int_eq(fx_shard_put(ix, &again), CAIRN_OK);
		ck_assert_int_eq(cairn_index_file(ix, &again.files[0].file.hash, NULL, true, &got), CAIRN_OK);
		bool moved = got.terms[0].xorb_id == row_of(&other).id;
		cairn_index_file_fini(&got);
		ck_assert_int_eq(moved, lost); /* what can be read stays as it is */
	}
	ck_assert(again.added);
	ck_assert(row_of(&other).referenced);
	ck_assert(!row_of(&a).referenced);
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

/* More than one page of everything. */
START_TEST(many)
{
	enum { N = 1100 };
	static struct cairn_hash gone[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_hash last = {0};
	put();
	for (uint64_t i = 0; i < N; i++) {
		struct fx_xorb x = fx_xorb_new(100 + i, 1);
		fx_xorb_put(ix, &x);
		last = x.hash;
		fx_xorb_fini(&x);
	}
	struct cairn_index_totals totals;
	ck_assert_int_eq(cairn_index_totals(ix, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_files, 2);
	ck_assert_uint_eq(totals.file_bytes, s.files[0].file.size_bytes + s.files[1].file.size_bytes);
	ck_assert_uint_eq(totals.n_unreferenced, N);
	ck_assert_uint_eq(totals.unreferenced_bytes, N * 500);
	ck_assert_uint_eq(totals.n_retired, 0);

	struct cairn_hash seen = {0};
	unsigned pages = 0;
	int64_t next = 0;
	do {
		ck_assert_int_eq(cairn_index_each_xorb(ix, next, 0, count_xorb, &seen, &next), CAIRN_OK);
		pages++;
	} while (next != 0);
	ck_assert_uint_eq(n_visited, N + 2);
	ck_assert_uint_eq(pages, 3);
	ck_assert(cairn_hash_equal(&seen, &last));
	uint64_t terms = 0;
	n_visited = 0;
	do {
		ck_assert_int_eq(cairn_index_each_file(ix, next, 1, true, count_file, &terms, &next), CAIRN_OK);
	} while (next != 0);
	ck_assert_uint_eq(n_visited, 2);
	ck_assert_uint_eq(terms, 2);

	ck_assert_uint_eq(mark(now + 2 * GRACE_S), N);
	ck_assert_int_eq(cairn_index_totals(ix, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_retired, N);
	ck_assert_uint_eq(totals.retired_bytes, N * 500);
	unsigned n = 0;
	for (unsigned round = 0; n < N && round < N; round++) {
		uint32_t swept = sweep(now + 9 * GRACE_S, gone, round == 0 ? 10 : CAIRN_INDEX_SWEEP_MAX);
		ck_assert_uint_ge(swept, 1);
		n += swept;
	}
	ck_assert_uint_eq(n, N);
	ck_assert_uint_eq(sweep(now + 9 * GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX), 0);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_xorbs, 2);
	ck_assert(fx_sees(ix, NULL, 1) && fx_sees(ix, NULL, 2));
}
END_TEST

static void tell_fault(void *ctx, const struct cairn_index_fault *fault)
{
	(void)ctx;
	ck_abort_msg("%s", fault->text);
}

static void assert_consistent(void)
{
	ck_assert_int_eq(cairn_index_examine(ix, tell_fault, NULL, NULL), CAIRN_OK);
}

enum { UPLOADERS = 4, UPLOADS = 60 };
static atomic_uint n_uploading;

/* Uploads until it is accepted, as a client does whose xorb is swept from under it; forgets every third file. */
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
			fx_xorb_put(ix, &x);
			status = fx_shard_put(ix, &shard);
		} while (status == CAIRN_E_CONFLICT);
		ck_assert_int_eq(status, CAIRN_OK);
		if (i % 3 == 0)
			ck_assert(fx_forget(ix, i, NULL));
		fx_xorb_fini(&x);
	}
	atomic_fetch_sub(&n_uploading, 1);
	return NULL;
}

/* A collector without any grace beside uploads: no acknowledged file loses a xorb. */
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
		mark(now + 10 * GRACE_S);
		n_swept += sweep(now + 20 * GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX);
	}
	for (unsigned i = 0; i < UPLOADERS; i++)
		pthread_join(threads[i], NULL);
	assert_consistent();
	for (unsigned i = 0; i < UPLOADERS; i++) {
		for (uint64_t number = first[i]; number < first[i] + UPLOADS; number++)
			ck_assert(fx_sees(ix, NULL, number) == (number % 3 != 0));
	}
	mark(now + 10 * GRACE_S);
	while ((n = sweep(now + 20 * GRACE_S, gone, CAIRN_INDEX_SWEEP_MAX)) > 0)
		n_swept += n;
	ck_assert_uint_ge(n_swept, UPLOADERS * UPLOADS / 3);
	struct cairn_index_totals totals;
	ck_assert_int_eq(cairn_index_totals(ix, &totals), CAIRN_OK);
	ck_assert_uint_eq(totals.n_unreferenced, 0);
	assert_consistent();
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_gc_contract");
	TCase *t = tcase_create("gc");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
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
	tcase_add_test(t, a_witness_that_left);
	tcase_add_test(t, many);
	tcase_add_test(t, uploads_beside_the_collector);
	suite_add_tcase(suite, t);
	SRunner *r = srunner_create(suite);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
