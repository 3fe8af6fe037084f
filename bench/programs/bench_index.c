/* The index by itself: chunk queries a second on one thread, shards a second and shards a sync with many uploaders.
 *     bench_index DIR [UPLOADERS [SECONDS [SYNC_MS]]]
 * SYNC_MS: make each fdatasync last at least so long, as on a slower disk. */
#include "base/bytes.h"
#include "index/index.h"
#include "synthetic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS = 1000, FILES = 10, ELIGIBLE = 2, UPLOADERS_MAX = 256 };

static atomic_ullong n_syncs, n_shards, n_failed;
static atomic_bool stopping;
static double sync_least_s;
static struct cairn_index *ix;

static double bench_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In place of the C library's, for this program and the SQLite in it. */
int fdatasync(int fd)
{
	double start = bench_now_s();
	int rc = (int)syscall(SYS_fdatasync, fd);
	double left = sync_least_s - (bench_now_s() - start);
	atomic_fetch_add(&n_syncs, 1);
	if (left > 0)
		nanosleep(&(struct timespec){0, (long)(left * 1e9)}, NULL);
	return rc;
}

struct bench_shard {
	uint64_t number;
	struct cairn_hash xorb;
	bool told_xorb;
	unsigned files;
	struct cairn_index_eligible eligible[ELIGIBLE];
	struct cairn_chunk_list list;
};

static enum cairn_status bench_rewind(void *ctx)
{
	struct bench_shard *s = ctx;
	s->told_xorb = false;
	s->files = 0;
	return CAIRN_OK;
}

static enum cairn_status bench_next_xorb(void *ctx, struct cairn_index_described *out, bool *more)
{
	struct bench_shard *s = ctx;
	*more = !s->told_xorb;
	s->told_xorb = true;
	*out = (struct cairn_index_described){.hash = s->xorb, .eligible = s->eligible, .n_eligible = ELIGIBLE};
	return CAIRN_OK;
}

static enum cairn_status bench_next_file(void *ctx, struct cairn_index_new_file *out, bool *more)
{
	struct bench_shard *s = ctx;
	*more = s->files < FILES;
	*out = (struct cairn_index_new_file){.hash = synthetic_hash(2, s->number * FILES + s->files),
					     .size_bytes = 65536,
					     .has_sha256 = true,
					     .n_terms = 1,
					     .first_chunk = cairn_get_u64le(s->list.hashes[s->files].b)};
	struct cairn_hash sha256 = synthetic_hash(3, s->number * FILES + s->files);
	memcpy(out->sha256, sha256.b, sizeof(out->sha256));
	s->files++;
	return CAIRN_OK;
}

static void bench_term(void *ctx, uint32_t i, struct cairn_index_new_term *out)
{
	struct bench_shard *s = ctx;
	(void)i;
	*out = (struct cairn_index_new_term){s->xorb, s->files, s->files + 1, 65536};
}

static void bench_make(struct bench_shard *s, uint64_t number)
{
	s->number = number;
	s->xorb = synthetic_hash(1, number);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		s->list.hashes[i] = synthetic_hash(4, number * CHUNKS + i);
		s->list.spans[i] = (struct cairn_span){65536, (i + 1) * 40000};
	}
	for (uint32_t i = 0; i < ELIGIBLE; i++)
		s->eligible[i] = (struct cairn_index_eligible){s->list.hashes[500 * i], 500 * i};
}

static void *bench_upload(void *arg)
{
	uint64_t number = *(const uint64_t *)arg << 32;
	struct bench_shard s = {0};
	for (uint32_t i = 0; i < CHUNKS; i++) {
		if (cairn_chunk_list_add(&s.list, &s.xorb, (struct cairn_span){0}) != CAIRN_OK)
			abort();
	}
	while (!atomic_load(&stopping)) {
		bench_make(&s, number++);
		struct cairn_index_write xorb = {.kind = CAIRN_INDEX_PUT_XORB,
						 .xorb = {s.xorb, &s.list, CHUNKS * 40000}};
		struct cairn_index_write shard = {
			.kind = CAIRN_INDEX_PUT_SHARD,
			.shard = {synthetic_hash(5, s.number),
				  "",
				  "",
				  {&s, bench_rewind, bench_next_xorb, bench_next_file, bench_term},
				  CHUNKS * 48},
		};
		if (cairn_index_write(ix, &xorb) != CAIRN_OK || cairn_index_write(ix, &shard) != CAIRN_OK)
			atomic_fetch_add(&n_failed, 1);
		atomic_fetch_add(&n_shards, 1);
	}
	cairn_chunk_list_fini(&s.list);
	return NULL;
}

static bool bench_hear(void *ctx, const struct cairn_index_dedupe_xorb *xorb)
{
	*(uint64_t *)ctx += xorb->list->n;
	return false;
}

/* @param uploader  whose chunks are asked for; at least n_known of its shards are there; none: misses */
static void bench_query(const char *what, uint64_t n_known, double seconds)
{
	uint64_t n = 0, heard = 0;
	double start = bench_now_s();
	while (bench_now_s() - start < seconds) {
		for (unsigned i = 0; i < 200; i++, n++) {
			uint64_t number = n_known ? synthetic_mix(n) % n_known : n;
			struct cairn_hash chunk = synthetic_hash(n_known ? 4 : 6, number * CHUNKS);
			enum cairn_status status = CAIRN_E_NOT_FOUND;
			if (cairn_index_may_dedupe(ix, "", &chunk))
				status = cairn_index_dedupe(ix, "", &chunk, bench_hear, &heard);
			if (status != (n_known ? CAIRN_OK : CAIRN_E_NOT_FOUND))
				atomic_fetch_add(&n_failed, 1);
		}
	}
	printf("%-32s %10.0f/s  (%.1f us)\n", what, (double)n / (bench_now_s() - start),
	       1e6 * (bench_now_s() - start) / (double)n);
}

static void bench_uploads(unsigned uploaders, double seconds)
{
	pthread_t threads[UPLOADERS_MAX];
	uint64_t numbers[UPLOADERS_MAX];
	struct cairn_index_stats stats;
	atomic_store(&n_syncs, 0);
	double start = bench_now_s();
	for (unsigned i = 0; i < uploaders; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, bench_upload, &numbers[i]) != 0)
			abort();
	}
	nanosleep(&(struct timespec){(time_t)seconds, 0}, NULL);
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < uploaders; i++)
		pthread_join(threads[i], NULL);
	double took = bench_now_s() - start;
	double shards = (double)atomic_load(&n_shards), syncs = (double)atomic_load(&n_syncs);
	cairn_index_stats(ix, &stats);
	printf("%u uploaders: %.0f shards/s (each with its xorb), %.0f syncs/s, %.2f shards a sync, %.2f writes a "
	       "commit\n",
	       uploaders, shards / took, syncs / took, shards / syncs,
	       (double)stats.n_writes / (double)stats.n_commits);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_index DIR [UPLOADERS [SECONDS [SYNC_MS]]]\n");
		return 64;
	}
	unsigned uploaders = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 32;
	double seconds = argc > 3 ? strtod(argv[3], NULL) : 5;
	sync_least_s = argc > 4 ? strtod(argv[4], NULL) / 1e3 : 0;
	struct cairn_diag diag = {0};
	if (uploaders == 0 || uploaders > UPLOADERS_MAX || cairn_index_open(&ix, argv[1], NULL, &diag) != CAIRN_OK) {
		fprintf(stderr, "bench_index: %s\n", diag.rule ? diag.text : "1 to 256 uploaders");
		return 1;
	}
	bench_uploads(uploaders, seconds);
	bench_query("misses, one thread", 0, seconds / 2);
	bench_query("hits (1,000 chunks), one thread", 100, seconds / 2);
	printf("failed: %llu\n", atomic_load(&n_failed));
	cairn_index_free(ix);
	return atomic_load(&n_failed) ? 1 : 0;
}
