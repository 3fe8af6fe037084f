/* The index alone: chunk queries a second on one thread; with many uploaders, shards a second and shards a sync.
 *     bench_index DIR [UPLOADERS [SECONDS [SYNC_MS]]]
 * SYNC_MS makes each fdatasync last at least that long, as on a slower disk. */
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

/* Replaces the C library's function, for this program and for SQLite in it. */
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
	struct cairn_chunk_list list;
	struct cairn_index_new_xorb described;
	struct cairn_index_eligible eligible[ELIGIBLE];
	struct cairn_index_new_file files[FILES];
	struct cairn_index_new_term terms[FILES];
};

static void bench_make_files(struct bench_shard *s)
{
	for (uint32_t i = 0; i < FILES; i++) {
		struct cairn_hash sha256 = synthetic_hash(3, s->number * FILES + i);
		s->files[i] = (struct cairn_index_new_file){.hash = synthetic_hash(2, s->number * FILES + i),
							    .size_bytes = 65536,
							    .has_sha256 = true,
							    .n_terms = 1,
							    .first_chunk = cairn_get_u64le(s->list.hashes[i + 1].b)};
		memcpy(s->files[i].sha256, sha256.b, sizeof(s->files[i].sha256));
		s->terms[i] = (struct cairn_index_new_term){.unpacked_bytes = 65536,
							    .first_byte = s->list.spans[i].end,
							    .end_byte = s->list.spans[i + 1].end,
							    .start = i + 1,
							    .end = i + 2};
	}
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
		s->eligible[i] = (struct cairn_index_eligible){cairn_get_u64le(s->list.hashes[500 * i].b), 500 * i};
	s->described = (struct cairn_index_new_xorb){.hash = s->xorb, .n_eligible = ELIGIBLE};
	bench_make_files(s);
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
		struct cairn_index_put_xorb xorb = {
			.hash = s.xorb, .list = &s.list, .stored_bytes = (uint64_t)CHUNKS * 40000};
		const struct cairn_index_new_shard records = {
			.xorbs = &s.described,
			.n_xorbs = 1,
			.n_described = 1,
			.n_files = FILES,
			.eligible = s.eligible,
			.files = s.files,
			.terms = s.terms,
		};
		struct cairn_index_put_shard shard = {
			.body = synthetic_hash(5, s.number),
			.scope = "",
			.owner = "",
			.shard = &records,
			.records_bytes = CHUNKS * 48,
		};
		if (cairn_index_put_xorb(ix, &xorb) != CAIRN_OK || cairn_index_put_shard(ix, &shard) != CAIRN_OK)
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

/* Measures chunk queries. @param uploader  ask for chunks of its shards, of which at least n_known are known; none: ask
 * for unknown chunks */
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
				status = cairn_index_dedupe(ix, "", &chunk, false, bench_hear, &heard);
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
	char url[4200];
	int from, to;
	(void)snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
	if (uploaders == 0 || uploaders > UPLOADERS_MAX || cairn_index_migrate(url, &diag, &from, &to) != CAIRN_OK ||
	    cairn_index_open(&ix, url, NULL, &diag) != CAIRN_OK) {
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
