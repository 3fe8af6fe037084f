/* The cache of built answers: what it keeps and evicts, and that readers may keep reading an evicted answer. */
#include "cas/answer.h"
#include "cas/answer_cache.h"
#include "cas/stats.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct cairn_answer_cache *cache;

static void open_cache_for(uint64_t bytes_max, uint64_t answer_bytes_max)
{
	cache = cairn_answer_cache_new(bytes_max, answer_bytes_max);
	ck_assert_ptr_nonnull(cache);
}

static void open_cache(uint64_t bytes_max)
{
	open_cache_for(bytes_max, 1 << 20); /* with the default limit for the longest answer */
}

static void close_cache(void)
{
	cairn_answer_cache_free(cache);
	cache = NULL;
}

static struct cairn_hash chunk_of(unsigned i)
{
	struct cairn_hash h;
	cairn_hash_chunk(&h, &i, sizeof(i));
	return h;
}

/* Makes an answer of len bytes, all of them fill. */
static struct cairn_answer *answer_of(uint8_t fill, size_t len)
{
	uint8_t *bytes = malloc(len);
	ck_assert_ptr_nonnull(bytes);
	memset(bytes, fill, len);
	struct cairn_answer *a = cairn_answer_new(bytes, len);
	ck_assert_ptr_nonnull(a);
	return a;
}

static void put(const char *scope, unsigned i, int64_t made_unix_s, uint8_t fill, size_t len)
{
	struct cairn_hash chunk = chunk_of(i);
	struct cairn_answer *a = answer_of(fill, len);
	cairn_answer_cache_put(cache, cairn_answer_cache_generation(cache), scope, &chunk, made_unix_s, a);
	cairn_answer_unref(a);
}

/* Returns the fill byte of the cached answer; -1: it is not cached. */
static int got(const char *scope, unsigned i, int64_t made_unix_s)
{
	struct cairn_hash chunk = chunk_of(i);
	const struct cairn_answer *a = cairn_answer_cache_get(cache, scope, &chunk, made_unix_s);
	int fill = a ? a->bytes[0] : -1;
	cairn_answer_unref(a);
	return fill;
}

static struct cairn_cas_stats stats_now(void)
{
	struct cairn_cas_stats s = {0};
	cairn_answer_cache_stats(cache, &s);
	return s;
}

START_TEST(each_scope_has_its_own)
{
	put("", 1, 7, 'a', 10);
	put("alice", 1, 7, 'b', 10);
	put("", 2, 7, 'c', 10);
	ck_assert_int_eq(got("", 1, 7), 'a');
	ck_assert_int_eq(got("alice", 1, 7), 'b');
	ck_assert_int_eq(got("", 2, 7), 'c');
	ck_assert_int_eq(got("alice", 2, 7), -1);
	ck_assert_int_eq(got("bob", 1, 7), -1);
	struct cairn_cas_stats s = stats_now();
	ck_assert_uint_eq(s.cache_hits, 3);
	ck_assert_uint_eq(s.cache_misses, 2);
	ck_assert_uint_eq(s.cache_entries, 3);
}
END_TEST

START_TEST(another_epoch_ends_it)
{
	put("", 1, 7, 'a', 10);
	ck_assert_int_eq(got("", 1, 8), -1);
	ck_assert_int_eq(got("", 1, 7), -1); /* the answer was dropped, not just hidden */
	ck_assert_uint_eq(stats_now().cache_entries, 0);
	ck_assert_uint_eq(stats_now().cache_bytes, 0);
}
END_TEST

START_TEST(a_newer_answer_replaces)
{
	put("", 1, 7, 'a', 10);
	uint64_t bytes = stats_now().cache_bytes;
	put("", 1, 7, 'b', 30);
	ck_assert_int_eq(got("", 1, 7), 'b');
	ck_assert_uint_eq(stats_now().cache_entries, 1);
	ck_assert_uint_eq(stats_now().cache_bytes, bytes + 20);
}
END_TEST

START_TEST(the_list_of_offered_xorbs_is_counted)
{
	enum { N = 3 };
	put("", 1, 7, 'a', 10);
	uint64_t bytes = stats_now().cache_bytes;
	struct cairn_hash chunk = chunk_of(1);
	struct cairn_answer *a = answer_of('b', 10);
	a->xorbs = calloc(N, sizeof(a->xorbs[0]));
	a->n_xorbs = N;
	cairn_answer_cache_put(cache, cairn_answer_cache_generation(cache), "", &chunk, 7, a);
	cairn_answer_unref(a);
	ck_assert_uint_eq(stats_now().cache_bytes, bytes + N * sizeof(a->xorbs[0]));
	ck_assert_int_eq(got("", 1, 8), -1);
	ck_assert_uint_eq(stats_now().cache_bytes, 0);
}
END_TEST

START_TEST(the_least_recently_asked_for_goes_first)
{
	close_cache();
	open_cache(26600);
	for (unsigned i = 0; i < 8; i++)
		put("", i, 7, (uint8_t)i, 1700);
	ck_assert_uint_eq(stats_now().cache_entries, 8);
	ck_assert_int_eq(got("", 0, 7), 0); /* now the newest */
	put("", 8, 7, 8, 1700);
	ck_assert_int_eq(got("", 1, 7), -1);
	ck_assert_int_eq(got("", 0, 7), 0);
	for (unsigned i = 2; i <= 8; i++)
		ck_assert_int_eq(got("", i, 7), (int)i);
	ck_assert_uint_le(stats_now().cache_bytes, 26600);
}
END_TEST

START_TEST(a_quarter_is_the_largest)
{
	close_cache();
	open_cache(8000);
	put("", 1, 7, 'a', 2000);
	put("", 2, 7, 'b', 2001);
	ck_assert_int_eq(got("", 1, 7), 'a');
	ck_assert_int_eq(got("", 2, 7), -1);
}
END_TEST

/* A cache of the default size has parts. Each part has a share of the space and its own order of eviction. */
START_TEST(parts_share_the_room)
{
	enum { N = 4000, BYTES = 20000, ROOM = 64 << 20 };
	close_cache();
	open_cache(ROOM);
	for (unsigned i = 0; i < N; i++)
		put("", i, 7, (uint8_t)i, BYTES);
	ck_assert_uint_le(stats_now().cache_bytes, ROOM);
	ck_assert_uint_gt(stats_now().cache_bytes, ROOM - ROOM / 64); /* each part lacks less than one answer */
	for (unsigned i = N - 100; i < N; i++)
		ck_assert_int_eq(got("", i, 7), (uint8_t)i);
	ck_assert_uint_eq(stats_now().cache_hits, 100);
	put("", N, 7, 'a', 8192 * 48 + 1000); /* the answer for a xorb with the largest number of chunks */
	ck_assert_int_eq(got("", N, 7), 'a');
	cairn_answer_cache_clear(cache);
	ck_assert_uint_eq(stats_now().cache_bytes + stats_now().cache_entries, 0);
	for (unsigned i = 0; i <= N; i++)
		ck_assert_int_eq(got("", i, 7), -1);
}
END_TEST

/* The longest answers, those of shards with many chunks, are cached. Otherwise each query would build them again. */
START_TEST(the_longest_answer_is_kept)
{
	enum { ROOM = 64 << 20 };
	for (uint64_t longest = 1 << 20; longest <= ROOM / 4; longest *= 2) {
		close_cache();
		open_cache_for(ROOM, longest);
		put("", 1, 7, 'a', longest);
		ck_assert_int_eq(got("", 1, 7), 'a');
	}
}
END_TEST

START_TEST(no_room_keeps_nothing)
{
	close_cache();
	open_cache(0);
	put("", 1, 7, 'a', 1);
	ck_assert_int_eq(got("", 1, 7), -1);
	ck_assert_uint_eq(stats_now().cache_bytes, 0);
}
END_TEST

/* Many entries in few buckets: a chain stays whole when an entry in its middle is removed. */
START_TEST(chains_hold)
{
	close_cache();
	open_cache(960000);
	for (unsigned i = 0; i < 600; i++)
		put("", i, i % 2, (uint8_t)i, 20);
	for (unsigned i = 0; i < 600; i++)
		ck_assert_int_eq(got("", i, 0), i % 2 ? -1 : (uint8_t)i); /* the odd ones were dropped */
	for (unsigned i = 0; i < 600; i++)
		ck_assert_int_eq(got("", i, 0), i % 2 ? -1 : (uint8_t)i);
	ck_assert_uint_eq(stats_now().cache_entries, 300);
}
END_TEST

static int64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Looks up n cached chunks. @param alike  their first 24 bytes are the same @return processor time of each lookup */
static int64_t ask_for(unsigned n, bool alike)
{
	close_cache();
	open_cache(64 << 20);
	for (int pass = 0;; pass++) {
		int64_t start = thread_ns();
		for (unsigned i = 0; i < n; i++) {
			struct cairn_hash chunk = chunk_of(i);
			if (alike)
				memset(chunk.b, 7, 24);
			const struct cairn_answer *a = cairn_answer_cache_get(cache, "", &chunk, 1);
			ck_assert((a != NULL) == (pass > 0));
			cairn_answer_unref(a);
			struct cairn_answer *made = pass == 0 ? answer_of(1, 20) : NULL;
			if (made)
				cairn_answer_cache_put(cache, 0, "", &chunk, 1, made);
			cairn_answer_unref(made);
		}
		if (pass > 0)
			return (thread_ns() - start) / n;
	}
}

/* Uploaders who keep xorbs elsewhere choose their hashes, and can choose many that begin alike. */
START_TEST(chosen_hashes_are_as_fast_as_others)
{
	enum { N = 20000 };
	int64_t random_ns = ask_for(N, false), alike_ns = ask_for(N, true);
	ck_assert_msg(alike_ns < 5 * random_ns + 1000, "%lld ns against %lld ns", (long long)alike_ns,
		      (long long)random_ns);
}
END_TEST

START_TEST(clearing_refuses_an_answer_under_construction)
{
	struct cairn_hash chunk = chunk_of(1);
	uint64_t generation = cairn_answer_cache_generation(cache);
	put("", 2, 7, 'b', 10);
	cairn_answer_cache_clear(cache);
	ck_assert_uint_eq(stats_now().cache_entries, 0);
	ck_assert_uint_eq(stats_now().cache_bytes, 0);
	ck_assert_int_eq(got("", 2, 7), -1);
	struct cairn_answer *stale = answer_of('a', 10);
	cairn_answer_cache_put(cache, generation, "", &chunk, 7, stale);
	ck_assert_int_eq(got("", 1, 7), -1);
	cairn_answer_cache_put(cache, cairn_answer_cache_generation(cache), "", &chunk, 7, stale);
	ck_assert_int_eq(got("", 1, 7), 'a');
	cairn_answer_unref(stale);
}
END_TEST

START_TEST(an_answer_outlives_the_cache)
{
	struct cairn_hash chunk = chunk_of(1);
	put("", 1, 7, 'a', 10);
	const struct cairn_answer *a = cairn_answer_cache_get(cache, "", &chunk, 7);
	ck_assert_ptr_nonnull(a);
	close_cache();
	ck_assert_uint_eq(a->len, 10);
	ck_assert_int_eq(a->bytes[9], 'a');
	cairn_answer_unref(a);
	cairn_answer_unref(NULL);
	cairn_answer_cache_free(NULL);
}
END_TEST

struct counted_kept {
	struct cairn_answer_kept kept;
	unsigned *n_freed;
};

static void free_counted(struct cairn_answer_kept *kept)
{
	++*((struct counted_kept *)kept)->n_freed;
}

START_TEST(kept_data_is_freed_with_its_answer)
{
	unsigned n_freed[2] = {0};
	struct counted_kept first = {{free_counted}, &n_freed[0]}, second = {{free_counted}, &n_freed[1]};
	struct cairn_hash chunk = chunk_of(1);
	put("", 1, 7, 'a', 10);
	const struct cairn_answer *a = cairn_answer_cache_get(cache, "", &chunk, 7);
	ck_assert_ptr_null(cairn_answer_kept(a));
	ck_assert_ptr_eq(cairn_answer_keep(a, &first.kept), &first.kept);
	ck_assert_ptr_eq(cairn_answer_keep(a, &second.kept), &first.kept); /* the first one is returned */
	ck_assert_uint_eq(n_freed[1], 1);
	ck_assert_ptr_eq(cairn_answer_kept(a), &first.kept);
	cairn_answer_cache_clear(cache);
	ck_assert_uint_eq(n_freed[0], 0); /* a reader still holds it */
	cairn_answer_unref(a);
	ck_assert_uint_eq(n_freed[0], 1);
}
END_TEST

static void *hammer(void *arg)
{
	uint64_t random = (uintptr_t)arg;
	for (unsigned n = 0; n < 3000; n++) {
		uint64_t r = vec_splitmix64(&random);
		unsigned i = (unsigned)(r >> 8) % 40;
		const char *scope = r & 1 ? "" : "alice";
		if (r % 1000 == 0) {
			cairn_answer_cache_clear(cache);
		} else if (r % 3 == 0) {
			put(scope, i, 7, (uint8_t)i, 50 + r % 900);
		} else {
			int fill = got(scope, i, 7 + (r % 50 == 0));
			ck_assert(fill == -1 || fill == (int)i);
		}
	}
	return NULL;
}

static void hammer_by_many(uint64_t room)
{
	enum { N = 8 };
	pthread_t threads[N];
	close_cache();
	open_cache(room);
	for (uintptr_t i = 0; i < N; i++)
		/* NOLINT: the number is a seed */
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_le(stats_now().cache_bytes, room);
	ck_assert_uint_gt(stats_now().cache_hits, 0);
	cairn_answer_cache_clear(cache);
	ck_assert_uint_eq(stats_now().cache_bytes + stats_now().cache_entries, 0);
}

START_TEST(many_threads)
{
	hammer_by_many(9000);
	hammer_by_many(64 << 20);
}
END_TEST

static void setup(void)
{
	open_cache(1 << 20);
}

static Suite *answer_cache_suite(void)
{
	Suite *s = suite_create("answer_cache");
	TCase *t = tcase_create("answer_cache");
	tcase_add_checked_fixture(t, setup, close_cache);
	tcase_add_test(t, each_scope_has_its_own);
	tcase_add_test(t, another_epoch_ends_it);
	tcase_add_test(t, a_newer_answer_replaces);
	tcase_add_test(t, the_list_of_offered_xorbs_is_counted);
	tcase_add_test(t, the_least_recently_asked_for_goes_first);
	tcase_add_test(t, a_quarter_is_the_largest);
	tcase_add_test(t, parts_share_the_room);
	tcase_add_test(t, the_longest_answer_is_kept);
	tcase_add_test(t, no_room_keeps_nothing);
	tcase_add_test(t, chains_hold);
	tcase_add_test(t, chosen_hashes_are_as_fast_as_others);
	tcase_add_test(t, clearing_refuses_an_answer_under_construction);
	tcase_add_test(t, an_answer_outlives_the_cache);
	tcase_add_test(t, kept_data_is_freed_with_its_answer);
	tcase_add_test(t, many_threads);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(answer_cache_suite());
}
