/* Makes a large index by the index's own calls, with objects that are all hole, and target files for bench_load.
 *     bench_make_index [-x XORBS] [-a XORBS] [-c CHUNKS] [-f FILES] [-e ELIGIBLE] [-v] DIR TARGETS
 * DIR/index.sqlite gets XORBS xorbs of CHUNKS chunks. For each xorb it gets FILES files, whose first chunks are
 * eligible, and ELIGIBLE more eligible chunks. -v varies CHUNKS by half either way. -a: the index exists, made with
 * -x of that number, and grows to the new one. A shard describes two xorbs. The last file of the first continues in
 * the second, and every fourth of the others in an earlier xorb. The same numbers give the same index. TARGETS gets
 * misses.tsv, cached.tsv (few chunks, all found) and cold.tsv (many, all over the index). Prints one line of JSON. */
#include "base/bytes.h"
#include "index/index.h"
#include "synthetic.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SHARD_XORBS = 2, SHARDS_IN_FLIGHT = 64, PARTS = 10, CHUNK_BYTES = 65536, STORED_BYTES = 40000 };
enum { N_MISSES = 20000, N_CACHED = 64, N_COLD = 20000 };
enum kind { KIND_XORB = 1, KIND_FILE, KIND_SHA256, KIND_CHUNK, KIND_SHARD, KIND_MISS, KIND_TARGET, KIND_TERM };

struct make_shard {
	struct make *make;
	uint64_t number;
	struct cairn_hash xorb[SHARD_XORBS];
	struct cairn_chunk_list list[SHARD_XORBS];
	struct cairn_index_eligible *eligible;
	struct cairn_index_new_xorb *xorbs; /* the shard's own xorbs, and at most one other for each file */
	struct cairn_index_new_file *files;
	struct cairn_index_new_term *terms; /* at most two terms for each file */
	struct cairn_index_new_shard records;
	struct cairn_index_put_xorb put_xorb[SHARD_XORBS];
	struct cairn_index_put_shard put_shard;
};

struct make {
	const char *dir, *targets;
	uint64_t n_xorbs, n_there;
	uint32_t n_chunks, n_files, n_eligible; /* for each xorb; the last two */
	bool vary;
	struct cairn_index *ix;
	sem_t room; /* shards that may be started; the writer finishes the oldest first */
	struct make_shard shard[SHARDS_IN_FLIGHT];
};

static void make_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_make_index: %s\n", what);
	exit(EXIT_FAILURE);
}

static double make_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t make_chunks_of(const struct make *m, uint64_t xorb)
{
	return m->vary ? m->n_chunks / 2 + (uint32_t)(synthetic_mix(xorb) % m->n_chunks) : m->n_chunks;
}

/* Returns how many chunks a file has in its own xorb. The files of a xorb follow each other. */
static uint32_t make_file_chunks(const struct make *m, uint64_t xorb)
{
	return make_chunks_of(m, xorb) / m->n_files;
}

static struct cairn_hash make_chunk(uint64_t xorb, uint32_t place)
{
	return synthetic_hash(KIND_CHUNK, xorb * CAIRN_XORB_CHUNKS_MAX + place);
}

static uint64_t make_first_xorb(const struct make_shard *s)
{
	return s->number * SHARD_XORBS;
}

static void make_fill(struct make_shard *s, uint64_t number)
{
	s->number = number;
	for (uint32_t x = 0; x < SHARD_XORBS; x++) {
		uint64_t xorb = make_first_xorb(s) + x;
		s->xorb[x] = synthetic_hash(KIND_XORB, xorb);
		s->list[x].n = 0;
		for (uint32_t i = 0; i < make_chunks_of(s->make, xorb); i++) {
			struct cairn_hash chunk = make_chunk(xorb, i);
			struct cairn_span span = {CHUNK_BYTES, (i + 1) * STORED_BYTES};
			make_must(cairn_chunk_list_add(&s->list[x], &chunk, span) == CAIRN_OK, "no memory");
		}
	}
}

/* Describes a xorb. Files begin at chunk 0 of a part of the xorb, so eligible chunks are taken from ends of parts. */
static void make_describe(struct make_shard *s, uint32_t x)
{
	const struct cairn_chunk_list *list = &s->list[x];
	uint32_t n = s->make->n_eligible;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = (uint32_t)((i + UINT64_C(1)) * list->n / n - 1);
		s->eligible[x * n + i] = (struct cairn_index_eligible){cairn_get_u64le(list->hashes[place].b), place};
	}
	s->xorbs[x] = (struct cairn_index_new_xorb){.hash = s->xorb[x], .first_eligible = x * n, .n_eligible = n};
}

static uint64_t make_file_number(const struct make_shard *s, uint32_t file)
{
	return make_first_xorb(s) * s->make->n_files + file;
}

/* Finds the xorb in which the file continues. @return false: it does not continue */
static bool make_second_term(const struct make_shard *s, uint32_t file, uint64_t *xorb)
{
	const struct make *m = s->make;
	uint64_t random = synthetic_hash(KIND_TERM, make_file_number(s, file)).b[0];
	*xorb = make_first_xorb(s) + 1;
	if (file == m->n_files - 1)
		return true;
	if (random % 4 != 0 || s->number == 0)
		return false;
	*xorb = synthetic_mix(make_file_number(s, file)) % make_first_xorb(s);
	return true;
}

/* Returns where the first term of the next file begins. */
static uint32_t make_start(const struct make_shard *s, uint32_t file)
{
	return file % s->make->n_files * make_file_chunks(s->make, make_first_xorb(s) + file / s->make->n_files);
}

static struct cairn_index_new_term make_term(uint32_t xorb, uint32_t start, uint32_t len)
{
	return (struct cairn_index_new_term){
		.xorb = xorb,
		.unpacked_bytes = len * CHUNK_BYTES,
		.first_byte = start * STORED_BYTES,
		.end_byte = (start + len) * STORED_BYTES,
		.start = start,
		.end = start + len,
	};
}

/* Returns the index of a xorb among the shard's. */
static uint32_t make_name(struct make_shard *s, uint64_t xorb)
{
	if (xorb >= make_first_xorb(s))
		return (uint32_t)(xorb - make_first_xorb(s));
	s->xorbs[s->records.n_xorbs] = (struct cairn_index_new_xorb){.hash = synthetic_hash(KIND_XORB, xorb)};
	return s->records.n_xorbs++;
}

/* Makes a file. @return its number of terms */
static uint32_t make_file(struct make_shard *s, uint32_t i, struct cairn_index_new_term *terms)
{
	const struct make *m = s->make;
	uint64_t number = make_file_number(s, i), second;
	uint32_t own = i / m->n_files, start = make_start(s, i);
	struct cairn_hash sha256 = synthetic_hash(KIND_SHA256, number);
	struct cairn_index_new_file *file = &s->files[i];
	*file = (struct cairn_index_new_file){.hash = synthetic_hash(KIND_FILE, number), .has_sha256 = true};
	memcpy(file->sha256, sha256.b, sizeof(file->sha256));
	file->first_chunk = cairn_get_u64le(s->list[own].hashes[start].b);
	terms[file->n_terms++] = make_term(own, start, make_file_chunks(m, make_first_xorb(s) + own));
	if (make_second_term(s, i, &second))
		terms[file->n_terms++] = make_term(make_name(s, second), 0, make_file_chunks(m, second));
	file->size_bytes = (uint64_t)file->n_terms * make_file_chunks(m, make_first_xorb(s)) * CHUNK_BYTES;
	return file->n_terms;
}

static void make_records(struct make_shard *s)
{
	uint32_t n_terms = 0;
	s->records = (struct cairn_index_new_shard){
		.xorbs = s->xorbs,
		.n_xorbs = SHARD_XORBS,
		.n_described = SHARD_XORBS,
		.n_files = SHARD_XORBS * s->make->n_files,
		.eligible = s->eligible,
		.files = s->files,
		.terms = s->terms,
	};
	for (uint32_t x = 0; x < SHARD_XORBS; x++)
		make_describe(s, x);
	for (uint32_t i = 0; i < s->records.n_files; i++)
		n_terms += make_file(s, i, s->terms + n_terms);
}

static void make_check(const struct cairn_index_write *write, bool added)
{
	make_must(write->status == CAIRN_OK && added, write->diag.rule ? write->diag.text : "it was there");
}

static void make_xorb_done(struct cairn_index_write *write)
{
	make_check(write, ((struct cairn_index_put_xorb *)write)->added);
}

static void make_done(struct cairn_index_write *write)
{
	struct cairn_index_put_shard *put = (struct cairn_index_put_shard *)write;
	make_check(write, put->added);
	struct make_shard *s = (struct make_shard *)((char *)put - offsetof(struct make_shard, put_shard));
	sem_post(&s->make->room);
}

/* Makes an object. Chunk queries check that the object of each offered xorb exists; nobody reads it here. */
static void make_object(const char *dir, const struct cairn_hash *xorb, uint64_t bytes)
{
	char text[CAIRN_HASH_TEXT_BYTES], path[4096];
	cairn_hash_text(text, xorb);
	int len = snprintf(path, sizeof(path), "%s/objects/%.2s/%.2s/%s", dir, text, text + 2, text);
	make_must(len > 0 && (size_t)len < sizeof(path), "the path is too long");
	for (char *slash = strstr(path, "/objects"); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777); /* the folder exists already, or opening the file fails */
		*slash = '/';
	}
	FILE *file = fopen(path, "wbe");
	make_must(file && ftruncate(fileno(file), (off_t)bytes) == 0, "an object cannot be made");
	(void)fclose(file);
}

static void make_submit(struct make_shard *s)
{
	for (uint32_t x = 0; x < SHARD_XORBS; x++) {
		make_object(s->make->dir, &s->xorb[x], (uint64_t)s->list[x].n * STORED_BYTES);
		s->put_xorb[x] = (struct cairn_index_put_xorb){
			.write.done = make_xorb_done,
			.hash = s->xorb[x],
			.list = &s->list[x],
			.stored_bytes = (uint64_t)s->list[x].n * STORED_BYTES,
		};
		make_must(cairn_index_put_xorb(s->make->ix, &s->put_xorb[x]) == CAIRN_OK, "the writer is busy");
	}
	s->put_shard = (struct cairn_index_put_shard){
		.write.done = make_done,
		.body = synthetic_hash(KIND_SHARD, s->number),
		.scope = "",
		.owner = "",
		.shard = &s->records,
	};
	make_must(cairn_index_put_shard(s->make->ix, &s->put_shard) == CAIRN_OK, "the writer is busy");
}

static void make_shards(struct make *m)
{
	uint64_t from = m->n_there / SHARD_XORBS, n_shards = m->n_xorbs / SHARD_XORBS, part = (n_shards - from) / PARTS;
	double began = make_now_s();
	for (uint64_t i = from; i < n_shards; i++) {
		sem_wait(&m->room);
		struct make_shard *s = &m->shard[i % SHARDS_IN_FLIGHT];
		make_fill(s, i);
		make_records(s);
		make_submit(s);
		if (part == 0 || (i + 1 - from) % part != 0)
			continue;
		double now = make_now_s();
		(void)fprintf(stderr, "bench_make_index: %" PRIu64 " xorbs, %.0f a second\n", (i + 1) * SHARD_XORBS,
			      (double)(part * SHARD_XORBS) / (now - began));
		began = now;
	}
	for (int i = 0; i < SHARDS_IN_FLIGHT; i++)
		sem_wait(&m->room);
}

static void make_prepare(struct make *m)
{
	sem_init(&m->room, 0, SHARDS_IN_FLIGHT);
	for (int i = 0; i < SHARDS_IN_FLIGHT; i++) {
		m->shard[i].make = m;
		struct make_shard *made = &m->shard[i];
		size_t n_files = (size_t)SHARD_XORBS * m->n_files;
		made->eligible = calloc(SHARD_XORBS * (size_t)m->n_eligible + 1, sizeof(*made->eligible));
		made->xorbs = calloc(SHARD_XORBS + n_files, sizeof(*made->xorbs));
		made->files = calloc(n_files, sizeof(*made->files));
		made->terms = calloc(2 * n_files, sizeof(*made->terms));
		make_must(made->eligible && made->xorbs && made->files && made->terms, "no memory");
	}
}

static void make_finish(struct make *m)
{
	cairn_index_free(m->ix);
	sem_destroy(&m->room);
	for (int i = 0; i < SHARDS_IN_FLIGHT; i++) {
		free(m->shard[i].eligible);
		free(m->shard[i].xorbs);
		free(m->shard[i].files);
		free(m->shard[i].terms);
		for (int x = 0; x < SHARD_XORBS; x++)
			cairn_chunk_list_fini(&m->shard[i].list[x]);
	}
}

static struct cairn_hash make_hit(const struct make *m, uint64_t number)
{
	uint64_t xorb = synthetic_mix(number) % m->n_xorbs;
	uint32_t file = (uint32_t)(synthetic_mix(number ^ UINT64_MAX) % m->n_files);
	return make_chunk(xorb, file * make_file_chunks(m, xorb));
}

static void make_targets(const struct make *m, const char *name, uint64_t n, bool hits)
{
	char path[4200], text[CAIRN_HASH_TEXT_BYTES];
	(void)snprintf(path, sizeof(path), "%s/%s", m->targets, name);
	FILE *f = fopen(path, "we");
	make_must(f, path);
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_hash chunk = hits ? make_hit(m, i) : synthetic_hash(KIND_MISS, i);
		cairn_hash_text(text, &chunk);
		(void)fprintf(f, "GET\t/v1/chunks/default/%s\t-\t-\n", text);
	}
	make_must(fclose(f) == 0, path);
}

static uint64_t make_file_bytes(const struct make *m)
{
	char path[4200];
	struct stat st;
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", m->dir);
	make_must(stat(path, &st) == 0, path);
	return (uint64_t)st.st_size;
}

static void make_options(struct make *m, int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "x:a:c:f:e:v")) != -1;) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
		if (option == 'x')
			m->n_xorbs = number;
		else if (option == 'a')
			m->n_there = number;
		else if (option == 'c')
			m->n_chunks = (uint32_t)number;
		else if (option == 'f')
			m->n_files = (uint32_t)number;
		else if (option == 'e')
			m->n_eligible = (uint32_t)number;
		else
			m->vary = option == 'v';
	}
	bool right = argc - optind == 2 && m->n_xorbs >= SHARD_XORBS && m->n_files >= 1 &&
		     m->n_chunks >= m->n_files * 2 && m->n_eligible <= m->n_chunks / 2 &&
		     m->n_chunks * (m->vary ? 2 : 1) <= CAIRN_XORB_CHUNKS_MAX;
	make_must(
		right,
		"usage: bench_make_index [-x XORBS] [-a XORBS] [-c CHUNKS] [-f FILES] [-e ELIGIBLE] [-v] DIR TARGETS");
	m->n_xorbs -= m->n_xorbs % SHARD_XORBS;
	m->dir = argv[optind];
	m->targets = argv[optind + 1];
}

int main(int argc, char **argv)
{
	static struct make m = {.n_xorbs = 1000, .n_chunks = 1000, .n_files = 9, .n_eligible = 1};
	struct cairn_diag diag = {0};
	struct cairn_index_stats stats;
	make_options(&m, argc, argv);
	make_prepare(&m);
	double began = make_now_s();
	char url[4200];
	int from, to;
	(void)snprintf(url, sizeof(url), "sqlite:%s", m.dir);
	make_must(cairn_index_migrate(url, &diag, &from, &to) == CAIRN_OK, diag.text);
	make_must(cairn_index_open(&m.ix, url, NULL, &diag) == CAIRN_OK, diag.text);
	make_shards(&m);
	cairn_index_stats(m.ix, &stats);
	make_finish(&m);
	make_targets(&m, "misses.tsv", N_MISSES, false);
	make_targets(&m, "cached.tsv", N_CACHED, true);
	make_targets(&m, "cold.tsv", N_COLD, true);
	uint64_t n_chunks = 0;
	for (uint64_t i = 0; i < m.n_xorbs; i++)
		n_chunks += make_chunks_of(&m, i);
	printf("{\"xorbs\": %" PRIu64 ", \"chunks\": %" PRIu64 ", \"eligible\": %" PRIu64 ", \"files\": %" PRIu64
	       ", \"file_bytes\": %" PRIu64 ", \"seconds\": %.1f}\n",
	       stats.n_xorbs, n_chunks, stats.n_eligible, stats.n_files, make_file_bytes(&m), make_now_s() - began);
	return EXIT_SUCCESS;
}
