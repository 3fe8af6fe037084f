/* What a client does with ranges of a file: join neighbours until the whole file is there. Written over whole lists, by
 * the rule alone, so that it shares nothing with lib/hash/merkle_subtree.c but the nodes' hash. */
#ifndef CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H
#define CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H

#include "hash/merkle_subtree.h"

/** A range straight from its nodes. The caller frees it with cairn_subtree_fini(). */
struct cairn_subtree subtree_of(const struct cairn_merkle_node *nodes, size_t n, bool at_start, bool at_end);

/** Append the neighbour on the right, which stays as it is. */
void subtree_merge(struct cairn_subtree *into, const struct cairn_subtree *next);

/** The root, of a range that is the whole file; the test fails if it is not. Zero for no nodes. */
struct cairn_hash subtree_root(const struct cairn_subtree *s);

/** Is it the same form, node for node? */
bool subtree_same(const struct cairn_subtree *a, const struct cairn_subtree *b);

#endif
