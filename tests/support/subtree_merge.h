/* How a client combines ranges of a file: it merges neighbours until the whole file is there. This is written over
 * whole lists by the rule alone, and shares only the nodes' hash with lib/hash/merkle_subtree.c. */
#ifndef CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H
#define CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H

#include "hash/merkle_subtree.h"

/** Makes a range straight from its nodes. The caller frees it with cairn_subtree_fini(). */
struct cairn_subtree subtree_of(const struct cairn_merkle_node *nodes, size_t n, bool at_start, bool at_end);

/** Appends the neighbour on the right, which is not changed. */
void subtree_merge(struct cairn_subtree *into, const struct cairn_subtree *next);

/** Returns the root of a range that is the whole file; zero for no nodes. Fails the test for any other range. */
struct cairn_hash subtree_root(const struct cairn_subtree *s);

/** Have both the same form, node for node? */
bool subtree_same(const struct cairn_subtree *a, const struct cairn_subtree *b);

#endif
