#include "base/bytes.h"
#include "hash/merkle.h"
#include "support/run.h"
#include "support/vectors.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a node of a case by the case's rule. */
static void merkle_make_node(const char *variant, uint64_t *state, struct cairn_hash *hash, uint64_t *bytes)
{
	for (size_t i = 0; i < 4; i++)
		cairn_put_u64le(hash->b + 8 * i, vec_splitmix64(state));
	*bytes = 1 + vec_splitmix64(state) % 131072;
	if (strcmp(variant, "all_cut") == 0)
		hash->b[24] &= 0xfc;
	if (strcmp(variant, "no_cut") == 0)
		hash->b[24] |= 1;
}

START_TEST(merkle_roots_of_the_vectors)
{
	CLEANUP(vec_json_freep) json_t *cases = vec_json("merkle.json");
	ck_assert_uint_eq(json_array_size(cases), 30);
	size_t at;
	json_t *entry;
	json_array_foreach(cases, at, entry)
	{
		const char *variant = vec_string(entry, "variant");
		uint64_t state = vec_u64(entry, "seed"), n = vec_u64(entry, "n");
		const json_t *nodes = json_object_get(entry, "nodes");
		struct cairn_merkle m;
		cairn_merkle_init(&m);
		for (uint64_t i = 0; i < n; i++) {
			struct cairn_hash hash;
			uint64_t bytes;
			merkle_make_node(variant, &state, &hash, &bytes);
			if (nodes) { /* the shorter lists have every node, which checks merkle_make_node() */
				const json_t *pair = json_array_get(nodes, i);
				struct cairn_hash kept = vec_hash_of(json_array_get(pair, 0));
				ck_assert(cairn_hash_equal(&hash, &kept));
				ck_assert_int_eq(json_integer_value(json_array_get(pair, 1)), (int64_t)bytes);
			}
			cairn_merkle_add(&m, &hash, bytes);
		}
		struct cairn_hash root, file, expected = vec_hash(entry, "root");
		struct cairn_hash expected_file = vec_hash(entry, "file_hash");
		cairn_merkle_root(&m, &root);
		ck_assert_msg(cairn_hash_equal(&root, &expected), "%s of %zu", variant, (size_t)n);
		cairn_hash_file(&file, &root);
		ck_assert_msg(cairn_hash_equal(&file, &expected_file), "%s of %zu: file", variant, (size_t)n);
	}
}
END_TEST

/* Computes the root as the protocol document says, over the whole list at once, for comparison. */
static void merkle_by_the_book(struct cairn_hash *hashes, uint64_t *bytes, size_t n, struct cairn_hash *root)
{
	memset(root, 0, sizeof(*root));
	while (n > 1) {
		size_t n_up = 0;
		for (size_t at = 0; at < n;) {
			size_t left = n - at, most = left < 9 ? left : 9, take = most;
			for (size_t i = 2; left > 2 && i < most; i++) {
				if (cairn_get_u64le(hashes[at + i].b + 24) % 4 == 0) {
					take = i + 1;
					break;
				}
			}
			char message[9 * 100];
			size_t len = 0;
			uint64_t sum = 0;
			for (size_t i = 0; i < take; i++) {
				char text[CAIRN_HASH_TEXT_BYTES];
				cairn_hash_text(text, &hashes[at + i]);
				len += (size_t)snprintf(message + len, sizeof(message) - len, "%s : %llu\n", text,
							(unsigned long long)bytes[at + i]);
				sum += bytes[at + i];
			}
			cairn_hash_node(&hashes[n_up], message, len);
			bytes[n_up++] = sum;
			at += take;
		}
		n = n_up;
	}
	if (n == 1)
		*root = hashes[0];
}

/* Lists of up to 20,000 nodes fill all waiting places of the lower levels. The lengths of nodes have 1 to 20 digits. */
START_TEST(merkle_streaming_equals_the_book)
{
	enum { N = 20000 };
	static struct cairn_hash hashes[N];
	static uint64_t bytes[N];
	static const char *const VARIANTS[] = {"random", "all_cut", "no_cut"};
	for (size_t v = 0; v < 3; v++) {
		for (size_t n = 0; n <= N; n += n < 120 ? 1 : n < 1200 ? 37 : 1567) {
			uint64_t state = 17 * n + v;
			struct cairn_merkle m;
			cairn_merkle_init(&m);
			for (size_t i = 0; i < n; i++) {
				merkle_make_node(VARIANTS[v], &state, &hashes[i], &bytes[i]);
				if (i % 7 == 3)
					bytes[i] = i % 2 ? 0 : UINT64_MAX / 4096 / (i + 1);
				cairn_merkle_add(&m, &hashes[i], bytes[i]);
			}
			struct cairn_hash root, expected;
			cairn_merkle_root(&m, &root);
			merkle_by_the_book(hashes, bytes, n, &expected);
			ck_assert_msg(cairn_hash_equal(&root, &expected), "%s of %zu", VARIANTS[v], n);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("merkle");
	TCase *tcase = tcase_create("merkle");
	tcase_add_test(tcase, merkle_roots_of_the_vectors);
	tcase_add_test(tcase, merkle_streaming_equals_the_book);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
