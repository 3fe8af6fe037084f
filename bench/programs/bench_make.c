/* Makes uploads for the scenarios: shards, the xorbs they name, and target files for bench_load.
 *     bench_make DIR SHARDS XORBS CHUNKS FILES TERMS [store]
 * Each shard describes XORBS xorbs of CHUNKS chunks and FILES files of TERMS terms. With "store" the chunks are real
 * (64 random bytes each, to save disk space) and the xorbs are written, too. Without it xorbs exist only by hash. In
 * DIR: s<N>, x<N>, shards.tsv, xorbs.tsv, chunks (one hash a xorb that a chunk query finds), files (all file
 * hashes). */
#include "shard/writer.h"
#include "support/made.h"
#include "xorb/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARD_BYTES_MAX = 64 * 1024 * 1024, CHUNK_BYTES = 64, XORB_BYTES = 65000000 };

struct make {
	const char *dir;
	uint32_t n_shards, n_xorbs, n_chunks, n_files, n_terms;
	bool store;
	FILE *shards_tsv, *xorbs_tsv, *chunks, *files;
	struct cairn_xorb_writer *writer;
	uint64_t random;
};

static void make_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_make: %s\n", what);
	exit(EXIT_FAILURE);
}

static FILE *make_open(const struct make *m, const char *name)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	FILE *f = fopen(path, "we");
	make_must(f, path);
	return f;
}

static void make_write(const struct make *m, const char *name, const uint8_t *bytes, size_t len)
{
	FILE *f = make_open(m, name);
	make_must(fwrite(bytes, 1, len, f) == len && fclose(f) == 0, name);
}

static uint64_t make_random(struct make *m)
{
	m->random += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = m->random;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Makes a xorb with its bytes, which is sent before the shards. */
static void make_stored_xorb(struct make *m, struct made_xorb *x, uint64_t number)
{
	*x = (struct made_xorb){0};
	cairn_xorb_writer_reset(m->writer);
	for (uint32_t i = 0; i < m->n_chunks; i++) {
		uint64_t raw[CHUNK_BYTES / 8];
		struct cairn_hash hash;
		for (size_t k = 0; k < sizeof(raw) / sizeof(raw[0]); k++)
			raw[k] = make_random(m);
		cairn_hash_chunk(&hash, raw, sizeof(raw));
		make_must(cairn_xorb_writer_add(m->writer, (const uint8_t *)raw, sizeof(raw), &hash) == CAIRN_OK &&
				  cairn_chunk_list_add(&x->list, &hash, (struct cairn_span){CHUNK_BYTES, 0}) ==
					  CAIRN_OK,
			  "no memory");
	}
	cairn_chunk_list_root(&x->list, &x->hash);
	char name[32], text[CAIRN_HASH_TEXT_BYTES];
	size_t len;
	const uint8_t *bytes = cairn_xorb_writer_bytes(m->writer, &len);
	(void)snprintf(name, sizeof(name), "x%llu", (unsigned long long)number);
	make_write(m, name, bytes, len);
	cairn_hash_text(text, &x->hash);
	(void)fprintf(m->xorbs_tsv, "POST\t/v1/xorbs/default/%s\t-\t%s/%s\n", text, m->dir, name);
}

static void make_describe(struct make *m, struct cairn_shard_writer *w, const struct made_xorb *x)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_shard_write_xorb(w, &x->hash, 0);
	for (uint32_t i = 0; i < x->list.n; i++)
		cairn_shard_write_chunk(w, &x->list.hashes[i], x->list.spans[i].unpacked_bytes,
					i == 0 ? CAIRN_SHARD_CHUNK_ELIGIBLE : 0);
	cairn_hash_text(text, &x->list.hashes[0]);
	(void)fprintf(m->chunks, "%s\n", text);
}

/* Terms alternate between the xorbs, so that no neighbours can be merged. */
static void make_file(struct make *m, struct cairn_shard_writer *w, const struct made_xorb *xorbs, uint32_t file,
		      struct made_term *terms)
{
	uint64_t all = (uint64_t)m->n_xorbs * m->n_chunks, n_terms = (uint64_t)m->n_files * m->n_terms;
	uint64_t len = all / n_terms;
	len = len < 1 ? 1 : len > m->n_chunks ? m->n_chunks : len;
	for (uint32_t t = 0; t < m->n_terms; t++) {
		uint64_t k = (uint64_t)file * m->n_terms + t;
		uint32_t start = (uint32_t)(k / m->n_xorbs * len % (m->n_chunks - len + 1));
		terms[t] = (struct made_term){&xorbs[k % m->n_xorbs], start, start + (uint32_t)len};
	}
	size_t at = w->buf.len;
	made_write_file(w, terms, m->n_terms, CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA);
	struct cairn_hash hash;
	char text[CAIRN_HASH_TEXT_BYTES];
	make_must(w->buf.status == CAIRN_OK, "the shard does not fit");
	memcpy(hash.b, w->buf.bytes + at, sizeof(hash.b)); /* the record of a file begins with its hash */
	cairn_hash_text(text, &hash);
	(void)fprintf(m->files, "%s\n", text);
}

static uint32_t make_chunk_bytes(const struct make *m)
{
	uint32_t most = XORB_BYTES / m->n_chunks;
	return most < CAIRN_CHUNK_BYTES_MAX ? most : CAIRN_CHUNK_BYTES_MAX;
}

static void make_shard(struct make *m, uint32_t shard, struct made_xorb *xorbs, struct made_term *terms)
{
	struct cairn_shard_writer w;
	char name[32];
	cairn_shard_writer_init(&w, SHARD_BYTES_MAX);
	for (uint32_t i = 0; i < m->n_xorbs; i++) {
		uint64_t number = (uint64_t)shard * m->n_xorbs + i;
		if (m->store)
			make_stored_xorb(m, &xorbs[i], number);
		else
			made_xorb_init(&xorbs[i], number, m->n_chunks, make_chunk_bytes(m));
	}
	for (uint32_t i = 0; i < m->n_files; i++)
		make_file(m, &w, xorbs, i, terms);
	for (uint32_t i = 0; i < m->n_xorbs; i++) {
		make_describe(m, &w, &xorbs[i]);
		made_xorb_fini(&xorbs[i]);
	}
	make_must(cairn_shard_writer_end(&w) == CAIRN_OK, "the shard does not fit");
	(void)snprintf(name, sizeof(name), "s%u", shard);
	make_write(m, name, w.buf.bytes, w.buf.len);
	(void)fprintf(m->shards_tsv, "POST\t/v1/shards\t-\t%s/%s\n", m->dir, name);
	cairn_shard_writer_fini(&w);
}

int main(int argc, char **argv)
{
	struct make m = {.random = 1};
	make_must(argc == 7 || argc == 8, "usage: bench_make DIR SHARDS XORBS CHUNKS FILES TERMS [store]");
	uint32_t *const numbers[] = {&m.n_shards, &m.n_xorbs, &m.n_chunks, &m.n_files, &m.n_terms};
	for (int i = 0; i < 5; i++) {
		*numbers[i] = (uint32_t)strtoul(argv[i + 2], NULL, 10);
		make_must(*numbers[i] > 0, "a number is not one");
	}
	m.dir = argv[1];
	m.store = argc == 8;
	m.shards_tsv = make_open(&m, "shards.tsv");
	m.xorbs_tsv = make_open(&m, "xorbs.tsv");
	m.chunks = make_open(&m, "chunks");
	m.files = make_open(&m, "files");
	m.writer = cairn_xorb_writer_new();
	struct made_xorb *xorbs = calloc(m.n_xorbs, sizeof(*xorbs));
	struct made_term *terms = calloc(m.n_terms, sizeof(*terms));
	make_must(m.writer && xorbs && terms, "no memory");
	for (uint32_t i = 0; i < m.n_shards; i++)
		make_shard(&m, i, xorbs, terms);
	bool written =
		fclose(m.shards_tsv) == 0 && fclose(m.xorbs_tsv) == 0 && fclose(m.chunks) == 0 && fclose(m.files) == 0;
	make_must(written, "cannot write");
	cairn_xorb_writer_free(m.writer);
	free(xorbs);
	free(terms);
	return EXIT_SUCCESS;
}
