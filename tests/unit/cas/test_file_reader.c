/* Reading files from a real folder, whole and in part, sound and damaged. No wrong byte is ever returned. */
#include "base/bytes.h"
#include "cas/internal.h"
#include "cas/keep/pack.h"
#include "cas/serve/file_reader.h"
#include "cas/stats.h"
#include "support/gc_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"
#include "support/xorbs.h"
#include "xorb/writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS = 24, SHARD_BYTES_MAX = 16 << 20 };

static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};

static struct cairn_byte_range from_to(uint64_t first, uint64_t last)
{
	return (struct cairn_byte_range){.kind = CAIRN_RANGE_FROM_TO, .first = first, .last = last};
}

/* A xorb and its contents. */
struct stuff {
	struct made_xorb made;
	struct vec_bytes body;
	uint8_t *raw;
	size_t at[CAIRN_XORB_CHUNKS_MAX + 1]; /* where each chunk begins in raw */
};

static void stuff_free(struct stuff *x)
{
	made_xorb_fini(&x->made);
	vec_bytes_fini(&x->body);
	free(x->raw);
	free(x);
}

static void stuff_freep(struct stuff **x)
{
	stuff_free(*x);
}

/* Makes bytes that suit one scheme each: noise, repetitions, and numbers whose bytes are alike at each place. */
static void fill(uint8_t *out, size_t len, uint32_t kind, uint64_t *seed)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t r = vec_splitmix64(seed);
		if (kind == 0)
			out[i] = (uint8_t)r;
		else if (kind == 1)
			out[i] = i >= 13 && r % 16 != 0 ? out[i - 13] : (uint8_t)r;
		else
			out[i] = i % 4 == 3 ? 0x3f : i % 4 == 2 ? (uint8_t)(0x80 + r % 4) : (uint8_t)(i % 4 ? 0 : r);
	}
}

/* Packs the raw bytes of the chunks into a xorb. */
static void stuff_pack(struct stuff *x, uint32_t n)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	ck_assert_ptr_nonnull(w);
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_hash hash;
		cairn_hash_chunk(&hash, x->raw + x->at[i], x->at[i + 1] - x->at[i]);
		ck_assert_int_eq(cairn_xorb_writer_add(w, x->raw + x->at[i], x->at[i + 1] - x->at[i], &hash), CAIRN_OK);
	}
	size_t len;
	const uint8_t *bytes = cairn_xorb_writer_bytes(w, &len);
	const struct cairn_chunk_list *list = cairn_xorb_writer_list(w);
	x->body = vec_copy(bytes, len);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(cairn_chunk_list_add(&x->made.list, &list->hashes[i], list->spans[i]), CAIRN_OK);
	cairn_chunk_list_root(list, &x->made.hash);
}

/* Makes a xorb of n chunks of all kinds, of bytes_min to bytes_max bytes each. */
static struct stuff *stuff_sized(uint64_t seed, uint32_t n, uint32_t bytes_min, uint32_t bytes_max)
{
	struct stuff *x = calloc(1, sizeof(*x));
	ck_assert_ptr_nonnull(x);
	for (uint32_t i = 0; i < n; i++)
		x->at[i + 1] = x->at[i] + bytes_min + vec_splitmix64(&seed) % (bytes_max + 1 - bytes_min);
	x->raw = malloc(x->at[n]);
	ck_assert_ptr_nonnull(x->raw);
	for (uint32_t i = 0; i < n; i++)
		fill(x->raw + x->at[i], x->at[i + 1] - x->at[i], i % 3, &seed);
	stuff_pack(x, n);
	return x;
}

static struct stuff *stuff_new(uint64_t seed, uint32_t n, uint32_t bytes_max)
{
	return stuff_sized(seed, n, 1, bytes_max);
}

static void put_stuff(struct cairn_cas *cas, const struct stuff *x)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	bool inserted;
	cairn_hash_text(text, &x->made.hash);
	ck_assert_int_eq(cas_put_xorb(cas, text, &x->body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
}

struct part {
	const struct stuff *of;
	uint32_t start, end;
};

/* A registered file and its contents. */
struct known_file {
	struct cairn_hash hash;
	uint64_t len;
	uint8_t *bytes;
};

static void known_file_fini(struct known_file *f)
{
	free(f->bytes);
}

static void register_file(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct made_term *terms,
			  uint32_t n)
{
	struct cairn_shard_writer w;
	bool added;
	cairn_shard_writer_init(&w, SHARD_BYTES_MAX);
	made_write_file(&w, terms, n, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	struct vec_bytes shard = vec_copy(w.buf.bytes, w.buf.len);
	cairn_shard_writer_fini(&w);
	ck_assert_int_eq(cas_put_shard(cas, who, &shard, &added, NULL), CAIRN_OK);
	vec_bytes_fini(&shard);
}

static struct known_file put_file(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct part *parts,
				  uint32_t n)
{
	struct made_term *terms = calloc(n, sizeof(*terms));
	struct known_file f = {0};
	ck_assert_ptr_nonnull(terms);
	for (uint32_t i = 0; i < n; i++) {
		terms[i] = (struct made_term){&parts[i].of->made, parts[i].start, parts[i].end};
		f.len += parts[i].of->at[parts[i].end] - parts[i].of->at[parts[i].start];
	}
	f.bytes = malloc(f.len);
	ck_assert_ptr_nonnull(f.bytes);
	size_t at = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t len = parts[i].of->at[parts[i].end] - parts[i].of->at[parts[i].start];
		memcpy(f.bytes + at, parts[i].of->raw + parts[i].of->at[parts[i].start], len);
		at += len;
	}
	f.hash = made_file_hash(terms, n);
	register_file(cas, who, terms, n);
	free(terms);
	return f;
}

static struct cairn_file_reader *must_open(struct cairn_cas *cas, const struct known_file *f,
					   struct cairn_byte_range range)
{
	struct cairn_file_reader *r;
	struct cairn_file_extent extent;
	struct cairn_diag diag = {0};
	ck_assert_msg(cairn_file_reader_open(cas, NULL, &f->hash, &range, &extent, &r, &diag) == CAIRN_OK, "%s",
		      diag.text);
	ck_assert_uint_eq(extent.file_bytes, f->len);
	return r;
}

static enum cairn_status open_status(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *file,
				     struct cairn_byte_range range, struct cairn_diag *diag)
{
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r;
	struct cairn_file_extent extent;
	enum cairn_status status = cairn_file_reader_open(cas, viewer, file, &range, &extent, &r, diag);
	ck_assert((status == CAIRN_OK) == (r != NULL));
	return status;
}

/* Reads to the end or to a failure. The bytes must be those of the file from *at on. */
static enum cairn_status read_on(struct cairn_file_reader *r, const struct known_file *f, uint64_t *at, uint64_t end,
				 size_t max, struct cairn_diag *diag)
{
	uint8_t *out = malloc(max);
	enum cairn_status status;
	size_t n;
	ck_assert_ptr_nonnull(out);
	for (;;) {
		status = cairn_file_reader_read(r, out, max, &n, diag);
		if (status != CAIRN_OK || n == 0)
			break;
		ck_assert_uint_le(n, max);
		ck_assert_uint_le(*at + n, end);
		ck_assert_int_eq(memcmp(out, f->bytes + *at, n), 0);
		*at += n;
	}
	free(out);
	return status;
}

/* Reads len bytes in one piece. */
static void read_some(struct cairn_file_reader *r, const struct known_file *f, uint64_t *at, size_t len)
{
	uint8_t *out = malloc(len);
	size_t n;
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(cairn_file_reader_read(r, out, len, &n, NULL), CAIRN_OK);
	ck_assert_uint_eq(n, len);
	ck_assert_int_eq(memcmp(out, f->bytes + *at, n), 0);
	*at += n;
	free(out);
}

static void check_range(struct cairn_cas *cas, const struct known_file *f, struct cairn_byte_range range,
			uint64_t first, uint64_t end, size_t max)
{
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r;
	struct cairn_file_extent extent;
	ck_assert_int_eq(cairn_file_reader_open(cas, NULL, &f->hash, &range, &extent, &r, NULL), CAIRN_OK);
	ck_assert_uint_eq(extent.file_bytes, f->len);
	ck_assert_uint_eq(extent.first, first);
	ck_assert_uint_eq(extent.end, end);
	ck_assert_int_eq(read_on(r, f, &first, end, max, NULL), CAIRN_OK);
	ck_assert_uint_eq(first, end);
}

START_TEST(a_whole_file_of_all_schemes)
{
	static const size_t PIECES[] = {1, 7, 4096, 100000, 1 << 22};
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(1, CHUNKS, 8000);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	struct xorb_verdict verdict = xorb_verify(x->body.bytes, x->body.len, x->body.len, NULL, NULL);
	for (int scheme = 0; scheme < 3; scheme++)
		ck_assert_uint_gt(verdict.summary.chunks_of_scheme[scheme], 3);
	xorb_verdict_fini(&verdict);
	const struct part all = {x, 0, CHUNKS};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, &all, 1);
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++)
		check_range(g.f.cas, &f, ALL, 0, f.len, PIECES[i]);
}
END_TEST

START_TEST(chunks_of_the_greatest_length)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_sized(1, 3, CAIRN_CHUNK_BYTES_MAX, CAIRN_CHUNK_BYTES_MAX);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	const struct part all = {x, 0, 3};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, &all, 1);
	check_range(g.f.cas, &f, ALL, 0, f.len, 100000);
}
END_TEST

/* Ranges that begin and end beside each chunk edge, over terms that repeat, overlap and alternate between two xorbs. */
START_TEST(ranges)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *a = stuff_new(1, CHUNKS, 500), *b = stuff_new(2, CHUNKS, 500);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, a);
	put_stuff(g.f.cas, b);
	const struct part parts[] = {{a, 3, 6}, {b, 0, 2}, {a, 5, 9}, {a, 3, 6}, {b, CHUNKS - 1, CHUNKS}, {a, 0, 1}};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, 6);
	uint64_t edges[64], n = 0, at = 0;
	for (size_t p = 0; p < 6; p++)
		for (uint32_t i = parts[p].start; i < parts[p].end; i++) {
			edges[n++] = at;
			at += parts[p].of->at[i + 1] - parts[p].of->at[i];
		}
	edges[n++] = at;
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t k = i; k < n; k++)
			for (int off = -1; off <= 1; off++) {
				uint64_t first = edges[i] + (i > 0 ? (uint64_t)off : 0),
					 last = edges[k] + (uint64_t)off;
				if (edges[k] + (uint64_t)off + 1 == 0 || first >= f.len || last < first)
					continue;
				check_range(g.f.cas, &f, from_to(first, last), first, last < f.len ? last + 1 : f.len,
					    1000);
			}
	const struct cairn_byte_range suffix = {.kind = CAIRN_RANGE_SUFFIX, .suffix_bytes = 700};
	check_range(g.f.cas, &f, suffix, f.len - 700, f.len, 1 << 20);
	check_range(g.f.cas, &f, from_to(f.len - 1, UINT64_MAX), f.len - 1, f.len, 1);
	check_range(g.f.cas, &f, from_to(0, 0), 0, 1, 1 << 20);
}
END_TEST

START_TEST(past_the_end_unknown_and_empty)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(1, 3, 500);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	const struct part all = {x, 0, 3};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, &all, 1);
	CLEANUP(known_file_fini) struct known_file empty = put_file(g.f.cas, &CAS_OPERATOR, &all, 0);
	struct cairn_file_extent extent;
	struct cairn_file_reader *r;
	struct cairn_byte_range past = from_to(f.len, f.len + 5);
	ck_assert_int_eq(cairn_file_reader_open(g.f.cas, NULL, &f.hash, &past, &extent, &r, NULL), CAIRN_E_LIMIT);
	ck_assert_uint_eq(extent.file_bytes, f.len);
	ck_assert_ptr_null(r);
	check_range(g.f.cas, &empty, ALL, 0, 0, 10);
	check_range(g.f.cas, &empty, from_to(0, 0), 0, 0, 10);
	ck_assert_int_eq(open_status(g.f.cas, NULL, &empty.hash, from_to(1, 5), NULL), CAIRN_E_LIMIT);
	f.hash.b[0] ^= 1;
	ck_assert_int_eq(open_status(g.f.cas, NULL, &f.hash, ALL, NULL), CAIRN_E_NOT_FOUND);
}
END_TEST

enum { MANY = 10000 };

/* More terms than are read at once, and more lists than are cached. */
START_TEST(ten_thousand_terms)
{
	enum { XORBS = 5, XORB_CHUNKS = 4000 };
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	struct stuff *x[XORBS];
	struct part *parts = calloc(MANY, sizeof(*parts));
	uint64_t seed = 9;
	gc_fixture_init(&g);
	ck_assert_ptr_nonnull(parts);
	for (unsigned i = 0; i < XORBS; i++) {
		x[i] = stuff_new(i, XORB_CHUNKS, 40);
		put_stuff(g.f.cas, x[i]);
	}
	for (unsigned i = 0; i < MANY; i++) {
		uint32_t start = (uint32_t)(vec_splitmix64(&seed) % (XORB_CHUNKS - 3));
		parts[i] = (struct part){x[i / 20 % XORBS], start, start + 1 + (uint32_t)(vec_splitmix64(&seed) % 3)};
	}
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, MANY);
	check_range(g.f.cas, &f, ALL, 0, f.len, 1 << 16);
	check_range(g.f.cas, &f, from_to(f.len / 2, f.len - 2), f.len / 2, f.len - 1, 100);
	free(parts);
	for (unsigned i = 0; i < XORBS; i++)
		stuff_free(x[i]);
}
END_TEST

/* Returns how many bytes this process has read from files so far. */
static uint64_t bytes_read(void)
{
	unsigned long long n = 0;
	FILE *io = fopen("/proc/self/io", "re");
	ck_assert_ptr_nonnull(io);
	ck_assert_int_eq(fscanf(io, "rchar: %llu", &n), 1);
	(void)fclose(io);
	return n;
}

/* The time to read a file grows with its terms, not with their square. */
START_TEST(many_terms_are_read_a_few_times)
{
	enum { TERMS = 100000, CHUNK_BYTES = 40, TIMES_MAX = 40, ROW_BYTES = 24, CHUNK_STORED_MAX = 256 };
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(0, 4000, CHUNK_BYTES);
	struct part *parts = calloc(TERMS, sizeof(*parts));
	ck_assert_ptr_nonnull(parts);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	for (uint32_t i = 0; i < TERMS; i++)
		parts[i] = (struct part){x, i * 7 % 4000, i * 7 % 4000 + 1};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, TERMS);
	uint64_t before = bytes_read();
	check_range(g.f.cas, &f, ALL, 0, f.len, 1 << 16);
	ck_assert_uint_lt(bytes_read() - before, (uint64_t)TERMS * (ROW_BYTES * TIMES_MAX + CHUNK_STORED_MAX));
	free(parts);
}
END_TEST

static const struct cairn_cas_who TENANT = {.scope = "", .owner = "a/b", .viewer = "a/b"},
				  NEIGHBOUR = {.scope = "", .owner = "a/c", .viewer = "a/c"};

START_TEST(a_viewer_reads_only_files_of_its_repository)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(1, 3, 500);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	const struct part all = {x, 0, 3};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &TENANT, &all, 1);
	ck_assert_int_eq(open_status(g.f.cas, "a/c", &f.hash, ALL, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(open_status(g.f.cas, "", &f.hash, ALL, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(open_status(g.f.cas, "a/c", &f.hash, from_to(f.len, UINT64_MAX), NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(open_status(g.f.cas, "a/b", &f.hash, ALL, NULL), CAIRN_OK);
	ck_assert_int_eq(open_status(g.f.cas, NULL, &f.hash, ALL, NULL), CAIRN_OK);
}
END_TEST

static void forget(struct gc_fixture *g, const struct known_file *f, const char *owner)
{
	bool forgotten;
	ck_assert_int_eq(cairn_cas_forget(g->f.cas, &f->hash, owner, &forgotten), CAIRN_OK);
	ck_assert(forgotten);
}

/* A file of two xorbs is forgotten while the first is read. While they are retired, both can be read; after a sweep
 * only the open one. */
START_TEST(forgotten_while_it_is_read)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *a = stuff_new(1, 6, 500), *b = stuff_new(2, 6, 500);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, a);
	put_stuff(g.f.cas, b);
	const struct part parts[] = {{a, 0, 6}, {b, 0, 6}};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, 2);
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *early = must_open(g.f.cas, &f, ALL);
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *late = must_open(g.f.cas, &f, ALL);
	forget(&g, &f, "");
	ck_assert_int_eq(open_status(g.f.cas, NULL, &f.hash, ALL, NULL), CAIRN_E_NOT_FOUND);
	gc_pass(&g, GC_GRACE_S + 1);
	ck_assert_uint_eq(gc_collect(&g).n_retired, 2);
	uint64_t at = 0;
	ck_assert_int_eq(read_on(early, &f, &at, f.len, 64, NULL), CAIRN_OK);
	ck_assert_uint_eq(at, f.len);
	gc_pass(&g, GC_GRACE_S + 1);
	ck_assert_uint_eq(gc_collect(&g).n_swept, 2);
	at = 0;
	ck_assert_int_eq(read_on(late, &f, &at, f.len, 64, NULL), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(at, a->at[6]);
}
END_TEST

/* The reader's permission is checked again for each window of terms. */
START_TEST(taken_away_while_it_is_read)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(1, 3, 50);
	struct part *parts = calloc(MANY, sizeof(*parts));
	struct cairn_file_extent extent;
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r;
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	for (unsigned i = 0; i < MANY; i++)
		parts[i] = (struct part){x, i % 3, i % 3 + 1};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &TENANT, parts, MANY);
	CLEANUP(known_file_fini) struct known_file theirs = put_file(g.f.cas, &NEIGHBOUR, parts, MANY);
	free(parts);
	char viewer[] = "a/b";
	ck_assert_int_eq(cairn_file_reader_open(g.f.cas, viewer, &f.hash, &ALL, &extent, &r, NULL), CAIRN_OK);
	memset(viewer, 'x', sizeof(viewer) - 1); /* the reader has its own copy */
	uint64_t at = 0;
	read_some(r, &f, &at, 100);
	forget(&g, &f, "a/b");
	ck_assert_int_eq(read_on(r, &f, &at, f.len, 64, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_uint_gt(at, 100);
	ck_assert_uint_lt(at, f.len / 2);
	ck_assert_int_eq(open_status(g.f.cas, "a/c", &theirs.hash, ALL, NULL), CAIRN_OK);
}
END_TEST

/* A file of one xorb, and a file of two. */
struct shelf {
	struct gc_fixture g;
	struct stuff *a, *b;
	struct known_file one, two;
};

static void shelf_init(struct shelf *s)
{
	gc_fixture_init(&s->g);
	s->a = stuff_new(1, CHUNKS, 3000);
	s->b = stuff_new(2, CHUNKS, 3000);
	put_stuff(s->g.f.cas, s->a);
	put_stuff(s->g.f.cas, s->b);
	const struct part one = {s->a, 0, CHUNKS}, two[] = {{s->a, 0, 5}, {s->b, 0, CHUNKS}, {s->a, 5, CHUNKS}};
	s->one = put_file(s->g.f.cas, &CAS_OPERATOR, &one, 1);
	s->two = put_file(s->g.f.cas, &CAS_OPERATOR, two, 3);
}

static void shelf_fini(struct shelf *s)
{
	known_file_fini(&s->one);
	known_file_fini(&s->two);
	stuff_free(s->a);
	stuff_free(s->b);
	gc_fixture_fini(&s->g);
}

/* Flips a bit in the data of a chunk. */
static void harm(const struct shelf *s, const struct stuff *x, uint32_t chunk)
{
	cas_flip_bit(&s->g.f, &x->made.hash, (off_t)x->made.list.spans[chunk].end - 1);
}

static void remove_object(struct shelf *s, const struct stuff *x)
{
	ck_assert_int_eq(cairn_store_remove(s->g.f.cas->store, &x->made.hash, NULL), CAIRN_OK);
}

/* Puts the xorb into the object folder, as a second copy of that in a pack. */
static void put_object(const struct shelf *s, const struct stuff *x)
{
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s->g.f, &x->made.hash);
	FILE *f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(x->body.bytes, 1, x->body.len, f), x->body.len);
	ck_assert_int_eq(fclose(f), 0);
}

static void lose_row(struct shelf *s, const struct stuff *x)
{
	struct cairn_index_lose_xorb lose = {.hash = x->made.hash};
	ck_assert_int_eq(cairn_index_lose_xorb(s->g.f.cas->index, &lose), CAIRN_OK);
}

static void check_noticed(struct shelf *s, uint64_t damaged, uint64_t lost, uint64_t found)
{
	struct cairn_cas_stats stats;
	cairn_cas_stats(s->g.f.cas, &stats);
	ck_assert_uint_eq(stats.objects_damaged, damaged);
	ck_assert_uint_eq(stats.xorbs_lost, lost);
	ck_assert_uint_eq(stats.xorbs_found, found);
}

START_TEST(damage_in_the_first_chunk_is_told_at_opening)
{
	CLEANUP(shelf_fini) struct shelf s;
	struct cairn_diag diag = {0};
	shelf_init(&s);
	if (_i == 0)
		harm(&s, s.a, 0);
	else
		remove_object(&s, s.a);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.one.hash, ALL, &diag), CAIRN_E_DAMAGED);
	ck_assert_str_eq(diag.rule, _i == 0 ? "object.damaged" : "object.missing");
	check_noticed(&s, _i == 0, 1, 0);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.one.hash, ALL, &diag), CAIRN_E_DAMAGED);
	check_noticed(&s, _i == 0, 1, 0);
}
END_TEST

/* A file is lost in part: bytes before and after the damage can be read. After another upload, all bytes can. */
START_TEST(up_to_the_damage_and_from_behind_it)
{
	enum { BAD = 7 };
	CLEANUP(shelf_fini) struct shelf s;
	struct cairn_diag diag = {0};
	shelf_init(&s);
	harm(&s, s.a, BAD);
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(s.g.f.cas, &s.one, ALL);
	uint64_t at = 0;
	for (int again = 0; again < 2; again++) {
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(read_on(r, &s.one, &at, s.one.len, 1000, &diag), CAIRN_E_DAMAGED);
		ck_assert_str_eq(diag.rule, "object.damaged");
		ck_assert_uint_eq(at, s.a->at[BAD]);
		check_noticed(&s, 1, 1, 0);
	}
	check_range(s.g.f.cas, &s.one, from_to(s.a->at[BAD + 1], UINT64_MAX), s.a->at[BAD + 1], s.one.len, 999);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.one.hash, from_to(s.a->at[BAD], s.a->at[BAD]), NULL),
			 CAIRN_E_DAMAGED);
	put_stuff(s.g.f.cas, s.a);
	ck_assert_int_eq(read_on(r, &s.one, &at, s.one.len, 1000, NULL), CAIRN_OK);
	ck_assert_uint_eq(at, s.one.len);
}
END_TEST

/* The damaged copy is in the object folder, which is searched first. The sound copy is in a pack. */
START_TEST(another_copy)
{
	CLEANUP(shelf_fini) struct shelf s;
	struct cairn_pack_options options = {.name = "p.shard"};
	struct cairn_pack_report report;
	shelf_init(&s);
	ck_assert_int_eq(cairn_cas_pack(s.g.f.cas, &options, &report, NULL), CAIRN_OK);
	check_range(s.g.f.cas, &s.two, ALL, 0, s.two.len, 10000); /* read from the pack */
	put_object(&s, s.a);
	harm(&s, s.a, _i == 0 ? 0 : 7);
	check_range(s.g.f.cas, &s.two, ALL, 0, s.two.len, 10000);
	check_noticed(&s, 1, 0, 0);
}
END_TEST

/* The object is cut while it is open. Reading fails, and the copies are looked up again. */
START_TEST(cut_while_it_is_read)
{
	CLEANUP(shelf_fini) struct shelf s;
	struct cairn_diag diag = {0};
	shelf_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.a->made.hash);
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(s.g.f.cas, &s.one, ALL);
	ck_assert_int_eq(truncate(path, (off_t)s.a->made.list.spans[6].end), 0);
	uint64_t at = 0;
	ck_assert_int_eq(read_on(r, &s.one, &at, s.one.len, 1000, &diag), CAIRN_E_DAMAGED);
	ck_assert_str_eq(diag.rule, "object.damaged");
	ck_assert_uint_eq(at, s.a->at[7]);
	check_noticed(&s, 1, 1, 0);
}
END_TEST

/* Returns the same chunks, all of them uncompressed. */
static struct vec_bytes repacked(const struct stuff *x)
{
	struct cairn_buf out = cairn_buf_init(1 << 20);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		uint32_t len = (uint32_t)(x->at[i + 1] - x->at[i]);
		xorb_add_chunk(&out, len, len, CAIRN_SCHEME_NONE, x->raw + x->at[i], len);
	}
	struct vec_bytes body = vec_copy(out.bytes, out.len);
	cairn_buf_fini(&out);
	return body;
}

/* Between two terms of a xorb, its object is replaced by one of another layout, so the cached list no longer fits. */
START_TEST(packed_anew_while_it_is_read)
{
	CLEANUP(shelf_fini) struct shelf s;
	shelf_init(&s);
	CLEANUP(vec_bytes_fini) struct vec_bytes other = repacked(s.a);
	char text[CAIRN_HASH_TEXT_BYTES];
	bool inserted;
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(s.g.f.cas, &s.two, ALL);
	uint64_t at = 0;
	read_some(r, &s.two, &at, s.a->at[5] + 1); /* reads into b */
	lose_row(&s, s.a);
	remove_object(&s, s.a);
	cairn_hash_text(text, &s.a->made.hash);
	ck_assert_int_eq(cas_put_xorb(s.g.f.cas, text, &other, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(read_on(r, &s.two, &at, s.two.len, 1 << 20, NULL), CAIRN_OK);
	ck_assert_uint_eq(at, s.two.len);
	check_noticed(&s, 0, 0, 0);
}
END_TEST

/* An object is sound, but a row is wrong: that of the xorb or that of its chunks. */
START_TEST(a_row_that_is_wrong_is_mended)
{
	static const char *const SQL[] = {
		"UPDATE xorb SET stored = NULL",
		"UPDATE list SET hashes = zeroblob(length(hashes))",
	};
	CLEANUP(shelf_fini) struct shelf s;
	shelf_init(&s);
	fx_sql(s.g.f.dir.path, SQL[_i]);
	check_range(s.g.f.cas, &s.two, ALL, 0, s.two.len, 10000);
	check_noticed(&s, 0, _i == 0 ? 0 : 2, 2);
	check_range(s.g.f.cas, &s.two, ALL, 0, s.two.len, 10000);
	check_noticed(&s, 0, _i == 0 ? 0 : 2, 2);
}
END_TEST

/* A list that one reader has verified is not read from the index again, by other readers or fetches, while the object
 * stays the same. */
START_TEST(a_list_is_verified_once)
{
	CLEANUP(shelf_fini) struct shelf s;
	struct cairn_cas_stats stats;
	shelf_init(&s);
	check_range(s.g.f.cas, &s.one, from_to(0, 9), 0, 10, 10000);
	fx_sql(s.g.f.dir.path, "UPDATE list SET hashes = zeroblob(length(hashes))");
	check_range(s.g.f.cas, &s.one, ALL, 0, s.one.len, 10000);
	cairn_cas_stats(s.g.f.cas, &stats);
	ck_assert_uint_eq(stats.verified_lists_added, 1);
	ck_assert_uint_eq(stats.verified_lists_hits, 1);
	check_noticed(&s, 0, 0, 0);
	cas_fixture_reopen(&s.g.f, NULL);
	check_range(s.g.f.cas, &s.one, ALL, 0, s.one.len, 10000);
	check_noticed(&s, 0, 1, 1);
}
END_TEST

START_TEST(terms_that_contradict_their_xorb)
{
	static const char *const BYTES[] = {
		"x'00000000'", "x'04000300'", "x'ffff0000'", "x'0000ffff'", /* damaged chunk lists */
	};
	CLEANUP(shelf_fini) struct shelf s;
	char sql[160];
	shelf_init(&s);
	(void)snprintf(sql, sizeof(sql),
		       "UPDATE file SET terms = CAST(substr(terms, 1, 8) || %s || substr(terms, 13) AS BLOB)",
		       BYTES[_i]);
	fx_sql(s.g.f.dir.path, sql);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.one.hash, ALL, NULL), CAIRN_E_CONFLICT);
	check_noticed(&s, 0, 0, 0);
}
END_TEST

/* A term without chunks and bytes adds nothing. */
START_TEST(a_term_without_chunks_reads_nothing)
{
	CLEANUP(shelf_fini) struct shelf s;
	shelf_init(&s);
	fx_sql(s.g.f.dir.path, "UPDATE file SET terms = CAST(substr(terms, 1, 32) || zeroblob(16) || substr(terms, 25)"
			       " AS BLOB)");
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(s.g.f.cas, &s.two, ALL);
	uint64_t at = 0;
	ck_assert_int_eq(read_on(r, &s.two, &at, s.two.len, 1000, NULL), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(at, s.a->at[5]);
}
END_TEST

/* The terms have fewer or more bytes than the file, so no position in the file is certain. */
START_TEST(terms_of_another_length)
{
	static const char *const SQL[] = {
		"UPDATE file SET terms = substr(terms, 1, 24) WHERE length(terms) > 24",
		"UPDATE file SET terms = CAST(substr(terms, 1, 13) || x'ff' || substr(terms, 15) AS BLOB)",
	};
	CLEANUP(shelf_fini) struct shelf s;
	shelf_init(&s);
	fx_sql(s.g.f.dir.path, SQL[_i]);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.two.hash, ALL, NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(open_status(s.g.f.cas, NULL, &s.two.hash, from_to(s.two.len - 1, UINT64_MAX), NULL),
			 CAIRN_E_CONFLICT);
}
END_TEST

/* The chunks are sound, but not this file's. A client that reads the whole file must not see a successful end. */
START_TEST(chunks_of_another_file)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_sized(1, CHUNKS, 300, 300);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	const struct part parts[] = {{x, 0, 2}, {x, 4, 6}, {x, 8, 10}};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, 3);
	fx_sql(g.f.dir.path, "UPDATE file SET terms = CAST(substr(terms, 1, 32) || x'05000700' || substr(terms, 37)"
			     " AS BLOB)");
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(g.f.cas, &f, ALL);
	uint8_t out[10 * 300];
	size_t n;
	ck_assert_int_eq(cairn_file_reader_read(r, out, sizeof(out), &n, NULL), CAIRN_OK);
	ck_assert_uint_eq(n, 5 * 300);
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(cairn_file_reader_read(r, out, sizeof(out), &n, NULL), CAIRN_E_CONFLICT);
		ck_assert_uint_eq(n, 0);
	}
}
END_TEST

/* The total length is right, but that of each term is wrong. A range must not begin at a wrong byte. */
START_TEST(terms_with_shifted_lengths)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_sized(1, CHUNKS, 300, 300);
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	const struct part parts[] = {{x, 0, 2}, {x, 4, 6}};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, 2);
	fx_sql(g.f.dir.path, "UPDATE file SET terms = CAST(substr(terms, 1, 12) || x'57020000' || substr(terms, 17, 20)"
			     " || x'59020000' || substr(terms, 41) AS BLOB)"); /* 599 and 601 bytes instead of 600 */
	ck_assert_int_eq(open_status(g.f.cas, NULL, &f.hash, from_to(650, 1000), NULL), CAIRN_E_CONFLICT);
}
END_TEST

/* Object and list agree, but belong to another xorb: their chunks are sound, but not the requested ones. */
START_TEST(a_list_and_an_object_of_another_xorb)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *a = stuff_sized(1, CHUNKS, 300, 300), *b = stuff_sized(2, CHUNKS, 300, 300);
	struct cairn_diag diag = {0};
	gc_fixture_init(&g);
	put_stuff(g.f.cas, a);
	put_stuff(g.f.cas, b);
	const struct part all = {a, 0, CHUNKS};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, &all, 1);
	CLEANUP(tempdir_textp) char *of_a = cas_object_path(&g.f, &a->made.hash);
	CLEANUP(tempdir_textp) char *of_b = cas_object_path(&g.f, &b->made.hash);
	ck_assert_int_eq(rename(of_b, of_a), 0);
	fx_sql(g.f.dir.path, "UPDATE list SET hashes = (SELECT hashes FROM list WHERE xorb = 2),"
			     " spans = (SELECT spans FROM list WHERE xorb = 2)");
	ck_assert_int_eq(open_status(g.f.cas, NULL, &f.hash, from_to(1, 1000), &diag), CAIRN_E_DAMAGED);
	ck_assert_str_eq(diag.rule, "object.damaged");
}
END_TEST

/* A file of many terms is lost and uploaded again with few. The next window still begins at the right byte. */
START_TEST(uploaded_again_with_other_terms)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(stuff_freep) struct stuff *x = stuff_new(1, 3000, 50), *y = calloc(1, sizeof(*y));
	struct part *parts = calloc(2990, sizeof(*parts));
	gc_fixture_init(&g);
	put_stuff(g.f.cas, x);
	for (unsigned i = 0; i < 2990; i++)
		parts[i] = (struct part){x, i, i + 1};
	CLEANUP(known_file_fini) struct known_file f = put_file(g.f.cas, &CAS_OPERATOR, parts, 2990);
	free(parts);
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = must_open(g.f.cas, &f, ALL);
	y->raw = malloc(x->at[2990]);
	ck_assert_ptr_nonnull(y->raw);
	memcpy(y->raw, x->raw, x->at[2990]);
	memcpy(y->at, x->at, sizeof(y->at));
	stuff_pack(y, 2990);
	put_stuff(g.f.cas, y);
	struct cairn_index_lose_xorb lose = {.hash = x->made.hash};
	ck_assert_int_eq(cairn_index_lose_xorb(g.f.cas->index, &lose), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(g.f.cas->store, &x->made.hash, NULL), CAIRN_OK);
	register_file(g.f.cas, &CAS_OPERATOR, (struct made_term[]){{&y->made, 0, 2000}, {&y->made, 2000, 2990}}, 2);
	uint64_t at = 0;
	ck_assert_int_eq(read_on(r, &f, &at, f.len, 1000, NULL), CAIRN_OK);
	ck_assert_uint_eq(at, f.len);
}
END_TEST

static Suite *file_reader_suite(void)
{
	Suite *s = suite_create("file_reader");
	TCase *t = tcase_create("file_reader");
	tcase_add_test(t, a_whole_file_of_all_schemes);
	tcase_add_test(t, chunks_of_the_greatest_length);
	tcase_add_test(t, ranges);
	tcase_add_test(t, past_the_end_unknown_and_empty);
	tcase_add_test(t, ten_thousand_terms);
	tcase_add_test(t, many_terms_are_read_a_few_times);
	tcase_add_test(t, a_viewer_reads_only_files_of_its_repository);
	tcase_add_test(t, forgotten_while_it_is_read);
	tcase_add_test(t, taken_away_while_it_is_read);
	tcase_add_loop_test(t, damage_in_the_first_chunk_is_told_at_opening, 0, 2);
	tcase_add_test(t, up_to_the_damage_and_from_behind_it);
	tcase_add_loop_test(t, another_copy, 0, 2);
	tcase_add_test(t, cut_while_it_is_read);
	tcase_add_test(t, packed_anew_while_it_is_read);
	tcase_add_loop_test(t, a_row_that_is_wrong_is_mended, 0, 2);
	tcase_add_test(t, a_list_is_verified_once);
	tcase_add_loop_test(t, terms_that_contradict_their_xorb, 0, 4);
	tcase_add_test(t, a_term_without_chunks_reads_nothing);
	tcase_add_loop_test(t, terms_of_another_length, 0, 2);
	tcase_add_test(t, chunks_of_another_file);
	tcase_add_test(t, terms_with_shifted_lengths);
	tcase_add_test(t, a_list_and_an_object_of_another_xorb);
	tcase_add_test(t, uploaded_again_with_other_terms);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(file_reader_suite());
}
