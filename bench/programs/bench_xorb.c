/* Xorbs as clients send them, and the least work of receiving them: unpacking (LZ4) and hashing (BLAKE3).
 *     bench_xorb make DIR N KIND [CHUNKS]
 *                                    N xorbs of about 64 MiB, or of CHUNKS chunks of 64 KiB; KIND: text, floats or
 *                                    random; also DIR/xorbs.tsv
 *     bench_xorb file PATH MIB KIND  a file of such bytes, for a push
 *     bench_xorb decode FILE...      processor time of unpacking and hashing all chunks */
#include "base/bytes.h"
#include "hash/chunk_list.h"
#include "xorb/writer.h"

#include <fcntl.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 * 1024, HEADER_BYTES = CAIRN_XORB_CHUNK_HEADER_BYTES };

static void xorb_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_xorb: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint64_t xorb_random(void)
{
	static uint64_t state;
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Fills a chunk. Text: words of a small vocabulary. Floats: the low half of the mantissa is zero, as in bfloat16. */
static void xorb_fill(uint8_t *raw, const char *kind)
{
	if (strcmp(kind, "text") == 0) {
		for (size_t at = 0; at < CHUNK_BYTES;) {
			char word[16];
			uint64_t r = xorb_random() % 3000;
			int n = snprintf(word, sizeof(word), "%llx ", (unsigned long long)(r * r * r));
			size_t len = CHUNK_BYTES - at < (size_t)n ? CHUNK_BYTES - at : (size_t)n;
			memcpy(raw + at, word, len);
			at += len;
		}
		return;
	}
	bool floats = strcmp(kind, "floats") == 0;
	xorb_must(floats || strcmp(kind, "random") == 0, "kinds are text, floats and random");
	for (size_t at = 0; at < CHUNK_BYTES; at += 8) {
		uint64_t r = xorb_random();
		if (floats) {
			float f = (float)(int64_t)r / 9e18f;
			uint32_t bits;
			memcpy(&bits, &f, sizeof(bits));
			r = (bits & 0xffff0000) | (uint64_t)((bits ^ 0x00410000) & 0xffff0000) << 32;
		}
		cairn_put_u64le(raw + at, r);
	}
}

static void xorb_make(const char *dir, unsigned n, const char *kind, unsigned chunks)
{
	char path[512], text[CAIRN_HASH_TEXT_BYTES];
	struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	uint8_t *raw = malloc(CHUNK_BYTES);
	(void)snprintf(path, sizeof(path), "%s/xorbs.tsv", dir);
	FILE *targets = fopen(path, "we");
	xorb_must(w && raw && targets, "cannot start");
	for (unsigned i = 0; i < n; i++) {
		cairn_xorb_writer_reset(w);
		for (unsigned c = 0; c < chunks && cairn_xorb_writer_fits(w, CHUNK_BYTES); c++) {
			struct cairn_hash hash;
			xorb_fill(raw, kind);
			cairn_hash_chunk(&hash, raw, CHUNK_BYTES);
			xorb_must(cairn_xorb_writer_add(w, raw, CHUNK_BYTES, &hash) == CAIRN_OK, "no memory");
		}
		size_t len;
		const uint8_t *bytes = cairn_xorb_writer_bytes(w, &len);
		struct cairn_hash root;
		cairn_chunk_list_root(cairn_xorb_writer_list(w), &root);
		cairn_hash_text(text, &root);
		(void)snprintf(path, sizeof(path), "%s/x%u", dir, i);
		(void)fprintf(targets, "POST\t/v1/xorbs/default/%s\t-\t%s\n", text, path);
		FILE *f = fopen(path, "we");
		xorb_must(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0, path);
	}
	xorb_must(fclose(targets) == 0, "cannot write");
	cairn_xorb_writer_free(w);
	free(raw);
}

static void xorb_file(const char *path, unsigned mib, const char *kind)
{
	uint8_t *raw = malloc(CHUNK_BYTES);
	FILE *f = fopen(path, "we");
	xorb_must(raw && f, "cannot start");
	for (unsigned i = 0; i < mib * ((1 << 20) / CHUNK_BYTES); i++) {
		xorb_fill(raw, kind);
		xorb_must(fwrite(raw, 1, CHUNK_BYTES, f) == CHUNK_BYTES, path);
	}
	xorb_must(fclose(f) == 0, path);
	free(raw);
}

/* Unpacks a chunk. Grouped bytes stay grouped, so that only LZ4 and BLAKE3 are measured. */
static size_t xorb_decode_chunk(LZ4F_dctx *lz4, const uint8_t *at, uint8_t *room)
{
	size_t compressed = at[1] | (size_t)at[2] << 8 | (size_t)at[3] << 16;
	size_t unpacked = at[5] | (size_t)at[6] << 8 | (size_t)at[7] << 16, used = compressed, made = unpacked;
	const uint8_t *raw = at + HEADER_BYTES;
	struct cairn_hash hash;
	if (at[4] != CAIRN_SCHEME_NONE) {
		xorb_must(!LZ4F_isError(LZ4F_decompress(lz4, room, &made, raw, &used, NULL)) && made == unpacked,
			  "not an LZ4 frame");
		LZ4F_resetDecompressionContext(lz4);
		raw = room;
	}
	cairn_hash_chunk(&hash, raw, unpacked);
	return HEADER_BYTES + compressed;
}

static uint64_t xorb_decode(const char *path)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	xorb_must(fd >= 0 && fstat(fd, &s) == 0, path);
	size_t len = (size_t)s.st_size;
	uint8_t *room = malloc(CAIRN_CHUNK_BYTES_MAX);
	const uint8_t *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	LZ4F_dctx *lz4 = NULL;
	bool ready = room && bytes != MAP_FAILED && !LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION));
	xorb_must(ready, "no memory");
	struct timespec began, ended;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
	for (size_t at = 0; at < len;)
		at += xorb_decode_chunk(lz4, bytes + at, room);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	(void)LZ4F_freeDecompressionContext(lz4);
	(void)munmap((void *)(uintptr_t)bytes, len);
	free(room);
	close(fd);
	return (uint64_t)(ended.tv_sec - began.tv_sec) * 1000000000u + (uint64_t)ended.tv_nsec -
	       (uint64_t)began.tv_nsec;
}

int main(int argc, char **argv)
{
	if ((argc == 5 || argc == 6) && strcmp(argv[1], "make") == 0) {
		unsigned chunks = argc == 6 ? (unsigned)strtoul(argv[5], NULL, 10) : CAIRN_XORB_CHUNKS_MAX;
		xorb_make(argv[2], (unsigned)strtoul(argv[3], NULL, 10), argv[4], chunks);
		return EXIT_SUCCESS;
	}
	if (argc == 5 && strcmp(argv[1], "file") == 0) {
		xorb_file(argv[2], (unsigned)strtoul(argv[3], NULL, 10), argv[4]);
		return EXIT_SUCCESS;
	}
	xorb_must(argc > 2 && strcmp(argv[1], "decode") == 0,
		  "usage: make DIR N KIND [CHUNKS] | file PATH MIB KIND | decode FILE...");
	uint64_t ns = 0;
	for (int i = 2; i < argc; i++)
		ns += xorb_decode(argv[i]);
	printf("%.6f\n", (double)ns / 1e9);
	return EXIT_SUCCESS;
}
