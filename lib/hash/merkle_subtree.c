#include "hash/merkle_subtree.h"

#include <stdlib.h>
#include <string.h>

enum {
	SUBTREE_GAP_MIN = 3, /* nodes between reliable cuts: see struct cairn_subtree_level */
	SUBTREE_GAP_MAX = 7,
	SUBTREE_RIGHT_NODES = 1024, /* on a level with known groups, more nodes are merged, with cuts or without */
};

void cairn_subtree_init(struct cairn_subtree *s, bool at_start, bool at_end)
{
	*s = (struct cairn_subtree){.at_start = at_start, .at_end = at_end};
}

void cairn_subtree_fini(struct cairn_subtree *s)
{
	for (unsigned i = 0; i < s->n_levels; i++) {
		free(s->level[i].left.at);
		free(s->level[i].right.at);
	}
	*s = (struct cairn_subtree){0};
}

static void subtree_append(struct cairn_subtree *s, struct cairn_subtree_nodes *to,
			   const struct cairn_merkle_node *nodes, uint32_t n)
{
	if (n > CAIRN_SUBTREE_NODES_MAX - to->n) {
		s->status = CAIRN_E_LIMIT;
		return;
	}
	uint32_t cap = to->cap ? to->cap : 16;
	while (cap < to->n + n)
		cap *= 2;
	if (cap != to->cap) {
		struct cairn_merkle_node *at = realloc(to->at, cap * sizeof(*at));
		if (!at) {
			s->status = CAIRN_E_NOMEM;
			return;
		}
		to->at = at;
		to->cap = cap;
	}
	if (n > 0)
		memcpy(to->at + to->n, nodes, n * sizeof(*nodes));
	to->n += n;
}

static void subtree_push(struct cairn_subtree *s, unsigned at, const struct cairn_merkle_node *node);

/* Moves the groups of the first n nodes on the right up. @param whole_only  keep an incomplete last group */
static void subtree_promote(struct cairn_subtree *s, unsigned at, uint32_t n, bool whole_only)
{
	struct cairn_subtree_nodes *right = &s->level[at].right;
	struct cairn_merkle_node parents[CAIRN_MERKLE_PARENTS_MAX];
	uint32_t done = 0;
	for (unsigned merged = 1; merged > 0 && done < n; done += merged) {
		uint32_t left = n - done, take = left < CAIRN_MERKLE_MERGE_MAX ? left : CAIRN_MERKLE_MERGE_MAX;
		unsigned n_parents;
		merged = cairn_merkle_merge(right->at + done, take, take == left && !whole_only, parents, &n_parents);
		s->level[at].promoted |= n_parents > 0;
		s->n_nodes -= merged;
		for (unsigned i = 0; i < n_parents; i++)
			subtree_push(s, at + 1, &parents[i]);
	}
	right->n -= done;
	if (right->n > 0)
		memmove(right->at, right->at + done, right->n * sizeof(*right->at));
}

/* Records that the last three cuts of a level fit: a group ends at the middle one, n_behind nodes before the end. */
static void subtree_bound(struct cairn_subtree *s, unsigned at, uint32_t n_behind)
{
	struct cairn_subtree_level *level = &s->level[at];
	if (level->bounded) {
		subtree_promote(s, at, level->right.n - n_behind, false);
		return;
	}
	level->left.n -= n_behind;
	subtree_append(s, &level->right, level->left.at + level->left.n, n_behind);
	level->bounded = true;
	level->gap_fits = false; /* search the last boundary after the first: only the third cut counts there */
}

static void subtree_push(struct cairn_subtree *s, unsigned at, const struct cairn_merkle_node *node)
{
	struct cairn_subtree_level *level = &s->level[at];
	if (at == s->n_levels) {
		level->bounded = s->at_start;
		s->n_levels++;
	}
	if (s->n_nodes == CAIRN_SUBTREE_NODES_MAX)
		s->status = CAIRN_E_LIMIT;
	if (s->status != CAIRN_OK)
		return;
	s->n_nodes++;
	subtree_append(s, level->bounded ? &level->right : &level->left, node, 1);
	level->n_after++;
	if (cairn_merkle_is_cut(&node->hash)) {
		uint32_t gap = level->n_after;
		bool fits = level->has_cut && gap >= SUBTREE_GAP_MIN && gap <= SUBTREE_GAP_MAX;
		bool both = fits && level->gap_fits;
		level->has_cut = true;
		level->gap_fits = fits;
		level->n_after = 0;
		if (both && s->status == CAIRN_OK)
			subtree_bound(s, at, gap);
	}
	/* The range begins or ends with the file, so its groups are known there without three cuts. Files of only zeros
	 * have no cuts. */
	if (level->right.n >= SUBTREE_RIGHT_NODES && (s->at_start || s->at_end)) {
		subtree_promote(s, at, level->right.n, true);
		level->has_cut = false;
		level->gap_fits = false;
	}
}

enum cairn_status cairn_subtree_add(struct cairn_subtree *s, const struct cairn_hash *chunk, uint64_t bytes)
{
	const struct cairn_merkle_node node = {.hash = *chunk, .bytes = bytes};
	if (s->status == CAIRN_OK)
		subtree_push(s, 0, &node);
	return s->status;
}

/* Returns whether a level is a root, which is not merged further. */
static bool subtree_is_single(const struct cairn_subtree_level *level)
{
	return !level->promoted && level->left.n + level->right.n == 1;
}

enum cairn_status cairn_subtree_end(struct cairn_subtree *s)
{
	for (unsigned at = 0; s->status == CAIRN_OK && at < s->n_levels; at++) {
		struct cairn_subtree_level *level = &s->level[at];
		if (s->at_end && level->bounded && !subtree_is_single(level))
			subtree_promote(s, at, level->right.n, false);
		if (s->status == CAIRN_OK && !level->promoted) {
			subtree_append(s, &level->left, level->right.at, level->right.n);
			level->right.n = 0;
		}
	}
	return s->status;
}
