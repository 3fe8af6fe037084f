/* The merkle subtree of a range of chunks: the part that does not depend on the chunks before and after the range. */
#ifndef CAIRN_HASH_MERKLE_SUBTREE_H
#define CAIRN_HASH_MERKLE_SUBTREE_H

#include "hash/merkle.h"

enum {
	/* Limit of the nodes in memory: 2.6 MB. Ordinary content has some hundreds, whatever its length; only 8 GiB of
	 * identical chunks come near the limit. */
	CAIRN_SUBTREE_NODES_MAX = 65536,
};

struct cairn_subtree_nodes {
	struct cairn_merkle_node *at; /* owned */
	uint32_t n, cap;
};

/** A level of the tree over the range. The groups in its middle have moved to the level above.
 *
 * The groups of a level depend on where the first group starts, and thus on chunks outside the range. But three
 * consecutive cuts, each 3 to 7 nodes apart, ensure that a group ends at the middle one, wherever grouping began
 * (source: the reference client, whose merging relies on this rule). left ends at the middle of the first three such
 * cuts; right begins after the middle of the last three. */
struct cairn_subtree_level {
	struct cairn_subtree_nodes left, right;
	/* for cairn_subtree_add() */
	bool bounded;     /* the start of the groups is known: left gets no more nodes */
	bool promoted;    /* groups have moved up */
	bool has_cut;     /* a cut was seen since ... */
	bool gap_fits;    /* ... and the previous cut was 3 to 7 nodes before */
	uint32_t n_after; /* nodes after the last cut */
};

/** A subtree. For one thread at a time. Zeroed is an empty range. */
struct cairn_subtree {
	struct cairn_subtree_level level[CAIRN_MERKLE_LEVELS_MAX];
	unsigned n_levels;
	bool at_start; /* the range begins with the file's first chunk */
	bool at_end;   /* the range ends with the file's last chunk */
	uint32_t n_nodes;
	enum cairn_status status;
};

/** Makes an empty range. Release a used one by cairn_subtree_fini() first. */
void cairn_subtree_init(struct cairn_subtree *s, bool at_start, bool at_end);

/** Releases the range's memory and empties it. For CLEANUP(). */
void cairn_subtree_fini(struct cairn_subtree *s);

/** Appends a chunk. @return CAIRN_OK; CAIRN_E_LIMIT past CAIRN_SUBTREE_NODES_MAX; CAIRN_E_NOMEM; sticky */
CAIRN_MUST_USE enum cairn_status cairn_subtree_add(struct cairn_subtree *s, const struct cairn_hash *chunk,
						   uint64_t bytes);

/** Completes the range: brings its levels into the exchange format. A level that moved no group up has all its nodes on
 * the left. With both at_start and at_end the top level is the root alone. @return as cairn_subtree_add() */
CAIRN_MUST_USE enum cairn_status cairn_subtree_end(struct cairn_subtree *s);

#endif
