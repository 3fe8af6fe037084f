#include "support/subtree_merge.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void merge_add(struct cairn_subtree_nodes *to, const struct cairn_merkle_node *nodes, size_t n)
{
	to->at = realloc(to->at, (to->n + n + 1) * sizeof(*to->at));
	ck_assert_ptr_nonnull(to->at);
	if (n > 0)
		memcpy(to->at + to->n, nodes, n * sizeof(*nodes));
	to->n += (uint32_t)n;
	to->cap = to->n + 1;
}

/* Returns a place where a group certainly begins: after the middle of three cuts in a row, each 3 to 7 nodes from the
 * next. It is the first such place, or the last; 0: there is none. */
static size_t merge_boundary(const struct cairn_merkle_node *nodes, size_t n, bool last)
{
	size_t found = 0, cuts[3] = {0}, n_cuts = 0;
	for (size_t i = 0; i < n; i++) {
		if (cairn_hash_tail(&nodes[i].hash) % 4 != 0)
			continue;
		cuts[0] = cuts[1];
		cuts[1] = cuts[2];
		cuts[2] = i;
		size_t a = cuts[1] - cuts[0], b = cuts[2] - cuts[1];
		if (++n_cuts >= 3 && a > 2 && a < 8 && b > 2 && b < 8 && (last || !found))
			found = cuts[1] + 1;
	}
	return found;
}

static size_t merge_group_len(const struct cairn_merkle_node *nodes, size_t n)
{
	size_t len = 3;
	while (len < n && len < 9 && cairn_hash_tail(&nodes[len - 1].hash) % 4 != 0)
		len++;
	return n < len ? n : len;
}

/* Hashes the groups of n nodes, which begin and end with a group, for the next level. */
static void merge_promote(struct cairn_subtree_nodes *up, const struct cairn_merkle_node *nodes, size_t n)
{
	for (size_t at = 0, len; at < n; at += len) {
		struct cairn_merkle_node parents[CAIRN_MERKLE_PARENTS_MAX];
		unsigned n_parents;
		len = merge_group_len(nodes + at, n - at);
		ck_assert_uint_eq(cairn_merkle_merge(nodes + at, (unsigned)len, true, parents, &n_parents), len);
		ck_assert_uint_eq(n_parents, 1);
		merge_add(up, parents, 1);
	}
}

/* Splits the known nodes of one level: left ones, groups for the next level, right ones. */
static void merge_split(const struct cairn_subtree_nodes *full, bool at_start, bool at_end,
			struct cairn_subtree_level *out, struct cairn_subtree_nodes *up)
{
	size_t start = at_start ? 0 : merge_boundary(full->at, full->n, false);
	size_t end = at_end ? full->n : start + merge_boundary(full->at + start, full->n - start, true);
	bool none = full->n < 2 || (!at_start && start == 0) || end <= start;
	if (none) {
		merge_add(&out->left, full->at, full->n);
		return;
	}
	merge_add(&out->left, full->at, start);
	merge_promote(up, full->at + start, end - start);
	merge_add(&out->right, full->at + end, full->n - end);
}

void subtree_merge(struct cairn_subtree *into, const struct cairn_subtree *next)
{
	static const struct cairn_subtree_level NONE;
	struct cairn_subtree out = {.at_start = into->at_start, .at_end = next->at_end};
	struct cairn_subtree_nodes carry = {0};
	bool lefts = false, rights = false;
	unsigned n_both = into->n_levels > next->n_levels ? into->n_levels : next->n_levels;
	ck_assert(!into->at_end && !next->at_start);
	while (out.n_levels < n_both || carry.n > 0) {
		unsigned at = out.n_levels++;
		const struct cairn_subtree_level *a = at < into->n_levels ? &into->level[at] : &NONE;
		const struct cairn_subtree_level *b = at < next->n_levels ? &next->level[at] : &NONE;
		struct cairn_subtree_level *l = &out.level[at];
		struct cairn_subtree_nodes full = {0}, up = {0};
		ck_assert_uint_lt(at, CAIRN_MERKLE_LEVELS_MAX);
		merge_add(&full, a->left.at, a->left.n);
		merge_add(&full, a->right.at, a->right.n);
		merge_add(&full, carry.at, carry.n);
		merge_add(&full, b->left.at, b->left.n);
		merge_add(&full, b->right.at, b->right.n);
		merge_split(&full, out.at_start && !lefts, out.at_end && !rights, l, &up);
		lefts = lefts || l->left.n > 0;
		rights = rights || l->right.n > 0;
		out.n_nodes += l->left.n + l->right.n;
		free(full.at);
		free(carry.at);
		carry = up;
	}
	free(carry.at);
	cairn_subtree_fini(into);
	*into = out;
}

struct cairn_subtree subtree_of(const struct cairn_merkle_node *nodes, size_t n, bool at_start, bool at_end)
{
	/* Merges an open range of no nodes with one that has every node on the left of its only level. */
	struct cairn_subtree all = {.at_end = at_end, .n_levels = 1}, out = {.at_start = at_start};
	merge_add(&all.level[0].left, nodes, n);
	subtree_merge(&out, &all);
	cairn_subtree_fini(&all);
	return out;
}

struct cairn_hash subtree_root(const struct cairn_subtree *s)
{
	struct cairn_hash zero = {0};
	ck_assert(s->at_start && s->at_end);
	if (s->n_nodes == 0)
		return zero;
	unsigned top = s->n_levels;
	while (top > 0 && s->level[top - 1].left.n + s->level[top - 1].right.n == 0)
		top--;
	ck_assert_uint_eq(s->n_nodes, 1);
	ck_assert_uint_eq(s->level[top - 1].left.n, 1);
	return s->level[top - 1].left.at[0].hash;
}

static bool merge_same_nodes(const struct cairn_subtree_nodes *a, const struct cairn_subtree_nodes *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++)
		if (!cairn_hash_equal(&a->at[i].hash, &b->at[i].hash) || a->at[i].bytes != b->at[i].bytes)
			return false;
	return a->n == b->n;
}

bool subtree_same(const struct cairn_subtree *a, const struct cairn_subtree *b)
{
	unsigned n = a->n_levels > b->n_levels ? a->n_levels : b->n_levels;
	for (unsigned i = 0; i < n; i++)
		if (!merge_same_nodes(&a->level[i].left, &b->level[i].left) ||
		    !merge_same_nodes(&a->level[i].right, &b->level[i].right))
			return false;
	return a->at_start == b->at_start && a->at_end == b->at_end;
}
