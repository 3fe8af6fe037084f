#include "base/bytes.h"
#include "support/run.h"
#include "support/subtree_merge.h"
#include "support/vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Makes nodes by the rule of merkle.json. The caller frees them. */
static struct cairn_merkle_node *nodes_of(const char *variant, uint64_t seed, size_t n)
{
	struct cairn_merkle_node *nodes = calloc(n + 1, sizeof(*nodes));
	ck_assert_ptr_nonnull(nodes);
	for (size_t i = 0; i < n; i++) {
		for (size_t w = 0; w < 4; w++)
			cairn_put_u64le(nodes[i].hash.b + 8 * w, vec_splitmix64(&seed));
		nodes[i].bytes = 1 + vec_splitmix64(&seed) % 131072;
		if (strcmp(variant, "all_cut") == 0)
			nodes[i].hash.b[24] &= 0xfc;
		if (strcmp(variant, "no_cut") == 0)
			nodes[i].hash.b[24] |= 1;
	}
	return nodes;
}

static struct cairn_hash root_of(const struct cairn_merkle_node *nodes, size_t n)
{
	struct cairn_merkle m;
	struct cairn_hash root;
	cairn_merkle_init(&m);
	for (size_t i = 0; i < n; i++)
		cairn_merkle_add(&m, &nodes[i].hash, nodes[i].bytes);
	cairn_merkle_root(&m, &root);
	return root;
}

static struct cairn_subtree streamed(const struct cairn_merkle_node *nodes, size_t n, bool at_start, bool at_end)
{
	struct cairn_subtree s;
	cairn_subtree_init(&s, at_start, at_end);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(cairn_subtree_add(&s, &nodes[i].hash, nodes[i].bytes), CAIRN_OK);
	ck_assert_int_eq(cairn_subtree_end(&s), CAIRN_OK);
	return s;
}

/* Compares the nodes of a level, in the order of the exchanged form, from *at on. */
static void check_nodes(const struct cairn_subtree_nodes *have, const json_t *want, size_t *at)
{
	for (uint32_t i = 0; i < have->n; i++, (*at)++) {
		const json_t *pair = json_array_get(want, *at);
		struct cairn_hash hash = vec_hash_of(json_array_get(pair, 0));
		ck_assert(cairn_hash_equal(&have->at[i].hash, &hash));
		ck_assert_uint_eq(have->at[i].bytes, (uint64_t)json_integer_value(json_array_get(pair, 1)));
	}
}

static void check_case(const json_t *entry, const struct cairn_merkle_node *nodes)
{
	size_t from = vec_u64(entry, "from"), to = vec_u64(entry, "to"), at = 0;
	CLEANUP(cairn_subtree_fini)
	struct cairn_subtree s = streamed(nodes + from, to - from, from == 0, to == vec_u64(entry, "n"));
	const json_t *levels = vec_get(entry, "levels"), *want = vec_get(entry, "nodes");
	ck_assert_uint_eq(s.n_levels, json_array_size(levels));
	for (unsigned i = 0; i < s.n_levels; i++) {
		const json_t *pair = json_array_get(levels, i);
		ck_assert_int_eq(s.level[i].left.n, json_integer_value(json_array_get(pair, 0)));
		ck_assert_int_eq(s.level[i].right.n, json_integer_value(json_array_get(pair, 1)));
	}
	ck_assert_uint_eq(s.n_nodes, json_array_size(want));
	for (unsigned i = 0; i < s.n_levels; i++)
		check_nodes(&s.level[i].left, want, &at);
	for (unsigned i = s.n_levels; i-- > 0;)
		check_nodes(&s.level[i].right, want, &at);
}

START_TEST(ranges_have_the_form_of_the_reference)
{
	CLEANUP(vec_json_freep) json_t *cases = vec_json("subtrees.json"), *lists = vec_json("merkle.json");
	size_t i, k;
	json_t *entry, *list;
	ck_assert_uint_eq(json_array_size(cases), 54);
	json_array_foreach(cases, i, entry)
	{
		json_array_foreach(lists, k, list)
		{
			if (vec_u64(list, "n") != vec_u64(entry, "n") ||
			    strcmp(vec_string(list, "variant"), vec_string(entry, "variant")) != 0)
				continue;
			struct cairn_merkle_node *nodes =
				nodes_of(vec_string(list, "variant"), vec_u64(list, "seed"), vec_u64(list, "n"));
			check_case(entry, nodes);
			free(nodes);
		}
	}
}
END_TEST

/* Cuts a list anywhere, into any number of pieces. The merged pieces must give the root of the whole list. */
static void check_pieces(const struct cairn_merkle_node *nodes, size_t n, const size_t *cuts, size_t n_cuts)
{
	struct cairn_subtree whole = {0};
	for (size_t i = 0, from = 0; i <= n_cuts; i++) {
		size_t to = i < n_cuts ? cuts[i] : n;
		struct cairn_subtree piece = streamed(nodes + from, to - from, i == 0, i == n_cuts);
		struct cairn_subtree by_rule = subtree_of(nodes + from, to - from, i == 0, i == n_cuts);
		ck_assert_msg(subtree_same(&piece, &by_rule), "chunks %zu to %zu of %zu", from, to, n);
		cairn_subtree_fini(&by_rule);
		if (i == 0) {
			whole = piece;
		} else {
			subtree_merge(&whole, &piece);
			cairn_subtree_fini(&piece);
		}
		from = to;
	}
	struct cairn_hash root = subtree_root(&whole), want = root_of(nodes, n);
	ck_assert_msg(cairn_hash_equal(&root, &want), "%zu chunks, %zu cuts, the first at %zu", n, n_cuts,
		      n_cuts ? cuts[0] : 0);
	cairn_subtree_fini(&whole);
}

START_TEST(pieces_cut_anywhere_merge_to_the_root)
{
	static const char *const VARIANTS[] = {"random", "all_cut", "no_cut"};
	static const size_t SIZES[] = {0, 1, 2, 3, 4, 8, 9, 10, 27, 28, 100, 300};
	for (size_t v = 0; v < 3; v++) {
		for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
			struct cairn_merkle_node *nodes = nodes_of(VARIANTS[v], 7 + i, SIZES[i]);
			check_pieces(nodes, SIZES[i], NULL, 0);
			for (size_t cut = 0; cut <= SIZES[i]; cut++)
				check_pieces(nodes, SIZES[i], &cut, 1);
			free(nodes);
		}
	}
}
END_TEST

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return x < y ? -1 : x > y;
}

START_TEST(many_pieces_of_long_lists_merge_to_the_root)
{
	static const char *const VARIANTS[] = {"random", "all_cut", "no_cut"};
	uint64_t seed = (uint64_t)_i;
	for (size_t v = 0; v < 3; v++) {
		size_t n = 1000 + vec_splitmix64(&seed) % 4001, cuts[12], n_cuts = vec_splitmix64(&seed) % 13;
		struct cairn_merkle_node *nodes = nodes_of(VARIANTS[v], vec_splitmix64(&seed), n);
		for (size_t i = 0; i < n_cuts; i++)
			cuts[i] = vec_splitmix64(&seed) % (n + 1);
		qsort(cuts, n_cuts, sizeof(cuts[0]), by_number);
		if (v == 0) { /* the other variants match the reference only up to 1,024 nodes */
			check_pieces(nodes, n, cuts, n_cuts);
		} else {
			check_pieces(nodes, n < 1023 ? n : 1023, NULL, 0);
		}
		free(nodes);
	}
}
END_TEST

/* A run of equal chunks, as zeros make them, between ordinary ones. A range needs at most the nodes of the run, and
 * almost none if it includes an end of the file. */
START_TEST(a_long_run_of_equal_chunks_folds_next_to_an_end_of_the_file)
{
	enum { N = 46000, RUN_FROM = 3000, RUN_TO = 43000 };
	struct cairn_merkle_node *nodes = nodes_of("random", 5, N);
	for (size_t i = RUN_FROM; i < RUN_TO; i++) {
		nodes[i] = nodes[RUN_FROM];
		nodes[i].hash.b[24] = (uint8_t)_i; /* whether the node is a cut */
	}
	struct cairn_hash want = root_of(nodes, N);
	static const size_t AT[] = {250, 20000, 45750};
	for (size_t i = 0; i < 3; i++) {
		struct cairn_subtree a = streamed(nodes, AT[i], true, false);
		CLEANUP(cairn_subtree_fini) struct cairn_subtree b = streamed(nodes + AT[i], N - AT[i], false, true);
		ck_assert_uint_lt(a.n_nodes, 2000);
		if (AT[i] != 20000) /* this range begins within the run, so nothing shows where its groups begin */
			ck_assert_uint_lt(b.n_nodes, 2000);
		subtree_merge(&a, &b);
		struct cairn_hash root = subtree_root(&a);
		ck_assert_msg(cairn_hash_equal(&root, &want), "at %zu", AT[i]);
		cairn_subtree_fini(&a);
	}
	free(nodes);
}
END_TEST

START_TEST(a_range_keeps_many_chunks_in_some_hundred_nodes)
{
	struct cairn_subtree s;
	uint64_t seed = 3;
	cairn_subtree_init(&s, false, false);
	for (size_t i = 0; i < 200000; i++) {
		struct cairn_hash hash = {0};
		cairn_put_u64le(hash.b, i);
		cairn_put_u64le(hash.b + 24, vec_splitmix64(&seed));
		ck_assert_int_eq(cairn_subtree_add(&s, &hash, 65536), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_subtree_end(&s), CAIRN_OK);
	ck_assert_uint_lt(s.n_nodes, 2000);
	cairn_subtree_fini(&s);
}
END_TEST

START_TEST(nodes_are_bounded)
{
	const struct cairn_hash hash = {.b = {[24] = 1}}; /* a node that is never a cut */
	struct cairn_subtree s;
	cairn_subtree_init(&s, false, false);
	for (size_t i = 0; i < CAIRN_SUBTREE_NODES_MAX; i++)
		ck_assert_int_eq(cairn_subtree_add(&s, &hash, 1), CAIRN_OK);
	ck_assert_int_eq(cairn_subtree_add(&s, &hash, 1), CAIRN_E_LIMIT);
	ck_assert_int_eq(cairn_subtree_add(&s, &hash, 1), CAIRN_E_LIMIT);
	ck_assert_int_eq(cairn_subtree_end(&s), CAIRN_E_LIMIT);
	cairn_subtree_fini(&s);
	cairn_subtree_fini(&s);
}
END_TEST

static Suite *subtree_suite(void)
{
	Suite *s = suite_create("merkle_subtree");
	TCase *t = tcase_create("merkle_subtree");
	tcase_add_test(t, ranges_have_the_form_of_the_reference);
	tcase_add_test(t, pieces_cut_anywhere_merge_to_the_root);
	tcase_add_loop_test(t, many_pieces_of_long_lists_merge_to_the_root, 0, 10);
	tcase_add_loop_test(t, a_long_run_of_equal_chunks_folds_next_to_an_end_of_the_file, 0, 2);
	tcase_add_test(t, a_range_keeps_many_chunks_in_some_hundred_nodes);
	tcase_add_test(t, nodes_are_bounded);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(subtree_suite());
}
