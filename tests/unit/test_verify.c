/* What the verifier accepts of real clients, its limits and modes, and the contradictions no captured mutant shows. */
#include "base/bytes.h"
#include "shard/records.h"
#include "support/captured.h"

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define WITH_ALL (CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA)

static struct cairn_diag diag;
static struct cairn_verify_summary sum;
static struct cairn_shard_writer w;
static struct made_xorb xorbs[3];
static struct made_store store;

static void setup(void)
{
	diag = (struct cairn_diag){0};
	sum = (struct cairn_verify_summary){0};
	cairn_shard_writer_init(&w, 64 * 1024 * 1024);
	made_xorb_init(&xorbs[0], 1, 20, 70000);
	made_xorb_init(&xorbs[1], 2, 1, 500);
	made_xorb_init(&xorbs[2], 3, 300, 8192);
	store = (struct made_store){.xorbs = xorbs, .n = 3};
}

static void setup_places(void)
{
	setup();
	store.places_only = true;
}

static void teardown(void)
{
	cairn_shard_writer_fini(&w);
	for (int i = 0; i < 3; i++)
		made_xorb_fini(&xorbs[i]);
}

static enum cairn_status verify_with(const struct cairn_verify_options *options)
{
	struct cairn_verify_resolver resolver = made_resolver(&store);
	diag = (struct cairn_diag){0};
	return cairn_verify_shard(w.buf.bytes, w.buf.len, options, &resolver, &sum, &diag);
}

/* End the shard at hand and verify it. */
static enum cairn_status verify_made(const struct cairn_verify_options *options)
{
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	return verify_with(options);
}

static void expect_refused(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset)
{
	ck_assert_int_eq(status, expected);
	ck_assert_ptr_nonnull(diag.rule);
	ck_assert_str_eq(diag.rule, rule);
	ck_assert_uint_eq(diag.offset, offset);
}

/* Two files over the three xorbs, which are described unless n_described says otherwise. */
static void make_shard(size_t n_described)
{
	struct made_term terms[] = {
		{&xorbs[0], 0, 20}, {&xorbs[2], 5, 6}, {&xorbs[2], 0, 300}, {&xorbs[1], 0, 1}, {&xorbs[2], 299, 300},
	};
	made_write_file(&w, terms, 5, WITH_ALL);
	made_write_file(&w, terms + 1, 1, WITH_ALL);
	for (size_t i = 0; i < n_described; i++)
		made_write_xorb(&w, &xorbs[i]);
}

/* Xorbs are kept elsewhere: none must be stored. */
static struct cairn_verify_options external_options(void)
{
	struct cairn_verify_options external = CAIRN_VERIFY_DEFAULTS;
	external.xorbs_external = true;
	return external;
}

START_TEST(test_captured)
{
	const char *name = CAPTURED_SHARDS[_i];
	CLEANUP(vec_json_freep) json_t *dump = captured_dump(name);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", name);
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	ck_assert_msg(cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, &diag) == CAIRN_OK, "%s: %s",
		      name, diag.text);
	ck_assert_uint_eq(sum.n_files, json_array_size(vec_get(dump, "files")));
	ck_assert_uint_eq(sum.n_xorbs, json_array_size(vec_get(dump, "xorbs")));
	ck_assert(sum.has_footer == json_is_object(vec_get(dump, "footer")));
	uint64_t file_bytes = 0, n_terms = 0, n_chunks = 0;
	size_t i, k;
	json_t *file, *term, *xorb;
	json_array_foreach(vec_get(dump, "files"), i, file)
	{
		json_array_foreach(vec_get(file, "entries"), k, term)
		{
			file_bytes += vec_u64(term, "unpacked_segment_bytes");
			n_terms++;
		}
	}
	json_array_foreach(vec_get(dump, "xorbs"), i, xorb) n_chunks += vec_u64(xorb, "num_entries");
	ck_assert_uint_eq(sum.file_bytes, file_bytes);
	ck_assert_uint_eq(sum.n_terms, n_terms);
	ck_assert_uint_eq(sum.n_chunks, n_chunks);

	/* Nothing is stored: refused, and accepted where xorbs live elsewhere, if all of them are described. */
	struct made_store nothing = {0};
	resolver = made_resolver(&nothing);
	diag = (struct cairn_diag){0};
	enum cairn_status status = cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, &diag);
	ck_assert_int_eq(status, n_terms + n_chunks > 0 ? CAIRN_E_NOT_FOUND : CAIRN_OK);
	const json_t *missing = json_object_get(dump, "xorbs_not_in_shard");
	const struct cairn_verify_options external = external_options();
	status = cairn_verify_shard(shard.bytes, shard.len, &external, &resolver, &sum, NULL);
	if (missing)
		ck_assert_int_eq(status, json_array_size(missing) > 0 ? CAIRN_E_NOT_FOUND : CAIRN_OK);
}
END_TEST

/* Answers of a server are not uploads: keyed ones are refused, and one that is not keyed is a shard like any other. */
START_TEST(test_answers)
{
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes plain = vec_read("dedupe/plain.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes keyed = vec_read("dedupe/keyed.shard");
	ck_assert_int_eq(cairn_verify_shard(plain.bytes, plain.len, NULL, &resolver, &sum, NULL), CAIRN_OK);
	ck_assert(sum.has_footer);
	expect_refused(cairn_verify_shard(keyed.bytes, keyed.len, NULL, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.keyed", keyed.len - CAIRN_SHARD_FOOTER_BYTES);
}
END_TEST

START_TEST(test_strict)
{
	struct cairn_verify_options strict = CAIRN_VERIFY_DEFAULTS;
	strict.strict = true;
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes medium = vec_read("shards/medium.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes js = vec_read("js/js_1.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes skip = vec_read("shards/skip_sha.shard");
	ck_assert_int_eq(cairn_verify_shard(medium.bytes, medium.len, &strict, &resolver, &sum, NULL), CAIRN_OK);
	expect_refused(cairn_verify_shard(js.bytes, js.len, &strict, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.footer_unwanted", 432);
	diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(skip.bytes, skip.len, &strict, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "file.metadata_missing", 48);
}
END_TEST

/* As hf_xet 1.1.8 to 1.2 send it: the footer's length is still in the header. */
START_TEST(test_footer_cut)
{
	struct cairn_verify_options cut = CAIRN_VERIFY_DEFAULTS;
	cut.footer_may_be_cut = true;
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes medium = vec_read("shards/medium.shard");
	cairn_put_u64le(medium.bytes + CAIRN_SHARD_AT_FOOTER_BYTES, CAIRN_SHARD_FOOTER_BYTES);
	ck_assert_int_eq(cairn_verify_shard(medium.bytes, medium.len, &cut, &resolver, &sum, NULL), CAIRN_OK);
	ck_assert(!sum.has_footer);
	expect_refused(cairn_verify_shard(medium.bytes, medium.len, NULL, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", medium.len);
	diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(medium.bytes, medium.len - 1, &cut, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.truncated", medium.len - CAIRN_SHARD_RECORD_BYTES);
	cut.strict = true;
	diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(medium.bytes, medium.len, &cut, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", medium.len);
	cut.strict = false;
	diag = (struct cairn_diag){0};
	CLEANUP(vec_bytes_fini) struct vec_bytes js = vec_read("js/js_1.shard");
	expect_refused(cairn_verify_shard(js.bytes, js.len - 1, &cut, &resolver, &sum, &diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", js.len - CAIRN_SHARD_FOOTER_BYTES);
	ck_assert_int_eq(cairn_verify_shard(js.bytes, js.len, &cut, &resolver, &sum, NULL), CAIRN_OK);
	ck_assert(sum.has_footer);
}
END_TEST

START_TEST(test_described_or_known)
{
	make_shard((size_t)_i);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	ck_assert_uint_eq(sum.n_files, 2);
	ck_assert_uint_eq(sum.n_terms, 6);
	ck_assert_uint_eq(sum.n_xorbs, (uint64_t)_i);
	ck_assert_uint_eq(sum.file_bytes, 20 * 70000 + 303 * 8192 + 500);
	ck_assert(!sum.has_footer);
	if (_i == 0) /* once for each change of xorb, not once a term */
		ck_assert_uint_eq(store.n_asked, 4);
}
END_TEST

START_TEST(test_external)
{
	const struct cairn_verify_options external = external_options();
	make_shard(2);
	store.n = 0;
	ck_assert_int_eq(verify_made(&external), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "term.unknown_xorb");
	ck_assert_ptr_nonnull(strstr(diag.text, "upload the xorb first"));
	store.n = 3;
	ck_assert_int_eq(verify_with(&external), CAIRN_OK);
	/* A xorb that is known must be described as it is, also when its bytes live elsewhere. */
	xorbs[1].list.spans[0].unpacked_bytes++;
	ck_assert_int_eq(verify_with(&external), CAIRN_E_CONFLICT);
}
END_TEST

/* Refused, and nothing is told but what the sender wrote. */
static void expect_told_nothing(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset)
{
	expect_refused(status, expected, rule, offset);
	ck_assert_str_eq(diag.expected, "");
	ck_assert_str_eq(diag.actual, "");
}

/* The root of one chunk leaves the chunk's length open: only the stored list can tell. */
START_TEST(test_conflict_length)
{
	make_shard(3);
	xorbs[1].list.spans[0].unpacked_bytes = 501;
	enum cairn_status status = verify_made(NULL);
	expect_told_nothing(status, CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset + 48 * (1 + 20));
	ck_assert_ptr_null(strstr(diag.text, "50"));
}
END_TEST

START_TEST(test_conflict_count)
{
	make_shard(1);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	xorbs[0].list.n = 19;
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset);
	const struct cairn_diag fewer = diag;
	xorbs[0].list.n = 20;
	struct cairn_hash one_more = {.b = {1}};
	ck_assert_int_eq(cairn_chunk_list_add(&xorbs[0].list, &one_more, (struct cairn_span){1, 0}), CAIRN_OK);
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset);
	ck_assert_str_eq(diag.text, fewer.text);
}
END_TEST

START_TEST(test_conflict_hash)
{
	make_shard(1);
	xorbs[0].list.hashes[7].b[3] ^= 1;
	expect_told_nothing(verify_made(NULL), CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset);
	const struct cairn_diag other_chunk = diag;
	xorbs[0].list.hashes[7].b[3] ^= 1;
	xorbs[0].list.n = 19;
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset);
	ck_assert_str_eq(diag.text, other_chunk.text);
}
END_TEST

/* Of all lists under a root the lengths tell one from another, so a description whose chunks are not those of its hash
 * is found without a list of hashes. */
START_TEST(test_description_of_other_chunks)
{
	make_shard(3);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	w.buf.bytes[w.cas_info_offset + 48 + 5] ^= 1;
	expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "xorb.hash", w.cas_info_offset);
}
END_TEST

/* The hash of a xorb is also that of a xorb with a single chunk of this hash: whoever knows no more than it can
 * describe any xorb in this way, and must learn nothing of the stored one. */
START_TEST(test_described_by_its_hash_alone)
{
	for (int i = 0; i < 3; i += 2) {
		struct made_xorb alone = {.hash = xorbs[i].hash};
		ck_assert_int_eq(cairn_chunk_list_add(&alone.list, &xorbs[i].hash, (struct cairn_span){70000, 0}),
				 CAIRN_OK);
		cairn_shard_writer_fini(&w);
		cairn_shard_writer_init(&w, 1 << 20);
		made_write_xorb(&w, &alone);
		expect_told_nothing(verify_made(NULL), CAIRN_E_CONFLICT, "xorb.conflict", w.cas_info_offset);
		made_xorb_fini(&alone);
	}
}
END_TEST

/* What lies in memory behind the chunks of the second is the same as in the first, too, and does not count. */
START_TEST(test_xorb_that_another_begins_with)
{
	made_xorb_fini(&xorbs[1]);
	made_xorb_init(&xorbs[1], 1, 20, 70000);
	xorbs[1].list.n = 19;
	cairn_chunk_list_root(&xorbs[1].list, &xorbs[1].hash);
	make_shard(2);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
}
END_TEST

/* The same xorb in three blocks, each apart from the others; then one of them differs. */
START_TEST(test_described_twice)
{
	const struct cairn_verify_options external = external_options();
	store.n = 0;
	made_write_xorb(&w, &xorbs[1]);
	made_write_xorb(&w, &xorbs[0]);
	cairn_shard_write_xorb(&w, &xorbs[1].hash, 77);
	cairn_shard_write_chunk(&w, &xorbs[1].hash, 500, CAIRN_SHARD_CHUNK_ELIGIBLE);
	made_write_xorb(&w, &xorbs[1]);
	ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	ck_assert_uint_eq(sum.n_xorbs, 4);
	uint64_t third = w.cas_info_offset + 48 * (2 + 21);
	cairn_put_u32le(w.buf.bytes + third + 40, 400);
	cairn_put_u32le(w.buf.bytes + third + 48 + 36, 400);
	ck_assert_int_eq(verify_with(&external), CAIRN_E_MISMATCH);
	ck_assert_str_eq(diag.rule, "xorb.described_twice");
}
END_TEST

/* Many xorbs that share the first 8 bytes of their hash, as nothing forbids: found, and told apart. */
START_TEST(test_same_prefix)
{
	enum { N = 500 };
	const struct cairn_verify_options external = external_options();
	static struct made_xorb alike[N];
	struct made_term terms[N];
	for (uint32_t i = 0; i < N; i++) {
		struct cairn_hash hash = {.b = {1, 2, 3, 4, 5, 6, 7, 8}};
		cairn_put_u32le(hash.b + 20, i * 2654435761u);
		struct cairn_span span = {.unpacked_bytes = i + 1};
		alike[i] = (struct made_xorb){.hash = hash};
		ck_assert_int_eq(cairn_chunk_list_add(&alike[i].list, &hash, span), CAIRN_OK);
		terms[N - 1 - i] = (struct made_term){&alike[i], 0, 1};
	}
	made_write_file(&w, terms, N, WITH_ALL);
	for (size_t i = 0; i < N; i++)
		made_write_xorb(&w, &alike[i]);
	store.n = 0;
	ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	ck_assert_uint_eq(sum.file_bytes, N * (N + 1) / 2);
	uint64_t term_at = 96 + 48 * 3;
	w.buf.bytes[term_at + 31] ^= 1;
	ck_assert_int_eq(verify_with(&external), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(diag.offset, term_at);
	for (size_t i = 0; i < N; i++)
		made_xorb_fini(&alike[i]);
}
END_TEST

/* Nothing else in the shard: two blocks of one xorb, the second made up of one chunk, and neither is stored. */
static enum cairn_status verify_second_block(const struct made_xorb *xorb, uint32_t bytes, uint32_t flags)
{
	const struct cairn_verify_options external = external_options();
	store.n = 0;
	made_write_xorb(&w, xorb);
	cairn_shard_write_xorb(&w, &xorb->hash, 0);
	cairn_shard_write_chunk(&w, &xorb->hash, bytes, flags);
	return verify_made(&external);
}

START_TEST(test_second_block_differs)
{
	ck_assert_int_eq(verify_second_block(&xorbs[1], 400, 0), CAIRN_E_MISMATCH);
	ck_assert_str_eq(diag.rule, "xorb.described_twice");
}
END_TEST

/* The root of a single chunk is its own hash, so a block of one chunk can have the root of any xorb. */
START_TEST(test_second_block_is_one_chunk)
{
	ck_assert_int_eq(verify_second_block(&xorbs[0], 70000, 0), CAIRN_E_MISMATCH);
	ck_assert_str_eq(diag.rule, "xorb.described_twice");
}
END_TEST

/* Flags say what may be asked for, not what is described: blocks that differ in them alone are the same. */
START_TEST(test_second_block_has_other_flags)
{
	ck_assert_int_eq(verify_second_block(&xorbs[1], 500, 0xffffffff), CAIRN_OK);
}
END_TEST

/* --- xorbs that are stored and not described ------------------------------------------------------------------------
 */

enum { AT_TERM = 48 + 48, AT_RANGE_HASH = AT_TERM + 48 };

/* A shard of one file with one term and no description; how says what is falsified. */
static enum cairn_status verify_stranger(const struct made_xorb *xorb, uint32_t start, uint32_t end,
					 void (*how)(uint8_t *shard))
{
	struct made_term honest = {xorb, 0, 1};
	if (start < end && start < xorb->list.n)
		honest = (struct made_term){xorb, start, end < xorb->list.n ? end : xorb->list.n};
	cairn_shard_writer_fini(&w);
	cairn_shard_writer_init(&w, 1 << 20);
	made_write_file(&w, &honest, 1, WITH_ALL);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	cairn_put_u32le(w.buf.bytes + AT_TERM + 40, start);
	cairn_put_u32le(w.buf.bytes + AT_TERM + 44, end);
	if (how)
		how(w.buf.bytes);
	return verify_with(NULL);
}

static void falsify_range_hash(uint8_t *shard)
{
	shard[AT_RANGE_HASH] ^= 1;
}

static void falsify_length(uint8_t *shard)
{
	shard[AT_TERM + 36] ^= 1;
}

static void falsify_both(uint8_t *shard)
{
	falsify_range_hash(shard);
	falsify_length(shard);
}

static void falsify_file_hash(uint8_t *shard)
{
	shard[48] ^= 1;
}

/* What a hash over chunks that are not there would be, if it were taken over nothing or over zeros. */
static void claim_nothing(uint8_t *shard)
{
	struct cairn_range_hasher hasher;
	struct cairn_hash hash;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_end(&hasher, &hash);
	memcpy(shard + AT_RANGE_HASH, hash.b, sizeof(hash.b));
}

static void claim_zeros(uint8_t *shard)
{
	static const struct cairn_hash zeros[100];
	struct cairn_range_hasher hasher;
	struct cairn_hash hash;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_add(&hasher, zeros, 100);
	cairn_range_hash_end(&hasher, &hash);
	memcpy(shard + AT_RANGE_HASH, hash.b, sizeof(hash.b));
}

START_TEST(test_stranger_is_told_nothing)
{
	static const struct {
		uint32_t start, end; /* of a xorb of 20 chunks */
		void (*how)(uint8_t *shard);
		const char *rule;
		uint64_t offset;
	} FALSE[] = {
		{0, 20, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{19, 20, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{0, 20, falsify_both, "term.range_hash", AT_RANGE_HASH},
		{0, 20, falsify_length, "term.unpacked_bytes", AT_TERM + 36},
		{0, 20, falsify_file_hash, "file.hash", 48},
		/* How many chunks there are: */
		{0, 21, NULL, "term.range_hash", AT_RANGE_HASH},
		{0, 21, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{19, 8192, falsify_both, "term.range_hash", AT_RANGE_HASH},
		{20, 21, claim_nothing, "term.range_hash", AT_RANGE_HASH},
		{20, 120, claim_zeros, "term.range_hash", AT_RANGE_HASH},
		{8092, 8192, claim_zeros, "term.range_hash", AT_RANGE_HASH},
	};
	for (size_t i = 0; i < sizeof(FALSE) / sizeof(FALSE[0]); i++)
		expect_told_nothing(verify_stranger(&xorbs[0], FALSE[i].start, FALSE[i].end, FALSE[i].how),
				    CAIRN_E_MISMATCH, FALSE[i].rule, FALSE[i].offset);
}
END_TEST

/* The same words for chunks that are there and for chunks that are not. */
START_TEST(test_stranger_cannot_count)
{
	expect_told_nothing(verify_stranger(&xorbs[2], 0, 30, falsify_both), CAIRN_E_MISMATCH, "term.range_hash",
			    AT_RANGE_HASH);
	const struct cairn_diag inside = diag;
	verify_stranger(&xorbs[0], 0, 30, falsify_both);
	ck_assert_str_eq(diag.text, inside.text);
}
END_TEST

/* What no xorb has is refused by what the sender wrote alone, before anything stored is looked at. */
START_TEST(test_stranger_names_no_range)
{
	static const uint32_t RANGES[][2] = {{5, 5}, {6, 5}, {0, 0}, {0, 8193}, {8192, UINT32_MAX}, {UINT32_MAX, 1}};
	for (size_t i = 0; i < sizeof(RANGES) / sizeof(RANGES[0]); i++) {
		verify_stranger(&xorbs[0], RANGES[i][0], RANGES[i][1], NULL);
		const struct cairn_diag of_20 = diag;
		ck_assert_str_eq(diag.rule, "term.range");
		ck_assert_ptr_null(strstr(diag.actual, "20"));
		verify_stranger(&xorbs[2], RANGES[i][0], RANGES[i][1], NULL);
		ck_assert_str_eq(diag.text, of_20.text);
		ck_assert_str_eq(diag.expected, of_20.expected);
		ck_assert_str_eq(diag.actual, of_20.actual);
	}
}
END_TEST

/* One term of another's xorb is enough: the file hash runs over all of them. */
START_TEST(test_file_hash_with_a_stranger)
{
	struct made_term terms[] = {{&xorbs[0], 0, 20}, {&xorbs[2], 0, 1}, {&xorbs[0], 0, 2}};
	made_write_file(&w, terms, 3, WITH_ALL);
	made_write_xorb(&w, &xorbs[0]);
	falsify_file_hash(w.buf.bytes);
	expect_told_nothing(verify_made(NULL), CAIRN_E_MISMATCH, "file.hash", 48);
	/* All described: the two values are named. */
	cairn_shard_writer_fini(&w);
	cairn_shard_writer_init(&w, 1 << 20);
	made_write_file(&w, terms + 1, 1, WITH_ALL);
	made_write_xorb(&w, &xorbs[2]);
	falsify_file_hash(w.buf.bytes);
	expect_refused(verify_made(NULL), CAIRN_E_MISMATCH, "file.hash", 48);
	ck_assert_uint_eq(strlen(diag.expected), 64);
}
END_TEST

/* Without a file there is no term that would ask again. */
START_TEST(test_list_of_described_is_unreadable)
{
	made_write_xorb(&w, &xorbs[0]);
	store.failure = CAIRN_E_IO;
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "xorb.unreadable");
}
END_TEST

START_TEST(test_file_without_terms_names_its_hash)
{
	char zeros[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(zeros, &(struct cairn_hash){0});
	cairn_shard_write_file(&w, &xorbs[0].hash, 0);
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "file.no_terms");
	ck_assert_str_eq(diag.expected, zeros);
}
END_TEST

/* A shard whose header is refused is not read on: what is told is of the header, not of what would follow it. */
START_TEST(test_header_of_another_version)
{
	make_shard(3);
	w.buf.bytes[CAIRN_SHARD_AT_VERSION] = 3;
	expect_refused(verify_made(NULL), CAIRN_E_FORMAT, "shard.version", CAIRN_SHARD_AT_VERSION);
	ck_assert_str_eq(diag.expected, "2");
	ck_assert_str_eq(diag.actual, "3");
}
END_TEST

/* However many xorbs are described, and in whatever order: each term finds its own. None is known elsewhere. */
START_TEST(test_each_is_found)
{
	enum { N = 40 };
	const struct cairn_verify_options external = external_options();
	struct made_xorb many[N];
	struct made_term terms[N];
	store.n = 0;
	for (uint32_t i = 0; i < N; i++) {
		made_xorb_init(&many[i], (uint64_t)_i * N + i, 1, 100 + i);
		terms[i] = (struct made_term){&many[i], 0, 1};
	}
	for (uint32_t n = 1; n <= N; n++) {
		cairn_shard_writer_fini(&w);
		cairn_shard_writer_init(&w, 64 * 1024 * 1024);
		made_write_file(&w, terms, n, WITH_ALL);
		for (uint32_t i = 0; i < n; i++)
			made_write_xorb(&w, &many[i]);
		ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	}
	for (uint32_t i = 0; i < N; i++)
		made_xorb_fini(&many[i]);
}
END_TEST

/* Terms over one chunk, over as many as are hashed side by side, and over more; of xorbs that the shard describes, and
 * of others. What is wrong with one is told before what is wrong with the next, whatever was looked at already. */
START_TEST(test_each_term_in_its_turn)
{
	enum { N = 40, FIRST = CAIRN_SHARD_HEADER_BYTES + CAIRN_SHARD_RECORD_BYTES };
	struct made_term terms[N];
	for (uint32_t i = 0; i < N; i++) {
		const struct made_term some[] = {
			{&xorbs[0], i % 10, i % 10 + i % 9 + 1},
			{&xorbs[2], i, i + CAIRN_HASH_RANGE_CHUNKS},
			{&xorbs[2], i, i + CAIRN_HASH_RANGE_CHUNKS + 1},
			{&xorbs[1], 0, 1},
			{&xorbs[2], 300 - i - 1, 300},
		};
		terms[i] = some[i % 5];
	}
	made_write_file(&w, terms, N, WITH_ALL);
	for (int i = 0; i < _i; i++)
		made_write_xorb(&w, &xorbs[i]);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *term = w.buf.bytes + FIRST + (size_t)i * CAIRN_SHARD_RECORD_BYTES;
		uint8_t *range_hash = term + (size_t)N * CAIRN_SHARD_RECORD_BYTES;
		term[36] ^= 1;
		if (i + 1 < N)
			range_hash[CAIRN_SHARD_RECORD_BYTES] ^= 1;
		expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.unpacked_bytes",
			       (uint64_t)(term + 36 - w.buf.bytes));
		range_hash[0] ^= 1;
		if (i + 1 < N)
			term[CAIRN_SHARD_RECORD_BYTES] ^= 1; /* of a xorb that nobody knows */
		expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.range_hash",
			       (uint64_t)(range_hash - w.buf.bytes));
		term[36] ^= 1;
		range_hash[0] ^= 1;
		if (i + 1 < N) {
			range_hash[CAIRN_SHARD_RECORD_BYTES] ^= 1;
			expect_refused(verify_with(NULL), CAIRN_E_NOT_FOUND, "term.unknown_xorb",
				       (uint64_t)(term + CAIRN_SHARD_RECORD_BYTES - w.buf.bytes));
			term[CAIRN_SHARD_RECORD_BYTES] ^= 1;
		}
		ck_assert_int_eq(verify_with(NULL), CAIRN_OK);
	}
}
END_TEST

START_TEST(test_limits_of_options)
{
	make_shard(3);
	struct cairn_verify_options limited = CAIRN_VERIFY_DEFAULTS;
	limited.files_max = 2;
	limited.terms_max = 6;
	limited.term_chunks_max = 20 + 1 + 300 + 1 + 1 + 1;
	ck_assert_int_eq(verify_made(&limited), CAIRN_OK);
	uint64_t second = 48 + 48 * (1 + 2 * 5 + 1);
	limited.files_max = 1;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.files", second);
	ck_assert_str_eq(diag.expected, "1");
	ck_assert_str_eq(diag.actual, "2");
	limited.files_max = 2;
	limited.terms_max = 5;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.terms", second);
	ck_assert_str_eq(diag.actual, "6");
	limited.terms_max = 6;
	limited.term_chunks_max--;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.term_chunks", second + 48);
	ck_assert_str_eq(diag.expected, "323");
	ck_assert_str_eq(diag.actual, "324");
	limited.term_chunks_max++;
	limited.xorbs_max = 3;
	ck_assert_int_eq(verify_with(&limited), CAIRN_OK);
	limited.xorbs_max = 2;
	uint64_t files_bytes = 48 * (2 + 2 * 5 + 1 + 2 * 1 + 1), xorbs_bytes = 48 * (2 + 20 + 1);
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.xorbs", 48 + 48 + files_bytes + xorbs_bytes);
	ck_assert_str_eq(diag.expected, "2");
	ck_assert_str_eq(diag.actual, "3");
}
END_TEST

/* Limits of the format, each at the limit (which is accepted) and one past it. */
START_TEST(test_limits_of_xorbs)
{
	static const struct {
		uint32_t n_chunks, bytes_each, last_bytes;
		const char *rule; /* NULL: accepted */
		uint64_t offset;  /* from the block's start */
	} LIMITS[] = {
		{8192, 8192, 8192, NULL, 0},
		{8192, 1, 1, NULL, 0},
		{512, 131072, 131072, NULL, 0},
		{512, 131071, 131072, NULL, 0},
		{8192, 131072, 131072, NULL, 0}, /* data that packs well: only the packed xorb is bounded */
		{1, 0, 131072, NULL, 0},
		{1, 0, 131073, "xorb.chunk_length", 48 + 36},
		{3, 10, 0, "xorb.chunk_length", 48 * 3 + 36},
	};
	store.n = 0;
	const struct cairn_verify_options external = external_options();
	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		struct made_xorb x;
		made_xorb_init(&x, i, LIMITS[i].n_chunks, LIMITS[i].bytes_each);
		x.list.spans[x.list.n - 1].unpacked_bytes = LIMITS[i].last_bytes;
		cairn_chunk_list_root(&x.list, &x.hash);
		cairn_shard_writer_fini(&w);
		cairn_shard_writer_init(&w, 1 << 20);
		made_write_xorb(&w, &x);
		enum cairn_status status = verify_made(&external);
		if (LIMITS[i].rule)
			expect_refused(status, CAIRN_E_FORMAT, LIMITS[i].rule, 96 + LIMITS[i].offset);
		else
			ck_assert_msg(status == CAIRN_OK, "%zu: %s", i, diag.text);
		made_xorb_fini(&x);
	}
}
END_TEST

START_TEST(test_too_many_chunks)
{
	struct made_xorb full;
	made_xorb_init(&full, 4, 8192, 10);
	cairn_shard_write_xorb(&w, &full.hash, 0);
	for (uint32_t i = 0; i < 8192; i++)
		cairn_shard_write_chunk(&w, &full.list.hashes[i], 10, 0);
	cairn_shard_write_chunk(&w, &full.list.hashes[0], 10, 0);
	expect_refused(verify_made(NULL), CAIRN_E_FORMAT, "xorb.chunk_count", 96);
	ck_assert_str_eq(diag.actual, "8193");
	made_xorb_fini(&full);
}
END_TEST

struct listener {
	unsigned n_calls, calls_max;
	uint64_t verified, total;
};

static bool listen_progress(void *ctx, uint64_t verified, uint64_t total)
{
	struct listener *l = ctx;
	ck_assert_uint_ge(verified, l->verified);
	ck_assert_uint_le(verified, total);
	l->verified = verified;
	l->total = total;
	return ++l->n_calls < l->calls_max;
}

START_TEST(test_progress)
{
	struct listener l = {.calls_max = 1000};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.progress = listen_progress;
	options.progress_ctx = &l;
	/* 320 described chunks, and a file of 200 terms over 300 chunks each: 60,000 chunks of work. */
	struct made_term terms[200];
	for (size_t i = 0; i < 200; i++)
		terms[i] = (struct made_term){&xorbs[2], 0, 300};
	made_write_file(&w, terms, 200, WITH_ALL);
	made_write_xorb(&w, &xorbs[0]);
	made_write_xorb(&w, &xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_uint_eq(l.total, 520);
	ck_assert_uint_eq(l.verified, 520);
	ck_assert_uint_ge(l.n_calls, 60520 / (4096 + 301));
	ck_assert_uint_le(l.n_calls, 60520 / 4096 + 1);
	l = (struct listener){.calls_max = 3};
	ck_assert_int_eq(verify_with(&options), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "verify.stopped");
	ck_assert(!diag.has_offset);
	ck_assert_uint_eq(l.n_calls, 3);
}
END_TEST

START_TEST(test_store_fails)
{
	make_shard((size_t)_i);
	store.failure = CAIRN_E_IO;
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "xorb.unreadable");
	ck_assert_uint_eq(diag.offset, _i == 0 ? 96 : w.cas_info_offset);
	store.failure = CAIRN_E_NOMEM;
	ck_assert_int_eq(verify_with(NULL), CAIRN_E_NOMEM);
}
END_TEST

/* What the verifier allocates comes here (the linker's --wrap). */
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static unsigned allocations_left = UINT_MAX; /* until one fails; the rest is let through again */

static bool allocation_fails(void)
{
	return allocations_left != UINT_MAX && allocations_left-- == 0;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(old, bytes);
}

/* One allocation after the other fails, and each time the shard is not judged. */
START_TEST(test_no_memory)
{
	unsigned n = 0;
	enum cairn_status status = CAIRN_E_NOMEM;
	make_shard(3);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	for (; status != CAIRN_OK && n < 20; n++) {
		allocations_left = n;
		sum = (struct cairn_verify_summary){0};
		status = verify_with(NULL);
		ck_assert(status == (allocations_left == UINT_MAX ? CAIRN_E_NOMEM : CAIRN_OK));
		ck_assert_uint_eq(sum.n_files, status == CAIRN_OK ? 2 : 0);
	}
	ck_assert_int_eq(status, CAIRN_OK);
	ck_assert_uint_gt(n, 2);
	allocations_left = UINT_MAX;
}
END_TEST

static void give_places(struct made_xorb *x, uint32_t step)
{
	for (uint32_t i = 0; i < x->list.n; i++)
		x->list.spans[i].end = (i + 1) * step;
}

/* Of what test_records() sends: the eligible chunks of the described xorb. */
static void must_have_recorded_chunks(const struct cairn_index_new_shard *s)
{
	uint32_t n_eligible = 0;
	for (uint32_t i = 0; i < xorbs[2].list.n; i++)
		if (cairn_hash_is_eligible(&xorbs[2].list.hashes[i])) {
			ck_assert_uint_eq(s->eligible[n_eligible].place, i);
			ck_assert_uint_eq(s->eligible[n_eligible++].prefix, cairn_get_u64le(xorbs[2].list.hashes[i].b));
		}
	ck_assert_uint_eq(s->xorbs[0].n_eligible, n_eligible);
}

/* Likewise: the files with their terms. */
static void must_have_recorded_files(const struct cairn_index_new_shard *s)
{
	ck_assert_uint_eq(s->n_files, 4);
	static const struct cairn_index_new_term TERMS[] = {
		{1, 0, 300, 500, 3, 5}, {0, 0, 2100, 2700, 7, 9}, {1, 0, 0, 100, 0, 1},
		{2, 0, 0, 200, 0, 1},   {1, 0, 400, 600, 4, 6},
	};
	static const uint32_t N_TERMS[] = {1, 0, 2, 2};
	const struct cairn_index_new_term *term = s->terms;
	for (unsigned f = 0, t = 0; f < 4; f++) {
		uint64_t size_bytes = 0;
		ck_assert_uint_eq(s->files[f].n_terms, N_TERMS[f]);
		for (uint32_t i = 0; i < N_TERMS[f]; i++, t++, term++) {
			const struct cairn_chunk_list *list = &xorbs[s->xorbs[term->xorb].id - 1].list;
			ck_assert_uint_eq(term->xorb, TERMS[t].xorb);
			ck_assert_uint_eq(term->first_byte, TERMS[t].first_byte);
			ck_assert_uint_eq(term->end_byte, TERMS[t].end_byte);
			ck_assert_uint_eq(term->start, TERMS[t].start);
			ck_assert_uint_eq(term->end, TERMS[t].end);
			ck_assert_uint_eq(term->unpacked_bytes, cairn_chunk_list_bytes(list, term->start, term->end));
			size_bytes += term->unpacked_bytes;
			if (i == 0)
				ck_assert_uint_eq(s->files[f].first_chunk,
						  cairn_get_u64le(list->hashes[term->start].b));
		}
		ck_assert_uint_eq(s->files[f].size_bytes, size_bytes);
	}
}

/* All that the index is to register, whether a xorb is described in the shard or only named. */
START_TEST(test_records)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	const struct made_term one = {&xorbs[0], 3, 5}, other[] = {{&xorbs[2], 7, 9}, {&xorbs[0], 0, 1}};
	const struct made_term third[] = {{&xorbs[1], 0, 1}, {&xorbs[0], 4, 6}};
	options.records = &got;
	for (unsigned i = 0; i < 3; i++)
		give_places(&xorbs[i], 100 * (i + 1));
	made_write_file(&w, &one, 1, WITH_ALL);
	made_write_file(&w, NULL, 0, WITH_ALL);
	made_write_file(&w, other, 2, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	made_write_file(&w, third, 2, WITH_ALL);
	made_write_xorb(&w, &xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);

	const struct cairn_index_new_shard *s = &got.shard;
	ck_assert_uint_eq(s->n_described, 1);
	ck_assert_uint_eq(s->n_xorbs, 3);
	static const int64_t IDS[] = {3, 1, 2}; /* as made_resolver() numbers them */
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(s->xorbs[i].id, IDS[i]);
		ck_assert(cairn_hash_equal(&s->xorbs[i].hash, &xorbs[IDS[i] - 1].hash));
		ck_assert_ptr_null(s->xorbs[i].list);
	}
	must_have_recorded_chunks(s);
	must_have_recorded_files(s);
	ck_assert(s->files[0].has_sha256 && !s->files[2].has_sha256);
	ck_assert_uint_gt(got.bytes, 0);
	ck_assert_uint_le(got.bytes, 2 * w.buf.len);
}
END_TEST

/* Of a xorb that nobody has yet its list is handed on, without places. */
START_TEST(test_records_of_unknown_xorbs)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = external_options();
	const struct made_term terms[] = {{&xorbs[0], 3, 5}, {&xorbs[2], 7, 9}};
	options.records = &got;
	store.n = 1;
	give_places(&xorbs[0], 100);
	made_write_file(&w, terms, 2, WITH_ALL);
	made_write_xorb(&w, &xorbs[0]);
	made_write_xorb(&w, &xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_int_eq(got.shard.xorbs[0].id, 1);
	ck_assert_ptr_null(got.shard.xorbs[0].list);
	ck_assert_int_eq(got.shard.xorbs[1].id, 0);
	ck_assert_uint_eq(got.shard.xorbs[1].list->n, 300);
	ck_assert_mem_eq(got.shard.xorbs[1].list->hashes, xorbs[2].list.hashes, 300 * sizeof(struct cairn_hash));
	ck_assert_uint_eq(got.shard.xorbs[1].list->spans[9].end, 0);
	ck_assert_uint_eq(got.shard.terms[0].end_byte, 500);
	ck_assert_uint_eq(got.shard.terms[1].end_byte, 0);
}
END_TEST

/* What is refused leaves none. */
START_TEST(test_no_records)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.records = &got;
	make_shard(3);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	w.buf.bytes[48] ^= 1; /* the hash of the first file */
	ck_assert_int_eq(verify_with(&options), CAIRN_E_MISMATCH);
	ck_assert_ptr_null(got.xorbs);
	ck_assert_ptr_null(got.terms);
	ck_assert_uint_eq(got.shard.n_xorbs, 0);
}
END_TEST

START_TEST(test_empty_files)
{
	made_write_file(&w, NULL, 0, WITH_ALL);
	made_write_file(&w, NULL, 0, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	ck_assert_uint_eq(sum.n_files, 2);
	ck_assert_uint_eq(sum.file_bytes, 0);
	cairn_put_u32le(w.buf.bytes + 48 + 48 * 2 + 32, 0);
	expect_refused(verify_with(NULL), CAIRN_E_FORMAT, "file.verification_missing", 48 + 48 * 2);
}
END_TEST

START_TEST(test_defaults)
{
	ck_assert(!CAIRN_VERIFY_DEFAULTS.strict);
	ck_assert(!CAIRN_VERIFY_DEFAULTS.xorbs_external);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.files_max, 500000);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.terms_max, 1000000);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.xorbs_max, 16384);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.term_chunks_max, 33554432);
}
END_TEST

/* Where the hashes of stored xorbs are not at hand: descriptions are hashed instead. */
static TCase *places_tests(void)
{
	TCase *c = tcase_create("places");
	tcase_add_checked_fixture(c, setup_places, teardown);
	tcase_add_loop_test(c, test_described_or_known, 0, 4);
	tcase_add_loop_test(c, test_each_is_found, 0, 8);
	tcase_add_loop_test(c, test_each_term_in_its_turn, 0, 4);
	tcase_add_test(c, test_conflict_length);
	tcase_add_test(c, test_conflict_count);
	tcase_add_test(c, test_description_of_other_chunks);
	tcase_add_test(c, test_described_by_its_hash_alone);
	tcase_add_test(c, test_xorb_that_another_begins_with);
	tcase_add_test(c, test_records);
	return c;
}

int main(void)
{
	Suite *suite = suite_create("verify");
	TCase *c = tcase_create("verify");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_loop_test(c, test_captured, 0, (int)CAPTURED_UPLOADS_N);
	tcase_add_test(c, test_answers);
	tcase_add_test(c, test_strict);
	tcase_add_test(c, test_footer_cut);
	tcase_add_loop_test(c, test_described_or_known, 0, 4);
	tcase_add_test(c, test_external);
	tcase_add_loop_test(c, test_each_is_found, 0, 8);
	tcase_add_loop_test(c, test_each_term_in_its_turn, 0, 4);
	tcase_add_test(c, test_second_block_differs);
	tcase_add_test(c, test_second_block_is_one_chunk);
	tcase_add_test(c, test_second_block_has_other_flags);
	tcase_add_test(c, test_list_of_described_is_unreadable);
	tcase_add_test(c, test_file_without_terms_names_its_hash);
	tcase_add_test(c, test_header_of_another_version);
	tcase_add_test(c, test_conflict_length);
	tcase_add_test(c, test_conflict_hash);
	tcase_add_test(c, test_conflict_count);
	tcase_add_test(c, test_description_of_other_chunks);
	tcase_add_test(c, test_described_by_its_hash_alone);
	tcase_add_test(c, test_stranger_is_told_nothing);
	tcase_add_test(c, test_stranger_cannot_count);
	tcase_add_test(c, test_stranger_names_no_range);
	tcase_add_test(c, test_file_hash_with_a_stranger);
	tcase_add_test(c, test_xorb_that_another_begins_with);
	tcase_add_test(c, test_described_twice);
	tcase_add_test(c, test_same_prefix);
	tcase_add_test(c, test_limits_of_options);
	tcase_add_test(c, test_limits_of_xorbs);
	tcase_add_test(c, test_too_many_chunks);
	tcase_add_test(c, test_progress);
	tcase_add_loop_test(c, test_store_fails, 0, 2);
	tcase_add_test(c, test_no_memory);
	tcase_add_test(c, test_records);
	tcase_add_test(c, test_records_of_unknown_xorbs);
	tcase_add_test(c, test_no_records);
	tcase_add_test(c, test_empty_files);
	tcase_add_test(c, test_defaults);
	tcase_set_timeout(c, 60);
	suite_add_tcase(suite, c);
	suite_add_tcase(suite, places_tests());
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
