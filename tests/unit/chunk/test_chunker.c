#include "chunk/chunker.h"
#include "hash/crypto.h"
#include "hash/merkle.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void chunker_check_sha256(const struct vec_bytes *content, const char *expected)
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	uint8_t sum[CAIRN_SHA256_BYTES];
	char text[2 * CAIRN_SHA256_BYTES + 1];
	cairn_sha256_add(digest, content->bytes, content->len);
	cairn_sha256_end(digest, sum);
	cairn_hex_text(text, sum, sizeof(sum));
	ck_assert_str_eq(text, expected);
}

/* Cuts and hashes one input, and compares the results with the reference client's. */
static void chunker_check_file(const json_t *file)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes content = vec_make(vec_get(file, "spec"));
	const char *name = vec_string(file, "name");
	chunker_check_sha256(&content, vec_string(file, "sha256"));

	const json_t *chunks = vec_get(file, "chunks");
	const json_t *eligible = vec_get(file, "gdedup_eligible");
	struct cairn_merkle tree;
	struct cairn_range_hasher range;
	cairn_merkle_init(&tree);
	cairn_range_hash_init(&range);
	size_t at = 0, n_eligible = 0;
	for (size_t i = 0; i < json_array_size(chunks); i++) {
		size_t len = cairn_chunk_cut(content.bytes + at, content.len - at);
		const json_t *pair = json_array_get(chunks, i);
		ck_assert_msg(len == (size_t)json_integer_value(json_array_get(pair, 1)), "%s: chunk %zu", name, i);
		struct cairn_hash hash, expected = vec_hash_of(json_array_get(pair, 0));
		cairn_hash_chunk(&hash, content.bytes + at, len);
		ck_assert_msg(cairn_hash_equal(&hash, &expected), "%s: hash of chunk %zu", name, i);
		cairn_merkle_add(&tree, &hash, len);
		cairn_range_hash_add(&range, &hash, 1);
		if (i == 0 || cairn_hash_is_eligible(&hash))
			ck_assert_int_eq(json_integer_value(json_array_get(eligible, n_eligible++)), (int64_t)i);
		at += len;
	}
	ck_assert_uint_eq(at, content.len);
	ck_assert_uint_eq(cairn_chunk_cut(content.bytes + at, 0), 0);
	ck_assert_uint_eq(n_eligible, json_array_size(eligible));

	struct cairn_hash root, file_hash, range_hash;
	cairn_merkle_root(&tree, &root);
	cairn_hash_file(&file_hash, &root);
	cairn_range_hash_end(&range, &range_hash);
	struct cairn_hash expected_root = vec_hash(file, "merkle_root"), expected_file = vec_hash(file, "file_hash"),
			  expected_range = vec_hash(file, "range_hash_all");
	ck_assert_msg(cairn_hash_equal(&root, &expected_root), "%s: root", name);
	ck_assert_msg(cairn_hash_equal(&file_hash, &expected_file), "%s: file hash", name);
	ck_assert_msg(cairn_hash_equal(&range_hash, &expected_range), "%s: range hash", name);
}

START_TEST(chunker_cuts_every_input_as_the_reference)
{
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	ck_assert_uint_eq(json_array_size(files), 22);
	size_t i;
	json_t *file;
	json_array_foreach(files, i, file) chunker_check_file(file);
}
END_TEST

/* The small inputs also exist as files. The generator must make the same bytes. */
START_TEST(chunker_inputs_agree_with_kept_files)
{
	static const char *const NAMES[] = {"empty", "one_byte", "small", "b8191", "b8192", "b8193"};
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes kept = vec_read("files/%s", NAMES[i]);
		CLEANUP(vec_bytes_fini)
		struct vec_bytes made = vec_make(vec_get(vec_find(files, "name", NAMES[i]), "spec"));
		ck_assert_uint_eq(made.len, kept.len);
		ck_assert_int_eq(memcmp(made.bytes, kept.bytes, kept.len), 0);
	}
}
END_TEST

/* Only the 64 bytes before the first possible boundary decide about it; earlier bytes have no influence. */
START_TEST(chunker_looks_at_64_bytes_only)
{
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	CLEANUP(vec_bytes_fini)
	struct vec_bytes content = vec_make(vec_get(vec_find(files, "name", "rand_1100000"), "spec"));
	size_t len = cairn_chunk_cut(content.bytes, content.len);
	memset(content.bytes, 0, CAIRN_CHUNK_CUT_BYTES_MIN - 64);
	ck_assert_uint_eq(cairn_chunk_cut(content.bytes, content.len), len);
	content.bytes[len - 32] ^= 0x5a;
	ck_assert_uint_ne(cairn_chunk_cut(content.bytes, content.len), len);
}
END_TEST

/* A boundary that the hash sets before 8 KiB is ignored. A boundary at exactly 8 KiB counts. */
START_TEST(chunker_minimum_is_inclusive)
{
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	CLEANUP(vec_bytes_fini)
	struct vec_bytes content = vec_make(vec_get(vec_find(files, "name", "rand_1100000"), "spec"));
	size_t len = cairn_chunk_cut(content.bytes, content.len);
	ck_assert_uint_gt(len, CAIRN_CHUNK_CUT_BYTES_MIN);
	const uint8_t *window = content.bytes + len - 64;

	CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_copy(content.bytes + len, 4 * CAIRN_CHUNK_CUT_BYTES_MIN);
	memcpy(b.bytes + CAIRN_CHUNK_CUT_BYTES_MIN - 64, window, 64);
	ck_assert_uint_eq(cairn_chunk_cut(b.bytes, b.len), CAIRN_CHUNK_CUT_BYTES_MIN);
	memmove(b.bytes + CAIRN_CHUNK_CUT_BYTES_MIN - 65, window, 64);
	ck_assert_uint_gt(cairn_chunk_cut(b.bytes, b.len), CAIRN_CHUNK_CUT_BYTES_MIN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chunker");
	TCase *tcase = tcase_create("chunker");
	tcase_add_test(tcase, chunker_cuts_every_input_as_the_reference);
	tcase_add_test(tcase, chunker_inputs_agree_with_kept_files);
	tcase_add_test(tcase, chunker_looks_at_64_bytes_only);
	tcase_add_test(tcase, chunker_minimum_is_inclusive);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
