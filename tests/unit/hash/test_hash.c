#include "hash/chunk_list.h"
#include "hash/hash.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

START_TEST(hash_text_of_the_vectors)
{
	CLEANUP(vec_json_freep) json_t *cases = vec_json("hash_strings.json");
	ck_assert_uint_gt(json_array_size(cases), 0);
	size_t i;
	json_t *entry;
	json_array_foreach(cases, i, entry)
	{
		const char *hex = vec_string(entry, "bytes"), *expected = vec_string(entry, "string");
		struct cairn_hash hash, back;
		ck_assert_int_eq(cairn_hex_parse(hash.b, sizeof(hash.b), hex, strlen(hex)), CAIRN_OK);
		char text[CAIRN_HASH_TEXT_BYTES], plain[2 * CAIRN_HASH_BYTES + 1];
		cairn_hash_text(text, &hash);
		ck_assert_str_eq(text, expected);
		ck_assert_int_eq(cairn_hash_parse(&back, text, strlen(text)), CAIRN_OK);
		ck_assert(cairn_hash_equal(&hash, &back));
		cairn_hex_text(plain, hash.b, sizeof(hash.b));
		ck_assert_str_eq(plain, hex);
	}
}
END_TEST

START_TEST(hash_text_refusals)
{
	const char good[] = "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918";
	struct cairn_hash hash, upper;
	ck_assert_int_eq(cairn_hash_parse(&hash, good, 64), CAIRN_OK);
	ck_assert_int_eq(cairn_hash_parse(&hash, good, 63), CAIRN_E_FORMAT);
	ck_assert_int_eq(cairn_hash_parse(&hash, good, 65), CAIRN_E_FORMAT);
	ck_assert_int_eq(cairn_hash_parse(&hash, good, 0), CAIRN_E_FORMAT);
	ck_assert_int_eq(
		cairn_hash_parse(&upper, "07060504030201000F0E0D0C0B0A090817161514131211101F1E1D1C1B1A1918", 64),
		CAIRN_OK);
	ck_assert(cairn_hash_equal(&hash, &upper));
	static const char BAD[] = {'g', 'G', '/', ':', '@', '`', ' ', '\0', '-', 'x', '\x80'};
	for (size_t at = 0; at < 64; at++) {
		for (size_t i = 0; i < sizeof(BAD); i++) {
			char text[65];
			memcpy(text, good, sizeof(text));
			text[at] = BAD[i];
			ck_assert_int_eq(cairn_hash_parse(&hash, text, 64), CAIRN_E_FORMAT);
		}
	}
}
END_TEST

START_TEST(hex_of_every_length)
{
	uint64_t seed = 1;
	for (size_t n = 0; n <= 40; n++) {
		uint8_t bytes[40] = {0}, back[40];
		char text[81];
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)vec_splitmix64(&seed);
		cairn_hex_text(text, bytes, n);
		ck_assert_int_eq(cairn_hex_parse(back, n, text, 2 * n), CAIRN_OK);
		ck_assert_int_eq(memcmp(back, bytes, n), 0);
		for (size_t at = 0; at < 2 * n; at++) {
			char was = text[at];
			text[at] = 'g';
			ck_assert_int_eq(cairn_hex_parse(back, n, text, 2 * n), CAIRN_E_FORMAT);
			text[at] = was;
		}
	}
}
END_TEST

START_TEST(hex_of_every_character)
{
	for (unsigned c = 0; c < 256; c++) {
		char text[] = {'0', (char)c, '\0'};
		uint8_t byte = 0xee;
		enum cairn_status wanted = isxdigit((int)c) ? CAIRN_OK : CAIRN_E_FORMAT;
		ck_assert_int_eq(cairn_hex_parse(&byte, 1, text, 2), wanted);
		if (wanted == CAIRN_OK)
			ck_assert_uint_eq(byte, strtoul(text, NULL, 16));
	}
}
END_TEST

START_TEST(hash_keyed_vectors)
{
	CLEANUP(vec_json_freep) json_t *cases = vec_json("hmac.json");
	ck_assert_uint_eq(json_array_size(cases), 17);
	size_t i;
	json_t *entry;
	json_array_foreach(cases, i, entry)
	{
		struct cairn_hash key = vec_hash(entry, "key"), chunk = vec_hash(entry, "hash");
		struct cairn_hash expected = vec_hash(entry, "keyed"), keyed;
		/* hashing with a zero key is possible, but in a shard a zero key means "not keyed" */
		if (cairn_hash_is_zero(&key))
			cairn_hash_file(&keyed, &chunk);
		else
			cairn_hash_keyed(&keyed, &key, &chunk);
		ck_assert(cairn_hash_equal(&keyed, &expected));
	}
	const struct cairn_hash zero = {0}, some = {{1}};
	struct cairn_hash keyed;
	cairn_hash_keyed(&keyed, &zero, &some);
	ck_assert(cairn_hash_equal(&keyed, &some));
}
END_TEST

START_TEST(hash_range_vectors)
{
	CLEANUP(vec_json_freep) json_t *cases = vec_json("range_hashes.json");
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	ck_assert_uint_eq(json_array_size(cases), 15);
	size_t i;
	json_t *entry;
	json_array_foreach(cases, i, entry)
	{
		const json_t *file = vec_find(files, "name", vec_string(entry, "file"));
		struct cairn_hash *hashes, range, expected = vec_hash(entry, "range_hash");
		uint64_t *lengths;
		size_t n = vec_pairs(vec_get(file, "chunks"), &hashes, &lengths);
		size_t start = vec_u64(entry, "chunk_start"), end = vec_u64(entry, "chunk_end");
		ck_assert(start <= end && end <= n);
		struct cairn_range_hasher h;
		cairn_range_hash_init(&h);
		cairn_range_hash_add(&h, hashes + start, end - start);
		cairn_range_hash_end(&h, &range);
		ck_assert(cairn_hash_equal(&range, &expected));
		/* the same piece by piece; asking for the hash in between changes nothing */
		cairn_range_hash_init(&h);
		for (size_t at = start; at < end; at++) {
			cairn_range_hash_add(&h, hashes + at, 1);
			cairn_range_hash_end(&h, &range);
		}
		ck_assert(start == end || cairn_hash_equal(&range, &expected));
		free(hashes);
		free(lengths);
	}
}
END_TEST

/* The published reference file has one xorb and one term, of which only the hashes are known here. */
START_TEST(hash_of_published_file)
{
	const struct cairn_hash root =
		vec_hash_text("eea25d6ee393ccae385820daed127b96ef0ea034dfb7cf6da3a950ce334b7632");
	const struct cairn_hash expected =
		vec_hash_text("118a53328412787fee04011dcf82fdc4acf3a4a1eddec341c910d30a306aaf97");
	struct cairn_hash file;
	cairn_hash_file(&file, &root);
	ck_assert(cairn_hash_equal(&file, &expected));
	const struct cairn_hash zero = {0};
	cairn_hash_file(&file, &zero);
	ck_assert(cairn_hash_is_zero(&file));
}
END_TEST

/* A plain BLAKE3 digest of empty input, as published with BLAKE3. */
START_TEST(hash_body_is_plain_blake3)
{
	struct cairn_hash hash;
	char text[2 * CAIRN_HASH_BYTES + 1];
	cairn_hash_body(&hash, "", 0);
	cairn_hex_text(text, hash.b, sizeof(hash.b));
	ck_assert_str_eq(text, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}
END_TEST

/* Inputs of various lengths at the same time, around multiples of the 64-byte block. */
/* Alike: 365 bytes each, so all are hashed in one call, however many vector lanes stay empty. */
START_TEST(hash_nodes_equal_one_by_one)
{
	bool alike = _i == 1;
	static char messages[CAIRN_HASH_NODES_MAX * 1024];
	size_t ends[CAIRN_HASH_NODES_MAX];
	struct cairn_hash out[CAIRN_HASH_NODES_MAX], alone;
	uint64_t state = 5;
	for (size_t i = 0; i < sizeof(messages); i++)
		messages[i] = (char)vec_splitmix64(&state);
	for (size_t n = 0; n <= CAIRN_HASH_NODES_MAX; n++) {
		static const size_t LENS[] = {1, 63, 64, 65, 128, 129, 365, 365, 365, 960, 961, 1023, 1024};
		size_t end = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t pick = alike ? 13 : vec_splitmix64(&state);
			end += pick % 2 ? LENS[pick / 2 % (sizeof(LENS) / sizeof(LENS[0]))] : 1 + pick / 2 % 1024;
			ends[i] = end;
		}
		cairn_hash_nodes(out, messages, ends, n);
		for (size_t i = 0; i < n; i++) {
			size_t start = i > 0 ? ends[i - 1] : 0;
			cairn_hash_node(&alone, messages + start, ends[i] - start);
			ck_assert_msg(cairn_hash_equal(&out[i], &alone), "%zu of %zu", i, n);
		}
	}
}
END_TEST

START_TEST(hash_ranges_equal_one_by_one)
{
	bool alike = _i > 0; /* from 1 on: nodes of 31 and of 32 chunks */
	static struct cairn_hash chunks[CAIRN_HASH_NODES_MAX * CAIRN_HASH_RANGE_CHUNKS];
	size_t ends[CAIRN_HASH_NODES_MAX];
	struct cairn_hash out[CAIRN_HASH_NODES_MAX], alone;
	uint64_t state = 7;
	for (size_t i = 0; i < sizeof(chunks); i++)
		((uint8_t *)chunks)[i] = (uint8_t)vec_splitmix64(&state);
	for (size_t n = 0; n <= CAIRN_HASH_NODES_MAX; n++) {
		size_t end = 0;
		for (size_t i = 0; i < n; i++) {
			end += alike ? 30 + (size_t)_i : 1 + vec_splitmix64(&state) % CAIRN_HASH_RANGE_CHUNKS;
			ends[i] = end;
		}
		cairn_hash_ranges(out, chunks, ends, n);
		for (size_t i = 0; i < n; i++) {
			size_t start = i > 0 ? ends[i - 1] : 0;
			struct cairn_range_hasher hasher;
			cairn_range_hash_init(&hasher);
			cairn_range_hash_add(&hasher, chunks + start, ends[i] - start);
			cairn_range_hash_end(&hasher, &alone);
			ck_assert_msg(cairn_hash_equal(&out[i], &alone), "%zu of %zu", i, n);
		}
	}
}
END_TEST

START_TEST(hash_eligibility)
{
	struct cairn_hash hash = {{1}};
	ck_assert_uint_eq(cairn_hash_tail(&hash), 0);
	ck_assert(cairn_hash_is_eligible(&hash));
	hash.b[25] = 4;
	ck_assert_uint_eq(cairn_hash_tail(&hash), 1024);
	ck_assert(cairn_hash_is_eligible(&hash));
	hash.b[25] = 2;
	ck_assert(!cairn_hash_is_eligible(&hash));
	hash.b[24] = 1;
	hash.b[25] = 4;
	ck_assert(!cairn_hash_is_eligible(&hash));
	ck_assert(!cairn_hash_is_zero(&hash));
}
END_TEST

START_TEST(hash_chunk_list)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	struct cairn_hash hash = {0}, root;
	cairn_chunk_list_root(&list, &root);
	ck_assert(cairn_hash_is_zero(&root));
	for (uint32_t i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++) {
		hash.b[0] = (uint8_t)i;
		ck_assert_int_eq(cairn_chunk_list_add(&list, &hash, (struct cairn_span){131072, i}), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_chunk_list_add(&list, &hash, (struct cairn_span){1, 0}), CAIRN_E_LIMIT);
	ck_assert_uint_eq(list.n, CAIRN_XORB_CHUNKS_MAX);
	ck_assert_uint_eq(cairn_chunk_list_bytes(&list, 0, list.n), UINT64_C(131072) * CAIRN_XORB_CHUNKS_MAX);
	ck_assert_uint_eq(cairn_chunk_list_bytes(&list, 5, 7), 2 * 131072);
	ck_assert_uint_eq(cairn_chunk_list_bytes(&list, 5, 5), 0);
	ck_assert_uint_eq(list.spans[8191].end, 8191);
	ck_assert_uint_eq(list.hashes[300].b[0], 300 % 256);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *tcase = tcase_create("hash");
	tcase_add_test(tcase, hash_text_of_the_vectors);
	tcase_add_test(tcase, hash_text_refusals);
	tcase_add_test(tcase, hex_of_every_length);
	tcase_add_test(tcase, hex_of_every_character);
	tcase_add_test(tcase, hash_keyed_vectors);
	tcase_add_test(tcase, hash_range_vectors);
	tcase_add_test(tcase, hash_of_published_file);
	tcase_add_test(tcase, hash_body_is_plain_blake3);
	tcase_add_loop_test(tcase, hash_nodes_equal_one_by_one, 0, 2);
	tcase_add_loop_test(tcase, hash_ranges_equal_one_by_one, 0, 3);
	tcase_add_test(tcase, hash_eligibility);
	tcase_add_test(tcase, hash_chunk_list);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
