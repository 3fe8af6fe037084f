/* How a push places chunks. The daemon's verification checks the shards. */
#include "dedupe/placer.h"
#include "dedupe/shards.h"
#include "support/run.h"
#include "verify/verify.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 10 * 1000 };

static uint8_t RAW[CAIRN_CHUNK_BYTES_MAX];

/* Returns the hash of a numbered chunk. The placer sees only hashes and lengths. */
static struct cairn_hash chunk_hash(uint32_t number)
{
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, &number, sizeof(number));
	return hash;
}

static struct cairn_hash file_hash(const uint32_t *numbers, size_t n, size_t len)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	struct cairn_hash root, file;
	for (size_t i = 0; i < n; i++) {
		struct cairn_hash hash = chunk_hash(numbers[i]);
		ck_assert_int_eq(
			cairn_chunk_list_add(&list, &hash, (struct cairn_span){.unpacked_bytes = (uint32_t)len}),
			CAIRN_OK);
	}
	cairn_chunk_list_root(&list, &root);
	cairn_hash_file(&file, &root);
	return file;
}

/* The server of the test: it knows one xorb, and stores what it receives. */
struct server {
	struct cairn_placer placer;
	struct cairn_chunk_list known; /* its xorb */
	struct cairn_chunk_list last;  /* the xorb that was closed last */
	bool takes_parts;              /* files may have no SHA-256 */
	struct cairn_hash key;
	unsigned n_queries, n_added, n_closed, n_shards;
	enum cairn_status close_answer;
	size_t shard_bytes_max;
	struct cairn_verify_summary sum;
};

static enum cairn_status on_query(void *ctx, struct cairn_placer *p, const struct cairn_hash *chunk,
				  struct cairn_diag *diag)
{
	struct server *s = ctx;
	struct cairn_hash root;
	uint32_t ordinal = 0;
	(void)diag;
	s->n_queries++;
	bool known = false;
	for (uint32_t i = 0; i < s->known.n; i++)
		known = known || cairn_hash_equal(chunk, &s->known.hashes[i]);
	if (!known)
		return CAIRN_OK;
	cairn_chunk_list_root(&s->known, &root);
	ck_assert_int_eq(cairn_placer_learn_xorb(p, &root, &ordinal), CAIRN_OK);
	for (uint32_t i = 0; i < s->known.n; i++) {
		struct cairn_hash keyed;
		cairn_hash_keyed(&keyed, &s->key, &s->known.hashes[i]);
		ck_assert_int_eq(cairn_placer_learn_chunk(p, &s->key, ordinal, i, &keyed), CAIRN_OK);
	}
	return CAIRN_OK;
}

static enum cairn_status on_add(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				struct cairn_diag *diag)
{
	(void)chunk;
	(void)raw;
	(void)len;
	(void)diag;
	((struct server *)ctx)->n_added++;
	return CAIRN_OK;
}

static enum cairn_status on_close(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				  struct cairn_diag *diag)
{
	struct server *s = ctx;
	struct cairn_hash root;
	(void)diag;
	cairn_chunk_list_root(list, &root);
	ck_assert(cairn_hash_equal(&root, xorb));
	ck_assert_uint_le(cairn_chunk_list_bytes(list, 0, list->n), CAIRN_XORB_BYTES_MAX);
	cairn_chunk_list_fini(&s->last);
	for (uint32_t i = 0; i < list->n; i++)
		ck_assert_int_eq(cairn_chunk_list_add(&s->last, &list->hashes[i], list->spans[i]), CAIRN_OK);
	s->n_closed++;
	return s->close_answer;
}

static const struct cairn_placer_ops OPS = {.query = on_query, .add = on_add, .close = on_close};

static enum cairn_status resolve(void *ctx, const struct cairn_hash *xorb, bool described,
				 const struct cairn_chunk_list **list, int64_t *id)
{
	(void)described;
	(void)id;
	const struct server *s = ctx;
	struct cairn_hash root;
	cairn_chunk_list_root(&s->known, &root);
	*list = NULL;
	if (cairn_hash_equal(&root, xorb))
		*list = &s->known;
	cairn_chunk_list_root(&s->last, &root);
	if (cairn_hash_equal(&root, xorb))
		*list = &s->last;
	for (size_t i = 0; i < s->placer.n_xorbs; i++) {
		if (s->placer.xorbs[i].list.n > 0 && cairn_hash_equal(&s->placer.xorbs[i].hash, xorb))
			*list = &s->placer.xorbs[i].list;
	}
	return *list ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

static enum cairn_status on_shard(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct server *s = ctx;
	const struct cairn_verify_resolver resolver = {.ctx = s, .chunk_list = resolve};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	struct cairn_verify_summary sum;
	struct cairn_diag why = {0};
	(void)diag;
	options.strict = !s->takes_parts;
	ck_assert_uint_le(len, s->shard_bytes_max);
	enum cairn_status status = cairn_verify_shard(bytes, len, &options, &resolver, &sum, &why);
	ck_assert_msg(status == CAIRN_OK, "%s", why.text);
	s->sum.n_files += sum.n_files;
	s->sum.n_terms += sum.n_terms;
	s->sum.n_xorbs += sum.n_xorbs;
	s->sum.n_chunks += sum.n_chunks;
	s->n_shards++;
	return CAIRN_OK;
}

static void server_init(struct server *s, uint32_t known_from, uint32_t known_to)
{
	memset(s, 0, sizeof(*s));
	s->shard_bytes_max = CAIRN_SHARDS_BYTES_MAX;
	memset(s->key.b, 0x5a, sizeof(s->key.b));
	cairn_placer_init(&s->placer, &OPS, s);
	for (uint32_t i = known_from; i < known_to; i++) {
		struct cairn_hash hash = chunk_hash(i);
		ck_assert_int_eq(
			cairn_chunk_list_add(&s->known, &hash, (struct cairn_span){.unpacked_bytes = CHUNK_BYTES}),
			CAIRN_OK);
	}
}

static void server_fini(struct server *s)
{
	cairn_placer_fini(&s->placer);
	cairn_chunk_list_fini(&s->known);
	cairn_chunk_list_fini(&s->last);
}

static void push(struct server *s, const uint32_t *numbers, size_t n, size_t len)
{
	static const uint8_t sha256[32];
	struct cairn_hash file = file_hash(numbers, n, len);
	cairn_placer_file_begin(&s->placer);
	for (size_t i = 0; i < n; i++) {
		struct cairn_hash hash = chunk_hash(numbers[i]);
		ck_assert_int_eq(cairn_placer_chunk(&s->placer, &hash, RAW, len, NULL), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_placer_file_end(&s->placer, &file, sha256), CAIRN_OK);
}

static void finish(struct server *s)
{
	ck_assert_int_eq(cairn_placer_end(&s->placer, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shards_write(&s->placer, s->shard_bytes_max, on_shard, s, NULL), CAIRN_OK);
}

START_TEST(new_chunks_make_one_term)
{
	CLEANUP(server_fini) struct server s;
	const uint32_t file[] = {1, 2, 3};
	server_init(&s, 0, 0);
	push(&s, file, 3, CHUNK_BYTES);
	finish(&s);
	ck_assert_uint_eq(s.n_queries, 1); /* about the first chunk */
	ck_assert_uint_eq(s.n_added, 3);
	ck_assert_uint_eq(s.n_closed, 1);
	ck_assert_uint_eq(s.placer.files[0].new_bytes, 3 * CHUNK_BYTES);
	ck_assert(s.sum.n_files == 1 && s.sum.n_terms == 1 && s.sum.n_xorbs == 1 && s.sum.n_chunks == 3);
}
END_TEST

START_TEST(repeats_are_not_added_again)
{
	CLEANUP(server_fini) struct server s;
	const uint32_t a[] = {1, 2, 1, 2, 3, 3}, b[] = {2, 3, 9}, c[] = {1, 2, 1, 2, 3, 3};
	server_init(&s, 0, 0);
	push(&s, a, 6, CHUNK_BYTES); /* terms: 1 2 | 1 2 3 | 3 */
	push(&s, b, 3, CHUNK_BYTES); /* chunks 2 3 9 */
	push(&s, c, 6, CHUNK_BYTES); /* the first file again, which the shard has once */
	finish(&s);
	ck_assert_uint_eq(s.n_added, 4);
	ck_assert_uint_eq(s.placer.files[1].new_bytes, CHUNK_BYTES);
	ck_assert_uint_eq(s.placer.files[2].new_bytes, 0);
	ck_assert(s.sum.n_files == 2 && s.sum.n_terms == 4 && s.sum.n_xorbs == 1);
}
END_TEST

START_TEST(keyed_chunks_of_the_server_are_found)
{
	CLEANUP(server_fini) struct server s;
	const uint32_t a[] = {100, 101, 102, 5, 104}, b[] = {103, 100};
	server_init(&s, 100, 105);
	push(&s, a, 5, CHUNK_BYTES);
	push(&s, b, 2, CHUNK_BYTES);
	finish(&s);
	ck_assert_uint_eq(s.n_queries, 1); /* one answer describes all chunks that follow */
	ck_assert_uint_eq(s.n_added, 1);
	ck_assert(s.sum.n_files == 2 && s.sum.n_terms == 5 && s.sum.n_xorbs == 1);
}
END_TEST

START_TEST(questions_keep_their_distance)
{
	CLEANUP(server_fini) struct server s;
	struct cairn_hash eligible = {{0}}, plain;
	memset(eligible.b, 0x77, 24); /* the last 8 bytes are 0 modulo 1024, so the chunk is eligible */
	server_init(&s, 0, 0);
	cairn_placer_file_begin(&s.placer);
	for (uint32_t i = 0; i < 2 * CAIRN_PLACER_QUERY_SPACING + 2; i++) {
		/* Eligible are chunk 255 (too near), 256 (asked about), 511 (too near) and 512 (asked about). */
		bool is_eligible = i % CAIRN_PLACER_QUERY_SPACING == 0 ||
				   i % CAIRN_PLACER_QUERY_SPACING == CAIRN_PLACER_QUERY_SPACING - 1;
		plain = chunk_hash(i);
		memcpy(eligible.b, &i, sizeof(i));
		if (!is_eligible && cairn_hash_is_eligible(&plain))
			continue;
		ck_assert_int_eq(cairn_placer_chunk(&s.placer, is_eligible ? &eligible : &plain, RAW, 100, NULL),
				 CAIRN_OK);
	}
	ck_assert_uint_eq(s.n_queries, 3);
}
END_TEST

START_TEST(a_full_xorb_is_closed)
{
	CLEANUP(server_fini) struct server s;
	server_init(&s, 0, 0);
	cairn_placer_file_begin(&s.placer);
	for (uint32_t i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++) {
		struct cairn_hash hash = chunk_hash(i);
		ck_assert_int_eq(cairn_placer_chunk(&s.placer, &hash, RAW, 1, NULL), CAIRN_OK);
	}
	ck_assert_uint_eq(s.n_closed, 0);
	struct cairn_hash hash = chunk_hash(CAIRN_XORB_CHUNKS_MAX);
	ck_assert_int_eq(cairn_placer_chunk(&s.placer, &hash, RAW, 1, NULL), CAIRN_OK);
	ck_assert_uint_eq(s.n_closed, 1);
	/* The limit is in bytes: 1 byte and 511 chunks of 128 KiB fit, but not one chunk more. */
	for (uint32_t i = 1; i <= CAIRN_XORB_BYTES_MAX / CAIRN_CHUNK_BYTES_MAX - 1; i++) {
		hash = chunk_hash(CAIRN_XORB_CHUNKS_MAX + i);
		ck_assert_int_eq(cairn_placer_chunk(&s.placer, &hash, RAW, CAIRN_CHUNK_BYTES_MAX, NULL), CAIRN_OK);
	}
	ck_assert_uint_eq(s.n_closed, 1);
	hash = chunk_hash(1000 * 1000);
	ck_assert_int_eq(cairn_placer_chunk(&s.placer, &hash, RAW, CAIRN_CHUNK_BYTES_MAX, NULL), CAIRN_OK);
	ck_assert_uint_eq(s.n_closed, 2);
	ck_assert_uint_eq(s.placer.n_terms, 3);
}
END_TEST

START_TEST(failures_come_through)
{
	CLEANUP(server_fini) struct server s;
	const uint32_t file[] = {1};
	server_init(&s, 0, 0);
	push(&s, file, 1, CHUNK_BYTES);
	s.close_answer = CAIRN_E_BUSY;
	ck_assert_int_eq(cairn_placer_end(&s.placer, NULL), CAIRN_E_BUSY);
}
END_TEST

START_TEST(the_empty_file)
{
	CLEANUP(server_fini) struct server s;
	server_init(&s, 0, 0);
	push(&s, NULL, 0, 0);
	finish(&s);
	ck_assert_uint_eq(s.n_shards, 1);
	ck_assert(s.sum.n_files == 1 && s.sum.n_terms == 0 && s.sum.n_xorbs == 0);
}
END_TEST

/* The description of three xorbs of 8,192 chunks takes 1.2 MB. */
START_TEST(xorbs_beyond_one_shard_go_into_several)
{
	CLEANUP(server_fini) struct server s;
	static uint32_t numbers[1024];
	server_init(&s, 0, 0);
	s.placer.ops = &(const struct cairn_placer_ops){.close = on_close};
	s.shard_bytes_max = 1024 * 1024;
	for (uint32_t i = 0; i < 3 * CAIRN_XORB_CHUNKS_MAX; i += 1024) {
		for (uint32_t j = 0; j < 1024; j++)
			numbers[j] = i + j;
		push(&s, numbers, 1024, 1);
	}
	finish(&s);
	ck_assert_uint_eq(s.n_closed, 3);
	ck_assert_uint_eq(s.n_shards, 3);
	ck_assert(s.sum.n_files == 24 && s.sum.n_xorbs == 3 && s.sum.n_chunks == 3 * CAIRN_XORB_CHUNKS_MAX);
}
END_TEST

/* Notes how many chunks the terms of each shard cover. */
struct told {
	uint64_t term_chunks[8];
	size_t n;
};

static enum cairn_status on_shard_count(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct told *told = ctx;
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	bool more = true;
	ck_assert_uint_lt(told->n, sizeof(told->term_chunks) / sizeof(told->term_chunks[0]));
	uint64_t *sum = &told->term_chunks[told->n++];
	ck_assert_int_eq(cairn_shard_reader_init(&r, bytes, len, diag), CAIRN_OK);
	while (more) {
		ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, diag), CAIRN_OK);
		for (uint32_t i = 0; more && i < file.n_terms; i++)
			*sum += cairn_shard_file_term(&file, i).end - cairn_shard_file_term(&file, i).start;
	}
	return CAIRN_OK;
}

/* The server's limit is about 2 TiB, more than a test can push. So the test makes the terms look longer. */
START_TEST(chunks_under_the_terms_of_a_shard_have_a_limit)
{
	enum { MAX = CAIRN_VERIFY_TERM_CHUNKS_MAX };
	static const uint32_t ends[] = {MAX + 1, MAX - 1, 1, 1, MAX};
	CLEANUP(server_fini) struct server s;
	struct told told = {0};
	server_init(&s, 0, 0);
	for (uint32_t i = 0; i < 5; i++)
		push(&s, &i, 1, CHUNK_BYTES);
	ck_assert_int_eq(cairn_placer_end(&s.placer, NULL), CAIRN_OK);
	for (size_t i = 0; i < 5; i++) {
		s.placer.terms[i].start = 0;
		s.placer.terms[i].end = ends[i];
	}
	ck_assert_int_eq(cairn_shards_write(&s.placer, s.shard_bytes_max, on_shard_count, &told, NULL), CAIRN_OK);
	ck_assert_uint_eq(told.n, 4);
	ck_assert(told.term_chunks[0] == UINT64_C(1) + MAX && told.term_chunks[1] == MAX);
	ck_assert(told.term_chunks[2] == 1 && told.term_chunks[3] == MAX);
}
END_TEST

START_TEST(a_xorb_too_large_to_describe_ends_it)
{
	CLEANUP(server_fini) struct server s;
	const uint32_t file[] = {1};
	struct cairn_diag diag = {0};
	server_init(&s, 0, 0);
	push(&s, file, 1, CHUNK_BYTES);
	ck_assert_int_eq(cairn_placer_end(&s.placer, NULL), CAIRN_OK);
	s.placer.n_files = 0;
	s.shard_bytes_max = 144 + 96; /* fits into a whole shard, but not into three quarters of one */
	ck_assert_int_eq(cairn_shards_write(&s.placer, s.shard_bytes_max, on_shard, &s, &diag), CAIRN_E_LIMIT);
}
END_TEST

/* Header, bookends, file and metadata take 240 bytes; each term takes 96. */
START_TEST(a_file_has_as_many_terms_as_a_shard_holds)
{
	const uint32_t file[] = {1, 1, 1, 1, 1};
	for (size_t spare = 0; spare < 2; spare++) {
		CLEANUP(server_fini) struct server s;
		struct cairn_diag diag = {0};
		server_init(&s, 0, 0);
		push(&s, file, 5, CHUNK_BYTES);
		ck_assert_int_eq(cairn_placer_end(&s.placer, NULL), CAIRN_OK);
		s.shard_bytes_max = 240 + 5 * 96 - spare;
		enum cairn_status status = cairn_shards_write(&s.placer, s.shard_bytes_max, on_shard, &s, &diag);
		ck_assert_int_eq(status, spare == 0 ? CAIRN_OK : CAIRN_E_LIMIT);
		if (spare == 0)
			ck_assert_uint_eq(s.sum.n_terms, 5);
		else
			ck_assert_ptr_nonnull(strstr(diag.text, "5 terms"));
	}
}
END_TEST

START_TEST(the_map_keeps_the_first_place)
{
	CLEANUP(cairn_hash_map_fini) struct cairn_hash_map map = {0};
	const uint32_t n = 5000;
	struct cairn_hash hash = chunk_hash(0);
	ck_assert_ptr_null(cairn_hash_map_find(&map, &hash));
	for (uint32_t i = 0; i < n; i++) {
		hash = chunk_hash(i);
		ck_assert_int_eq(cairn_hash_map_add(&map, &hash, i, i + 1), CAIRN_OK);
		ck_assert_int_eq(cairn_hash_map_add(&map, &hash, 7, 7), CAIRN_OK);
	}
	ck_assert_uint_eq(map.n, n);
	for (uint32_t i = 0; i < n; i++) {
		hash = chunk_hash(i);
		const struct cairn_hash_map_entry *at = cairn_hash_map_find(&map, &hash);
		ck_assert(at && at->xorb == i && at->chunk == i + 1);
		hash = chunk_hash(i + n);
		ck_assert_ptr_null(cairn_hash_map_find(&map, &hash));
	}
}
END_TEST

/* Between two shards the answers are dropped. The push asks about stored chunks again, and the file continues. */
START_TEST(answers_are_forgotten_between_shards)
{
	static const struct cairn_placer_ops ops = {0};
	struct cairn_placer p;
	struct cairn_diag diag = {0};
	cairn_placer_init(&p, &ops, NULL);
	cairn_placer_file_begin(&p);
	struct cairn_hash one = chunk_hash(1), two = chunk_hash(2);
	ck_assert_int_eq(cairn_placer_chunk(&p, &one, RAW, CHUNK_BYTES, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_placer_end(&p, &diag), CAIRN_OK);
	uint64_t before = cairn_placer_bytes(&p);
	cairn_placer_forget(&p);
	ck_assert_uint_lt(cairn_placer_bytes(&p), before);
	ck_assert_ptr_null(cairn_placer_find(&p, &one));
	ck_assert_int_eq(cairn_placer_chunk(&p, &two, RAW, CHUNK_BYTES, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_placer_chunk(&p, &one, RAW, CHUNK_BYTES, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_placer_file_end(&p, &one, (uint8_t[32]){0}), CAIRN_OK);
	ck_assert_uint_eq(p.files[0].n_terms, 2);
	ck_assert_uint_eq(p.files[0].bytes, 3 * CHUNK_BYTES);
	ck_assert_uint_eq(p.xorbs[0].list.n, 0);
	ck_assert_uint_eq(p.xorbs[1].list.n, 2);
	cairn_placer_fini(&p);
}
END_TEST

static void place(struct server *s, const uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct cairn_hash hash = chunk_hash(numbers[i]);
		ck_assert_int_eq(cairn_placer_chunk(&s->placer, &hash, RAW, CHUNK_BYTES, NULL), CAIRN_OK);
	}
}

/* Each part is a file of the chunks since the part before. The whole has the terms of all parts. */
START_TEST(a_file_in_parts)
{
	CLEANUP(server_fini) struct server s;
	static const uint8_t sha256[32];
	const uint32_t all[] = {90, 91, 1, 2, 92, 93, 94, 1, 2, 3};
	struct cairn_hash first = file_hash(all, 4, CHUNK_BYTES), second = file_hash(all + 4, 2, CHUNK_BYTES);
	struct cairn_hash whole = file_hash(all, 10, CHUNK_BYTES);
	server_init(&s, 90, 95);
	s.takes_parts = true;
	cairn_placer_file_begin(&s.placer);
	place(&s, all, 4);
	ck_assert_int_eq(cairn_placer_end(&s.placer, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_placer_part_end(&s.placer, &first), CAIRN_OK);
	finish(&s);
	ck_assert(s.sum.n_files == 1 && s.sum.n_terms == 2 && s.sum.n_xorbs == 1);
	cairn_placer_described(&s.placer);
	place(&s, all + 4, 2); /* the known xorb continues, with a term of its own */
	ck_assert_int_eq(cairn_placer_part_end(&s.placer, &second), CAIRN_OK);
	finish(&s);
	ck_assert(s.sum.n_files == 2 && s.sum.n_terms == 3 && s.sum.n_xorbs == 1);
	cairn_placer_described(&s.placer);
	place(&s, all + 6, 2);
	ck_assert_int_eq(cairn_placer_part_end(&s.placer, NULL), CAIRN_OK); /* adds no file, but ends the term */
	place(&s, all + 8, 1);
	ck_assert_uint_eq(s.n_added, 2); /* the places are known even without the lists */
	place(&s, all + 9, 1);
	ck_assert_int_eq(cairn_placer_file_end(&s.placer, &whole, sha256), CAIRN_OK);
	ck_assert_uint_eq(s.placer.n_files, 1);
	ck_assert_uint_eq(s.placer.files[0].n_terms, 7);
	ck_assert_uint_eq(s.placer.files[0].bytes, 10 * CHUNK_BYTES);
	ck_assert_uint_eq(s.n_added, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("placer");
	TCase *tc = tcase_create("placer");
	tcase_add_test(tc, new_chunks_make_one_term);
	tcase_add_test(tc, repeats_are_not_added_again);
	tcase_add_test(tc, keyed_chunks_of_the_server_are_found);
	tcase_add_test(tc, questions_keep_their_distance);
	tcase_add_test(tc, a_full_xorb_is_closed);
	tcase_add_test(tc, failures_come_through);
	tcase_add_test(tc, the_empty_file);
	tcase_add_test(tc, a_file_has_as_many_terms_as_a_shard_holds);
	tcase_add_test(tc, chunks_under_the_terms_of_a_shard_have_a_limit);
	tcase_add_test(tc, a_xorb_too_large_to_describe_ends_it);
	tcase_add_test(tc, xorbs_beyond_one_shard_go_into_several);
	tcase_add_test(tc, the_map_keeps_the_first_place);
	tcase_add_test(tc, answers_are_forgotten_between_shards);
	tcase_add_test(tc, a_file_in_parts);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
