/* Planning edits of a file over a real index, compared with the rules written out over whole lists. */
#include "base/bytes.h"
#include "cas/internal.h"
#include "cas/serve/chunk_walk.h"
#include "cas/serve/file_chunks.h"
#include "support/cas_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"
#include "support/subtree_merge.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, XORBS = 3, XORB_CHUNKS = 120, TERMS = 9, CHUNKS_MAX = TERMS * XORB_CHUNKS, RANGES_MAX = 4 };

/* A file over made-up xorbs, and its chunks in the order of the file. */
struct edit_file {
	struct fx_xorb xorbs[XORBS];
	struct fx_shard shard;
	struct cairn_hash hash;
	size_t n_chunks;
	struct cairn_merkle_node chunks[CHUNKS_MAX];
	size_t term_end[TERMS]; /* counted in chunks */
	uint64_t bytes;
};

/* Returns a length for a chunk: usually an ordinary one, sometimes one that marks no boundary. */
static uint32_t edit_chunk_bytes(uint64_t *seed)
{
	static const uint32_t LENGTHS[] = {8 * KIB,       16 * KIB - 1, 16 * KIB,  60 * KIB, 70 * KIB,
					   120 * KIB - 1, 120 * KIB,    128 * KIB, 1,        40 * KIB};
	return LENGTHS[vec_splitmix64(seed) % 10];
}

static struct fx_xorb edit_xorb(uint64_t *seed)
{
	struct fx_xorb x = {0};
	for (uint32_t i = 0; i < XORB_CHUNKS; i++) {
		struct cairn_hash hash = fx_hash("edit", vec_splitmix64(seed));
		struct cairn_span span = {edit_chunk_bytes(seed), (i + 1) * 100};
		ck_assert_int_eq(cairn_chunk_list_add(&x.list, &hash, span), CAIRN_OK);
	}
	cairn_chunk_list_root(&x.list, &x.hash);
	return x;
}

static void edit_add_term(struct edit_file *f, struct fx_file *file, size_t term, uint64_t *seed)
{
	const struct fx_xorb *x = &f->xorbs[vec_splitmix64(seed) % XORBS];
	uint32_t start = (uint32_t)(vec_splitmix64(seed) % XORB_CHUNKS);
	uint32_t end = start + 1 + (uint32_t)(vec_splitmix64(seed) % (XORB_CHUNKS - start));
	fx_shard_term(file, x, start, end);
	for (uint32_t i = start; i < end; i++) {
		f->chunks[f->n_chunks++] =
			(struct cairn_merkle_node){x->list.hashes[i], x->list.spans[i].unpacked_bytes};
		f->bytes += x->list.spans[i].unpacked_bytes;
	}
	f->term_end[term] = f->n_chunks;
}

static struct edit_file *edit_file_new(struct cairn_cas *cas, uint64_t seed)
{
	struct edit_file *f = calloc(1, sizeof(*f));
	ck_assert_ptr_nonnull(f);
	fx_shard_init(&f->shard, seed);
	for (int i = 0; i < XORBS; i++) {
		f->xorbs[i] = edit_xorb(&seed);
		fx_xorb_put(cas->index, &f->xorbs[i]);
	}
	struct fx_file *file = fx_shard_file(&f->shard, seed, NULL, 0, 0);
	for (size_t i = 0; i < TERMS; i++)
		edit_add_term(f, file, i, &seed);
	f->hash = file->file.hash;
	ck_assert_int_eq(fx_shard_put(cas->index, &f->shard), CAIRN_OK);
	return f;
}

static void edit_file_freep(struct edit_file **f)
{
	for (int i = 0; i < XORBS; i++)
		fx_xorb_fini(&(*f)->xorbs[i]);
	free(*f);
}

static bool edit_is_dirty(const struct cairn_byte_range *ranges, size_t n, uint64_t first, uint64_t end)
{
	for (size_t i = 0; i < n; i++)
		if (ranges[i].first < end && first <= ranges[i].last)
			return true;
	return false;
}

static bool edit_is_ordinary(const struct cairn_merkle_node *chunk)
{
	return chunk->bytes >= 16384 && chunk->bytes < 122880;
}

/* Numbers the windows: window[i] is the window of chunk i, from 1; 0: none. @return the number of windows */
static uint32_t edit_windows(const struct edit_file *f, const struct cairn_byte_range *ranges, size_t n_ranges,
			     uint32_t window[CHUNKS_MAX])
{
	bool dirty[CHUNKS_MAX];
	uint64_t at = 0;
	uint32_t n = 0;
	for (size_t i = 0; i < f->n_chunks; at += f->chunks[i++].bytes)
		dirty[i] = edit_is_dirty(ranges, n_ranges, at, at + f->chunks[i].bytes);
	bool in = false;
	for (size_t i = 0; i < f->n_chunks; i++) {
		n += !in && dirty[i];
		in = in || dirty[i];
		window[i] = in ? n : 0;
		if (in && !dirty[i] && i >= 2 && !dirty[i - 1] && edit_is_ordinary(&f->chunks[i]) &&
		    edit_is_ordinary(&f->chunks[i - 1]))
			in = false;
	}
	return n;
}

/* Joins the pieces that it gets, and compares the result. */
struct edit_sink {
	const struct edit_file *f;
	uint32_t window[CHUNKS_MAX];
	size_t at; /* the chunk with which the next range or window begins */
	unsigned n_ranges;
	struct cairn_subtree whole;
	bool begun;
	unsigned terms_left; /* fail after this many terms */
};

static size_t edit_next(const struct edit_sink *s, size_t at)
{
	uint32_t window = s->window[at];
	while (at < s->f->n_chunks && s->window[at] == window)
		at++;
	return at;
}

/* Appends a piece and takes ownership of it. */
static void edit_merge(struct edit_sink *s, struct cairn_subtree piece)
{
	if (s->begun) {
		subtree_merge(&s->whole, &piece);
		cairn_subtree_fini(&piece);
	} else {
		s->whole = piece;
		s->begun = true;
	}
}

static void edit_range(void *ctx, const struct cairn_subtree *range)
{
	struct edit_sink *s = ctx;
	size_t n = s->f->n_chunks, end = s->at;
	s->n_ranges++;
	if (end < n && s->window[end] == 0)
		end = edit_next(s, end);
	if (end == s->at) {
		ck_assert_ptr_null(range);
	} else {
		struct cairn_subtree want = subtree_of(s->f->chunks + s->at, end - s->at, s->at == 0, end == n);
		ck_assert_ptr_nonnull(range);
		ck_assert_msg(subtree_same(range, &want), "chunks %zu to %zu", s->at, end);
		edit_merge(s, want);
	}
	if (end == n)
		return;
	/* the next window is unchanged here, so the result is the file's own hash */
	s->at = edit_next(s, end);
	edit_merge(s, subtree_of(s->f->chunks + end, s->at - end, end == 0, s->at == n));
}

static bool edit_go_on(void *ctx)
{
	struct edit_sink *s = ctx;
	return s->terms_left-- > 0;
}

static void edit_check_windows(const struct edit_sink *s, uint32_t n_windows, const struct cairn_file_chunks *have)
{
	uint64_t at = 0;
	ck_assert_uint_eq(have->n_windows, n_windows);
	for (size_t i = 0; i < s->f->n_chunks; at += s->f->chunks[i++].bytes) {
		uint32_t w = s->window[i];
		uint64_t end = at + s->f->chunks[i].bytes;
		if (w > 0 && (i == 0 || s->window[i - 1] != w))
			ck_assert_uint_eq(have->windows[w - 1].first, at);
		if (w > 0 && (i + 1 == s->f->n_chunks || s->window[i + 1] != w))
			ck_assert_uint_eq(have->windows[w - 1].end, end);
	}
}

static void edit_check_kept(const struct edit_sink *s, const struct cairn_file_chunks *have)
{
	const struct edit_file *f = s->f;
	uint32_t n = 0;
	for (size_t t = 0, from = 0; t < TERMS; from = f->term_end[t++]) {
		struct cairn_range_hasher h;
		struct cairn_hash want;
		bool touched = false;
		cairn_range_hash_init(&h);
		for (size_t i = from; i < f->term_end[t]; i++) {
			touched = touched || s->window[i] > 0;
			cairn_range_hash_add(&h, &f->chunks[i].hash, 1);
		}
		if (touched)
			continue;
		cairn_range_hash_end(&h, &want);
		ck_assert_uint_lt(n, have->n_kept);
		ck_assert(cairn_hash_equal(&have->kept[n], &want));
		n++;
	}
	ck_assert_uint_eq(have->n_kept, n);
}

static void edit_check(struct cairn_cas *cas, const struct edit_file *f, const struct cairn_byte_range *ranges,
		       size_t n_ranges)
{
	struct edit_sink s = {.f = f};
	const struct cairn_file_chunks_sink sink = {.ctx = &s, .range = edit_range};
	CLEANUP(cairn_file_chunks_fini) struct cairn_file_chunks have = {0};
	uint32_t n_windows = edit_windows(f, ranges, n_ranges, s.window);
	ck_assert_int_eq(cairn_cas_file_chunks(cas, NULL, &f->hash, ranges, n_ranges, &sink, &have, NULL), CAIRN_OK);
	ck_assert_uint_eq(have.n_chunks, f->n_chunks);
	ck_assert_uint_eq(have.file_bytes, f->bytes);
	ck_assert_uint_eq(s.n_ranges, n_windows + 1);
	edit_check_windows(&s, n_windows, &have);
	edit_check_kept(&s, &have);

	struct cairn_merkle m;
	struct cairn_hash want, root = subtree_root(&s.whole);
	cairn_merkle_init(&m);
	for (size_t i = 0; i < f->n_chunks; i++)
		cairn_merkle_add(&m, &f->chunks[i].hash, f->chunks[i].bytes);
	cairn_merkle_root(&m, &want);
	ck_assert(cairn_hash_equal(&root, &want));
	cairn_subtree_fini(&s.whole);
}

static struct cairn_byte_range bytes_of(uint64_t first, uint64_t last)
{
	return (struct cairn_byte_range){.kind = CAIRN_RANGE_FROM_TO, .first = first, .last = last};
}

START_TEST(windows_and_ranges_are_those_of_the_rules)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	for (uint64_t seed = 1; seed <= 6; seed++) {
		CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, seed);
		uint64_t state = seed;
		for (int i = 0; i < 25; i++) {
			struct cairn_byte_range ranges[RANGES_MAX];
			size_t n = 1 + vec_splitmix64(&state) % RANGES_MAX;
			for (size_t k = 0; k < n; k++) {
				uint64_t first = vec_splitmix64(&state) % f->bytes;
				ranges[k] = bytes_of(first, first + vec_splitmix64(&state) % (300 * KIB));
			}
			edit_check(fx.cas, f, ranges, n);
		}
	}
}
END_TEST

START_TEST(ranges_at_the_edges_of_chunks_and_of_the_file)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, 9);
	const uint64_t first = f->chunks[0].bytes, last = f->bytes - f->chunks[f->n_chunks - 1].bytes;
	const struct cairn_byte_range edges[] = {
		bytes_of(0, 0),
		bytes_of(0, first - 1),
		bytes_of(first, first),
		bytes_of(last - 1, last - 1),
		bytes_of(last, last),
		bytes_of(f->bytes - 1, f->bytes - 1),
		bytes_of(0, f->bytes - 1),
		bytes_of(f->bytes - 1, UINT64_MAX),
	};
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		edit_check(fx.cas, f, &edges[i], 1);
	/* ranges in any order, one within another, and one past the end, which is ignored */
	const struct cairn_byte_range mixed[] = {bytes_of(last, last), bytes_of(f->bytes, f->bytes + 5), bytes_of(0, 9),
						 bytes_of(3, 4)};
	edit_check(fx.cas, f, mixed, 4);
}
END_TEST

START_TEST(a_suffix_is_the_end_of_the_file)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, 4);
	struct edit_sink s = {.f = f};
	const struct cairn_file_chunks_sink sink = {.ctx = &s, .range = edit_range};
	CLEANUP(cairn_file_chunks_fini) struct cairn_file_chunks have = {0};
	struct cairn_byte_range suffix = {.kind = CAIRN_RANGE_SUFFIX, .suffix_bytes = 1};
	struct cairn_byte_range same = bytes_of(f->bytes - 1, f->bytes - 1);
	ck_assert_uint_eq(edit_windows(f, &same, 1, s.window), 1);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &f->hash, &suffix, 1, &sink, &have, NULL), CAIRN_OK);
	edit_check_windows(&s, 1, &have);
	cairn_subtree_fini(&s.whole);
}
END_TEST

static void ignore_range(void *ctx, const struct cairn_subtree *range)
{
	(void)range;
	++*(unsigned *)ctx;
}

START_TEST(unknown_files_and_ranges_are_refused)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, 2);
	struct cairn_hash unknown = fx_hash("file", 12345);
	struct cairn_byte_range past = bytes_of(f->bytes, f->bytes), good = bytes_of(0, 0);
	unsigned n = 0;
	const struct cairn_file_chunks_sink sink = {.ctx = &n, .range = ignore_range};
	struct cairn_file_chunks out;
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &unknown, &good, 1, &sink, &out, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &f->hash, &past, 1, &sink, &out, NULL), CAIRN_E_USAGE);
	ck_assert_uint_eq(out.file_bytes, f->bytes);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &f->hash, &good, 0, &sink, &out, NULL), CAIRN_E_USAGE);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(a_sink_can_give_up)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, 3);
	struct cairn_byte_range last = bytes_of(f->bytes - 1, f->bytes - 1);
	struct edit_sink s = {.f = f, .terms_left = TERMS - 1};
	struct cairn_file_chunks_sink sink = {.ctx = &s, .range = edit_range, .go_on = edit_go_on};
	struct cairn_file_chunks out;
	edit_windows(f, &last, 1, s.window);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &f->hash, &last, 1, &sink, &out, NULL), CAIRN_E_BUSY);
	s = (struct edit_sink){.f = f, .terms_left = TERMS};
	edit_windows(f, &last, 1, s.window);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &f->hash, &last, 1, &sink, &out, NULL), CAIRN_OK);
	cairn_subtree_fini(&s.whole);
	cairn_file_chunks_fini(&out);
}
END_TEST

START_TEST(files_are_read_on_behalf_of_a_viewer)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	struct cairn_hash hash = fx_put_four_chunks(fx.cas->index, "models/a/b");
	struct cairn_byte_range good = bytes_of(0, 0);
	unsigned n = 0;
	const struct cairn_file_chunks_sink sink = {.ctx = &n, .range = ignore_range};
	CLEANUP(cairn_file_chunks_fini) struct cairn_file_chunks out = {0};
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, "models/a/c", &hash, &good, 1, &sink, &out, NULL),
			 CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, "models/a/b", &hash, &good, 1, &sink, &out, NULL), CAIRN_OK);
	ck_assert_uint_eq(n, 2);
}
END_TEST

/* A bit flipped in the terms of a file makes planning fail without reading out of bounds. */
START_TEST(damaged_terms_are_a_conflict)
{
	static const char *const starts[] = {"x'0400'", "x'0500'", "x'ffff'"};
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	struct cairn_hash hash = fx_put_four_chunks(fx.cas->index, "");
	struct cairn_byte_range good = bytes_of(0, 0);
	unsigned n = 0;
	const struct cairn_file_chunks_sink sink = {.ctx = &n, .range = ignore_range};
	struct cairn_file_chunks out;
	char sql[160];
	(void)snprintf(sql, sizeof(sql),
		       "UPDATE file SET terms = CAST(substr(terms, 1, 8) || %s || substr(terms, 11) AS BLOB)",
		       starts[_i]);
	fx_sql(fx.dir.path, sql);
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &hash, &good, 1, &sink, &out, NULL), CAIRN_E_CONFLICT);
}
END_TEST

/* Between two windows are more chunks than are kept, all of them equal, so nothing shows where their groups begin. */
START_TEST(a_gap_that_does_not_fold_is_refused)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	struct fx_xorb x = {0};
	struct fx_shard shard;
	struct cairn_hash zeros = fx_hash("zeros", 1);
	zeros.b[24] |= 1;
	for (uint32_t i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++)
		ck_assert_int_eq(cairn_chunk_list_add(&x.list, &zeros, (struct cairn_span){50000, i + 1}), CAIRN_OK);
	cairn_chunk_list_root(&x.list, &x.hash);
	fx_xorb_put(fx.cas->index, &x);
	fx_shard_init(&shard, 1);
	struct fx_file *file = fx_shard_file(&shard, 1, &x, 0, CAIRN_XORB_CHUNKS_MAX);
	for (int i = 0; i < 8; i++)
		fx_shard_term(file, &x, 0, CAIRN_XORB_CHUNKS_MAX);
	uint64_t bytes = file->file.size_bytes;
	ck_assert_int_eq(fx_shard_put(fx.cas->index, &shard), CAIRN_OK);
	unsigned n = 0;
	const struct cairn_file_chunks_sink sink = {.ctx = &n, .range = ignore_range};
	const struct cairn_byte_range both[] = {bytes_of(0, 0), bytes_of(bytes - 1, bytes - 1)};
	CLEANUP(cairn_file_chunks_fini) struct cairn_file_chunks out = {0};
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &file->file.hash, both, 2, &sink, &out, &diag),
			 CAIRN_E_LIMIT);
	ck_assert_str_eq(diag.rule, "dirty.too_regular");
	/* A gap that includes one end of the file can be merged into one subtree. */
	ck_assert_int_eq(cairn_cas_file_chunks(fx.cas, NULL, &file->file.hash, both + 1, 1, &sink, &out, NULL),
			 CAIRN_OK);
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(a_walk_gives_the_lengths_of_chunks)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture fx = cas_fixture_new();
	CLEANUP(edit_file_freep) struct edit_file *f = edit_file_new(fx.cas, 5);
	CLEANUP(cairn_chunk_walk_fini) struct cairn_chunk_walk walk = {0};
	const struct cairn_hash none = fx_hash("none", 1);
	uint32_t len;
	ck_assert_int_eq(cairn_chunk_walk_begin(&walk, fx.cas, &none), CAIRN_E_NOT_FOUND);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(cairn_chunk_walk_begin(&walk, fx.cas, &f->hash), CAIRN_OK);
		for (size_t i = 0; i <= f->n_chunks; i++) {
			ck_assert_int_eq(cairn_chunk_walk_next(&walk, &len), CAIRN_OK);
			ck_assert_uint_eq(len, i < f->n_chunks ? f->chunks[i].bytes : 0);
		}
	}
	uint64_t at = 0;
	for (size_t i = 0; i < f->n_chunks; at += f->chunks[i++].bytes) {
		ck_assert_int_eq(cairn_chunk_walk_seek(&walk, at), CAIRN_OK);
		ck_assert_int_eq(cairn_chunk_walk_next(&walk, &len), CAIRN_OK);
		ck_assert_uint_eq(len, f->chunks[i].bytes);
		if (len > 1)
			ck_assert_int_eq(cairn_chunk_walk_seek(&walk, at + 1), CAIRN_E_NOT_FOUND);
	}
	ck_assert_int_eq(cairn_chunk_walk_seek(&walk, f->bytes + 1), CAIRN_E_NOT_FOUND);
}
END_TEST

static Suite *file_chunks_suite(void)
{
	Suite *s = suite_create("file_chunks");
	TCase *t = tcase_create("file_chunks");
	tcase_add_test(t, windows_and_ranges_are_those_of_the_rules);
	tcase_add_test(t, ranges_at_the_edges_of_chunks_and_of_the_file);
	tcase_add_test(t, a_suffix_is_the_end_of_the_file);
	tcase_add_test(t, unknown_files_and_ranges_are_refused);
	tcase_add_test(t, a_sink_can_give_up);
	tcase_add_test(t, files_are_read_on_behalf_of_a_viewer);
	tcase_add_test(t, a_walk_gives_the_lengths_of_chunks);
	tcase_add_loop_test(t, damaged_terms_are_a_conflict, 0, 3);
	tcase_add_test(t, a_gap_that_does_not_fold_is_refused);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(file_chunks_suite());
}
