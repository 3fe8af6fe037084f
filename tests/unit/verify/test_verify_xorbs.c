/* Xorbs that a shard describes or only names: each term finds its own. Contradictions that no captured mutant has. */
#include "base/bytes.h"
#include "support/verify_fixture.h"

#include <string.h>

START_TEST(test_described_or_known)
{
	make_shard((size_t)_i);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	ck_assert_uint_eq(v.sum.n_files, 2);
	ck_assert_uint_eq(v.sum.n_terms, 6);
	ck_assert_uint_eq(v.sum.n_xorbs, (uint64_t)_i);
	ck_assert_uint_eq(v.sum.file_bytes, 20 * 70000 + 303 * 8192 + 500);
	ck_assert(!v.sum.has_footer);
	ck_assert_uint_eq(v.store.n_asked_described, (unsigned)_i);
	if (_i == 0) /* once for each change from one xorb to another, not for each term */
		ck_assert_uint_eq(v.store.n_asked, 4);
}
END_TEST

/* Each term finds its own xorb, however many are described, and in whatever order. No xorb is known otherwise. */
START_TEST(test_each_is_found)
{
	enum { N = 40 };
	const struct cairn_verify_options external = external_options();
	struct made_xorb many[N];
	struct made_term terms[N];
	v.store.n = 0;
	for (uint32_t i = 0; i < N; i++) {
		made_xorb_init(&many[i], (uint64_t)_i * N + i, 1, 100 + i);
		terms[i] = (struct made_term){&many[i], 0, 1};
	}
	for (uint32_t n = 1; n <= N; n++) {
		begin_again();
		made_write_file(&v.w, terms, n, WITH_ALL);
		for (uint32_t i = 0; i < n; i++)
			made_write_xorb(&v.w, &many[i]);
		ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	}
	for (uint32_t i = 0; i < N; i++)
		made_xorb_fini(&many[i]);
}
END_TEST

/* Terms over one chunk, over as many as are hashed together, and over more, of described xorbs and of others. Faults
 * are reported in the order of the terms, whatever was verified earlier. */
START_TEST(test_each_term_in_its_turn)
{
	enum { N = 40, FIRST = CAIRN_SHARD_HEADER_BYTES + CAIRN_SHARD_RECORD_BYTES };
	struct made_term terms[N];
	for (uint32_t i = 0; i < N; i++) {
		const struct made_term some[] = {
			{&v.xorbs[0], i % 10, i % 10 + i % 9 + 1},
			{&v.xorbs[2], i, i + CAIRN_HASH_RANGE_CHUNKS},
			{&v.xorbs[2], i, i + CAIRN_HASH_RANGE_CHUNKS + 1},
			{&v.xorbs[1], 0, 1},
			{&v.xorbs[2], 300 - i - 1, 300},
		};
		terms[i] = some[i % 5];
	}
	made_write_file(&v.w, terms, N, WITH_ALL);
	for (int i = 0; i < _i; i++)
		made_write_xorb(&v.w, &v.xorbs[i]);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *term = v.w.buf.bytes + FIRST + (size_t)i * CAIRN_SHARD_RECORD_BYTES;
		uint8_t *range_hash = term + (size_t)N * CAIRN_SHARD_RECORD_BYTES;
		term[36] ^= 1;
		if (i + 1 < N)
			range_hash[CAIRN_SHARD_RECORD_BYTES] ^= 1;
		expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.unpacked_bytes",
			       (uint64_t)(term + 36 - v.w.buf.bytes));
		range_hash[0] ^= 1;
		if (i + 1 < N)
			term[CAIRN_SHARD_RECORD_BYTES] ^= 1; /* a term over an unknown xorb */
		expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.range_hash",
			       (uint64_t)(range_hash - v.w.buf.bytes));
		term[36] ^= 1;
		range_hash[0] ^= 1;
		if (i + 1 < N) {
			range_hash[CAIRN_SHARD_RECORD_BYTES] ^= 1;
			expect_refused(verify_with(NULL), CAIRN_E_NOT_FOUND, "term.unknown_xorb",
				       (uint64_t)(term + CAIRN_SHARD_RECORD_BYTES - v.w.buf.bytes));
			term[CAIRN_SHARD_RECORD_BYTES] ^= 1;
		}
		ck_assert_int_eq(verify_with(NULL), CAIRN_OK);
	}
}
END_TEST

/* More terms than are verified together, all of one xorb, and a second file on the same xorb. */
START_TEST(test_many_short_terms)
{
	enum { N = 40 };
	struct made_term terms[N];
	for (uint32_t i = 0; i < N; i++)
		terms[i] = (struct made_term){&v.xorbs[2], i, i + 1 + i % CAIRN_HASH_RANGE_CHUNKS};
	made_write_file(&v.w, terms, N, WITH_ALL);
	made_write_file(&v.w, terms + 1, N - 1, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[2]);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
}
END_TEST

/* A term whose verification is deferred comes after one that was not, at the same position in the file before. */
START_TEST(test_a_deferred_term_follows_a_direct_one)
{
	const struct made_term first[] = {{&v.xorbs[0], 0, 2}, {&v.xorbs[0], 2, 4}};
	const struct made_term second[] = {{&v.xorbs[1], 0, 1}, {&v.xorbs[0], 4, 6}};
	made_write_file(&v.w, first, 2, WITH_ALL);
	made_write_file(&v.w, second, 2, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
}
END_TEST

/* A sender that described the xorb gets both values in the message, although they are computed from its chunks. */
START_TEST(test_values_of_described)
{
	const struct made_term term = {&v.xorbs[0], 0, 2};
	made_write_file(&v.w, &term, 1, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	uint8_t *length = v.w.buf.bytes + 96 + 36, *range_hash = v.w.buf.bytes + 96 + 48;
	cairn_put_u32le(length, 7);
	expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.unpacked_bytes", 96 + 36);
	ck_assert_str_eq(v.diag.expected, "140000");
	ck_assert_str_eq(v.diag.actual, "7");
	char right[CAIRN_HASH_TEXT_BYTES], zeros[CAIRN_HASH_TEXT_BYTES];
	struct cairn_hash hash = {0};
	cairn_hash_text(zeros, &hash);
	memcpy(hash.b, range_hash, sizeof(hash.b));
	cairn_hash_text(right, &hash);
	memset(range_hash, 0, sizeof(hash.b));
	expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "term.range_hash", 96 + 48);
	ck_assert_str_eq(v.diag.expected, right);
	ck_assert_str_eq(v.diag.actual, zeros);
}
END_TEST

/* The root of one chunk does not determine the length of the chunk: only the stored list has it. */
START_TEST(test_conflict_length)
{
	make_shard(3);
	v.xorbs[1].list.spans[0].unpacked_bytes = 501;
	enum cairn_status status = verify_made(NULL);
	expect_told_nothing(status, CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset + 48 * (1 + 20));
	ck_assert_ptr_null(strstr(v.diag.text, "50"));
}
END_TEST

START_TEST(test_conflict_count)
{
	make_shard(1);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	v.xorbs[0].list.n = 19;
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
	const struct cairn_diag fewer = v.diag;
	v.xorbs[0].list.n = 20;
	struct cairn_hash one_more = {.b = {1}};
	ck_assert_int_eq(cairn_chunk_list_add(&v.xorbs[0].list, &one_more, (struct cairn_span){1, 0}), CAIRN_OK);
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
	ck_assert_str_eq(v.diag.text, fewer.text);
}
END_TEST

/* No stored xorb is without chunks. If one is, its list is not read. */
START_TEST(test_conflict_with_nothing)
{
	make_shard(1);
	made_xorb_fini(&v.xorbs[0]);
	expect_told_nothing(verify_made(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
}
END_TEST

START_TEST(test_conflict_hash)
{
	make_shard(1);
	v.xorbs[0].list.hashes[7].b[3] ^= 1;
	expect_told_nothing(verify_made(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
	const struct cairn_diag other_chunk = v.diag;
	v.xorbs[0].list.hashes[7].b[3] ^= 1;
	v.xorbs[0].list.n = 19;
	expect_told_nothing(verify_with(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
	ck_assert_str_eq(v.diag.text, other_chunk.text);
}
END_TEST

/* Lists with the same root differ in lengths. So a description of other chunks is found without a list of hashes. */
START_TEST(test_description_of_other_chunks)
{
	make_shard(3);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	v.w.buf.bytes[v.w.cas_info_offset + 48 + 5] ^= 1;
	expect_refused(verify_with(NULL), CAIRN_E_MISMATCH, "xorb.hash", v.w.cas_info_offset);
}
END_TEST

/* The hash of a xorb is also the hash of a xorb with one chunk of this hash. So a sender that knows only the hash can
 * describe any xorb, and must learn nothing of the stored one. */
START_TEST(test_described_by_its_hash_alone)
{
	for (int i = 0; i < 3; i += 2) {
		struct made_xorb alone = {.hash = v.xorbs[i].hash};
		ck_assert_int_eq(cairn_chunk_list_add(&alone.list, &v.xorbs[i].hash, (struct cairn_span){70000, 0}),
				 CAIRN_OK);
		begin_again();
		made_write_xorb(&v.w, &alone);
		expect_told_nothing(verify_made(NULL), CAIRN_E_CONFLICT, "xorb.conflict", v.w.cas_info_offset);
		made_xorb_fini(&alone);
	}
}
END_TEST

/* After the second xorb's chunks, memory has the same bytes as in the first xorb. They must not count. */
START_TEST(test_xorb_that_another_begins_with)
{
	made_xorb_fini(&v.xorbs[1]);
	made_xorb_init(&v.xorbs[1], 1, 20, 70000);
	v.xorbs[1].list.n = 19;
	cairn_chunk_list_root(&v.xorbs[1].list, &v.xorbs[1].hash);
	make_shard(2);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
}
END_TEST

/* The same xorb is described in three separate blocks. Then one of the blocks differs. */
START_TEST(test_described_twice)
{
	const struct cairn_verify_options external = external_options();
	v.store.n = 0;
	made_write_xorb(&v.w, &v.xorbs[1]);
	made_write_xorb(&v.w, &v.xorbs[0]);
	cairn_shard_write_xorb(&v.w, &v.xorbs[1].hash, 77);
	cairn_shard_write_chunk(&v.w, &v.xorbs[1].hash, 500, CAIRN_SHARD_CHUNK_ELIGIBLE);
	made_write_xorb(&v.w, &v.xorbs[1]);
	ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	ck_assert_uint_eq(v.sum.n_xorbs, 4);
	uint64_t third = v.w.cas_info_offset + 48 * (2 + 21);
	cairn_put_u32le(v.w.buf.bytes + third + 40, 400);
	cairn_put_u32le(v.w.buf.bytes + third + 48 + 36, 400);
	ck_assert_int_eq(verify_with(&external), CAIRN_E_MISMATCH);
	ck_assert_str_eq(v.diag.rule, "xorb.described_twice");
}
END_TEST

/* Many xorbs may share the first 8 bytes of their hash. Each is found, and none is taken for another. */
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
	made_write_file(&v.w, terms, N, WITH_ALL);
	for (size_t i = 0; i < N; i++)
		made_write_xorb(&v.w, &alike[i]);
	v.store.n = 0;
	ck_assert_int_eq(verify_made(&external), CAIRN_OK);
	ck_assert_uint_eq(v.sum.file_bytes, N * (N + 1) / 2);
	uint64_t term_at = 96 + 48 * 3;
	v.w.buf.bytes[term_at + 31] ^= 1;
	ck_assert_int_eq(verify_with(&external), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(v.diag.offset, term_at);
	for (size_t i = 0; i < N; i++)
		made_xorb_fini(&alike[i]);
}
END_TEST

/* Verifies a shard with two blocks of one xorb, the second with one chunk. The store has neither xorb. */
static enum cairn_status verify_second_block(const struct made_xorb *xorb, uint32_t bytes, uint32_t flags)
{
	const struct cairn_verify_options external = external_options();
	v.store.n = 0;
	made_write_xorb(&v.w, xorb);
	cairn_shard_write_xorb(&v.w, &xorb->hash, 0);
	cairn_shard_write_chunk(&v.w, &xorb->hash, bytes, flags);
	return verify_made(&external);
}

START_TEST(test_second_block_differs)
{
	ck_assert_int_eq(verify_second_block(&v.xorbs[1], 400, 0), CAIRN_E_MISMATCH);
	ck_assert_str_eq(v.diag.rule, "xorb.described_twice");
}
END_TEST

/* The root of a single chunk is its own hash, so a block of one chunk can have the root of any xorb. */
START_TEST(test_second_block_is_one_chunk)
{
	ck_assert_int_eq(verify_second_block(&v.xorbs[0], 70000, 0), CAIRN_E_MISMATCH);
	ck_assert_str_eq(v.diag.rule, "xorb.described_twice");
}
END_TEST

/* Flags say which chunks are eligible. Blocks that differ only in flags describe the same xorb. */
START_TEST(test_second_block_has_other_flags)
{
	ck_assert_int_eq(verify_second_block(&v.xorbs[1], 500, 0xffffffff), CAIRN_OK);
}
END_TEST

/* without a file, no term would look it up again */
START_TEST(test_list_of_described_is_unreadable)
{
	made_write_xorb(&v.w, &v.xorbs[0]);
	v.store.failure = CAIRN_E_IO;
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_IO);
	ck_assert_str_eq(v.diag.rule, "xorb.unreadable");
}
END_TEST

/* Makes a test case without the hashes of stored xorbs, so that the verifier hashes the descriptions instead. */
static TCase *places_tests(void)
{
	TCase *c = verify_tests_of_places();
	tcase_add_loop_test(c, test_described_or_known, 0, 4);
	tcase_add_loop_test(c, test_each_is_found, 0, 8);
	tcase_add_loop_test(c, test_each_term_in_its_turn, 0, 4);
	tcase_add_test(c, test_conflict_length);
	tcase_add_test(c, test_conflict_count);
	tcase_add_test(c, test_conflict_with_nothing);
	tcase_add_test(c, test_description_of_other_chunks);
	tcase_add_test(c, test_described_by_its_hash_alone);
	tcase_add_test(c, test_xorb_that_another_begins_with);
	return c;
}

int main(void)
{
	TCase *c = verify_tests("verify_xorbs");
	tcase_add_loop_test(c, test_described_or_known, 0, 4);
	tcase_add_loop_test(c, test_each_is_found, 0, 8);
	tcase_add_loop_test(c, test_each_term_in_its_turn, 0, 4);
	tcase_add_test(c, test_many_short_terms);
	tcase_add_test(c, test_a_deferred_term_follows_a_direct_one);
	tcase_add_test(c, test_values_of_described);
	tcase_add_test(c, test_conflict_length);
	tcase_add_test(c, test_conflict_count);
	tcase_add_test(c, test_conflict_with_nothing);
	tcase_add_test(c, test_conflict_hash);
	tcase_add_test(c, test_description_of_other_chunks);
	tcase_add_test(c, test_described_by_its_hash_alone);
	tcase_add_test(c, test_xorb_that_another_begins_with);
	tcase_add_test(c, test_described_twice);
	tcase_add_test(c, test_same_prefix);
	tcase_add_test(c, test_second_block_differs);
	tcase_add_test(c, test_second_block_is_one_chunk);
	tcase_add_test(c, test_second_block_has_other_flags);
	tcase_add_test(c, test_list_of_described_is_unreadable);
	return verify_run("verify_xorbs", c, places_tests());
}
