/* How a client combines ranges of a file: it merges neighbours until it has the whole file. This implementation follows
 * the rule over whole lists, and shares only the hash of nodes with lib/hash/merkle_subtree.c. */
#ifndef CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H
#define CAIRN_TESTS_SUPPORT_SUBTREE_MERGE_H

#include "hash/merkle_subtree.h"

/** Makes a range directly from its nodes. The caller frees it with cairn_subtree_fini(). */
struct cairn_subtree subtree_of(const struct cairn_merkle_node *nodes, size_t n, bool at_start, bool at_end);

/** Appends the neighbour on the right, which is not changed. */
void subtree_merge(struct cairn_subtree *into, const struct cairn_subtree *next);

/** Returns the root of a range that is the whole file; zero for no nodes. Any other range fails the test. */
struct cairn_hash subtree_root(const struct cairn_subtree *s);

/** Do both have the same nodes, on every level? */
bool subtree_same(const struct cairn_subtree *a, const struct cairn_subtree *b);

#endif
