/* The merkle subtree of a range of a file's chunks: what of the tree can be computed without knowing what stands before
 * and after it. */
#ifndef CAIRN_HASH_MERKLE_SUBTREE_H
#define CAIRN_HASH_MERKLE_SUBTREE_H

#include "hash/merkle.h"

enum {
	/* Nodes that a range may keep: 2.6 MB. Ordinary content keeps some hundreds, whatever its length; only chunks
	 * that are all alike for 8 GiB on end come near. */
	CAIRN_SUBTREE_NODES_MAX = 65536,
};

struct cairn_subtree_nodes {
	struct cairn_merkle_node *at; /* owned */
	uint32_t n, cap;
};

/**
 * One level of the tree over the range. Groups of the middle have gone to the level above.
 *
 * How a level is cut into groups depends on where the first group starts, and so on chunks that are not here; but
 * three cuts in a row that are 3 to 7 nodes apart make sure that a group ends with the middle one, wherever grouping
 * began (source: the reference client, whose merging relies on just this rule). left ends with the middle of the first
 * three such cuts, right begins after the middle of the last three.
 */
struct cairn_subtree_level {
	struct cairn_subtree_nodes left, right;
	/* for cairn_subtree_add() */
	bool bounded;     /* where the groups start is known: nothing is added to left any more */
	bool promoted;    /* groups have gone up */
	bool has_cut;     /* a cut was seen since ... */
	bool gap_fits;    /* ... and the one before it was 3 to 7 nodes away */
	uint32_t n_after; /* nodes after the last cut */
};

/** Owned by one thread at a time. Zeroed is an empty range. */
struct cairn_subtree {
	struct cairn_subtree_level level[CAIRN_MERKLE_LEVELS_MAX];
	unsigned n_levels;
	bool at_start; /* the range begins with the file's first chunk */
	bool at_end;   /* it ends with the last */
	uint32_t n_nodes;
	enum cairn_status status;
};

/** An empty range. Give up one in use with cairn_subtree_fini(). */
void cairn_subtree_init(struct cairn_subtree *s, bool at_start, bool at_end);

/** Release what the range owns and make it empty. For CLEANUP(). */
void cairn_subtree_fini(struct cairn_subtree *s);

/** Append a chunk. @return CAIRN_OK; CAIRN_E_LIMIT past CAIRN_SUBTREE_NODES_MAX; CAIRN_E_NOMEM; sticky */
CAIRN_MUST_USE enum cairn_status cairn_subtree_add(struct cairn_subtree *s, const struct cairn_hash *chunk,
						   uint64_t bytes);

/**
 * The range is complete: bring its levels into the form in which they are exchanged. A level from which nothing went up
 * has all its nodes on the left. With both at_start and at_end the top level is the root alone.
 * @return as cairn_subtree_add()
 */
CAIRN_MUST_USE enum cairn_status cairn_subtree_end(struct cairn_subtree *s);

#endif
