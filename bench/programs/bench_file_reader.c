/* Processor time of reading a plain file. It compares the daemon (unpacks, verifies and returns bytes), a pull
 * (unpacks and hashes the same chunks), and LZ4 alone (copies uncompressed chunks). The daemon reads from the
 * objects, the other two from memory. Prints one JSON line.
 *     bench_file_reader DATA-DIR FILE-HASH ROUNDS      DATA-DIR of a daemon that has been stopped */
#include "cas/serve/file_reader.h"
#include "data_dir/data_dir.h"
#include "xorb/codec.h"
#include "xorb/reader.h"

#include <inttypes.h>
#include <lz4frame.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	READ_BYTES = 256 * 1024,            /* bytes of one read: a block of an HTTP reply */
	READER_BYTES_MAX = 2 * 1024 * 1024, /* the limit of memory that a reader promises */
};

static const struct cairn_byte_range READ_ALL = {.kind = CAIRN_RANGE_ALL};

struct read_bench {
	struct cairn_cas *cas;
	struct cairn_store *store;
	struct cairn_hash file;
	uint64_t file_bytes;
	uint8_t *out;      /* room for READ_BYTES */
	size_t heap_bytes; /* most memory that a reader took */
};

/* The shortest times of all rounds, in ns. */
struct read_times {
	uint64_t reader, hashed, unpacked;
};

static void read_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_file_reader: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint64_t read_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t read_heap(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* Measures the reader. @param watch  measure the memory after each read */
static uint64_t read_by_reader(struct read_bench *b, bool watch)
{
	struct cairn_file_reader *r;
	struct cairn_file_extent extent;
	struct cairn_diag diag = {0};
	size_t before = read_heap(), n = 1;
	uint64_t began = read_now_ns(), done = 0;
	read_must(cairn_file_reader_open(b->cas, NULL, &b->file, &READ_ALL, &extent, &r, &diag) == CAIRN_OK, diag.text);
	while (n > 0) {
		read_must(cairn_file_reader_read(r, b->out, READ_BYTES, &n, &diag) == CAIRN_OK, diag.text);
		done += n;
		if (watch && read_heap() - before > b->heap_bytes)
			b->heap_bytes = read_heap() - before;
	}
	uint64_t took = read_now_ns() - began;
	cairn_file_reader_free(r);
	read_must(done == b->file_bytes, "not the whole file");
	return took;
}

/* Hashes a chunk as cli/pull does. */
static void read_hash_chunk(struct cairn_codec *codec, const struct cairn_xorb_chunk *chunk)
{
	const uint8_t *raw;
	struct cairn_hash hash;
	read_must(cairn_codec_unpack(codec, &raw, &chunk->header, chunk->data, chunk->at, NULL) == CAIRN_OK,
		  "not a chunk");
	cairn_hash_chunk(&hash, raw, chunk->header.unpacked_bytes);
}

/* Unpacks a chunk, but leaves grouped bytes grouped. */
static void read_unpack_chunk(LZ4F_dctx *lz4, const struct cairn_xorb_chunk *chunk, uint8_t *room)
{
	size_t made = chunk->header.unpacked_bytes, used = chunk->header.compressed_bytes;
	if (chunk->header.scheme == CAIRN_SCHEME_NONE) {
		memcpy(room, chunk->data, made);
		return;
	}
	size_t left = LZ4F_decompress(lz4, room, &made, chunk->data, &used, NULL);
	read_must(!LZ4F_isError(left) && made == chunk->header.unpacked_bytes, "not an LZ4 frame");
	LZ4F_resetDecompressionContext(lz4);
}

/* Measures the same chunks without a reader. @param codec  NULL: LZ4 alone */
static uint64_t read_chunks(const struct read_bench *b, const uint8_t *bytes, size_t len, struct cairn_codec *codec,
			    LZ4F_dctx *lz4)
{
	struct cairn_xorb_reader chunks;
	struct cairn_xorb_chunk chunk;
	bool end = false;
	uint64_t began = read_now_ns();
	for (cairn_xorb_reader_init(&chunks, bytes, len); !end;) {
		read_must(cairn_xorb_reader_next(&chunks, &chunk, &end, NULL) == CAIRN_OK, "not chunks");
		if (!end && codec)
			read_hash_chunk(codec, &chunk);
		else if (!end)
			read_unpack_chunk(lz4, &chunk, b->out);
	}
	return read_now_ns() - began;
}

/* Measures the ranges of all xorbs, each read into memory beforehand. */
static void read_beside(const struct read_bench *b, const struct cairn_plan *plan, struct read_times *times)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	LZ4F_dctx *lz4 = NULL;
	read_must(codec && !LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)), "no memory");
	*times = (struct read_times){0};
	for (uint32_t x = 0; x < plan->n_xorbs; x++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
		read_must(cairn_store_get(b->store, &plan->xorbs[x].hash, &object) == CAIRN_OK, "an object is missing");
		for (uint32_t i = 0; i < plan->xorbs[x].n_ranges; i++) {
			const struct cairn_plan_range *range = &plan->ranges[plan->xorbs[x].first_range + i];
			size_t len = (size_t)(range->end_byte - range->first_byte);
			uint8_t *bytes = malloc(len);
			read_must(bytes && cairn_store_object_read(object, range->first_byte, bytes, len) == CAIRN_OK,
				  "cannot read an object");
			times->hashed += read_chunks(b, bytes, len, codec, NULL);
			times->unpacked += read_chunks(b, bytes, len, NULL, lz4);
			free(bytes);
		}
	}
	(void)LZ4F_freeDecompressionContext(lz4);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void read_run(struct read_bench *b, long rounds)
{
	CLEANUP(cairn_plan_fini) struct cairn_plan plan;
	struct read_times best = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	read_must(cairn_cas_plan(b->cas, NULL, &b->file, &READ_ALL, &plan) == CAIRN_OK, "cannot plan the file");
	b->file_bytes = plan.file_bytes;
	for (long i = 0; i < rounds; i++) {
		struct read_times round;
		read_beside(b, &plan, &round);
		best.hashed = least(best.hashed, round.hashed);
		best.unpacked = least(best.unpacked, round.unpacked);
		best.reader = least(best.reader, read_by_reader(b, false));
	}
	(void)read_by_reader(b, true);
	read_must(b->heap_bytes < READER_BYTES_MAX, "a reader takes more memory than it may");
	printf("{\"bench\":\"file_reader\",\"file_bytes\":%" PRIu64 ",\"terms\":%" PRIu32 ",\"xorbs\":%" PRIu32
	       ",\"reader_ms\":%.1f,\"unpacked_and_hashed_ms\":%.1f,\"unpacked_ms\":%.1f,\"heap_bytes\":%zu}\n",
	       b->file_bytes, plan.n_terms, plan.n_xorbs, (double)best.reader / 1e6, (double)best.hashed / 1e6,
	       (double)best.unpacked / 1e6, b->heap_bytes);
}

int main(int argc, char **argv)
{
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	struct cairn_diag diag = {0};
	struct cairn_data_dir *data;
	struct read_bench b = {.out = malloc(READ_BYTES)};
	read_must(argc == 4 && b.out, "usage: bench_file_reader DATA-DIR FILE-HASH ROUNDS");
	read_must(cairn_hash_parse(&b.file, argv[2], strlen(argv[2])) == CAIRN_OK, "not a hash");
	const struct cairn_data_dir_options folder = {.path = argv[1]};
	read_must(cairn_data_dir_open(&data, &folder, &diag) == CAIRN_OK, diag.text);
	const struct cairn_cas_parts parts = cairn_cas_parts_of(data);
	b.store = parts.store;
	read_must(cairn_cas_open(&b.cas, &parts, &options, &diag) == CAIRN_OK, diag.text);
	read_run(&b, strtol(argv[3], NULL, 10));
	cairn_cas_free(b.cas);
	cairn_data_dir_free(data);
	free(b.out);
	return EXIT_SUCCESS;
}
