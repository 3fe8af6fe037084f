/* The merkle root over a list of chunks: a xorb's hash, and the root under a file's hash. */
#ifndef CAIRN_HASH_MERKLE_H
#define CAIRN_HASH_MERKLE_H

#include "hash/hash.h"

enum {
	CAIRN_MERKLE_GROUP_MAX = 9,   /* children of a node */
	CAIRN_MERKLE_GROUP_MIN = 3,   /* least children of a node, except in the last group of a level */
	CAIRN_MERKLE_MERGE_MAX = 256, /* nodes that cairn_merkle_merge() accepts at once */
	/* nodes that cairn_merkle_merge() makes at most */
	CAIRN_MERKLE_PARENTS_MAX = CAIRN_MERKLE_MERGE_MAX / CAIRN_MERKLE_GROUP_MIN + 1,
	/* A group has at least 3 nodes, except for the last of its level, so 41 levels hold more chunks than a u64. */
	CAIRN_MERKLE_LEVELS_MAX = 41,
	/* Most nodes that wait on a level until they are merged: more at once is faster. Most are on the lowest two
	 * levels; one group is enough for the others. */
	CAIRN_MERKLE_WAITING_0 = CAIRN_MERKLE_MERGE_MAX,
	CAIRN_MERKLE_WAITING_1 = 64,
	CAIRN_MERKLE_WAITING_MAX = CAIRN_MERKLE_WAITING_0 + CAIRN_MERKLE_WAITING_1 +
				   (CAIRN_MERKLE_LEVELS_MAX - 2) * CAIRN_MERKLE_GROUP_MAX,
};

/** A chunk, or a node over several. */
struct cairn_merkle_node {
	struct cairn_hash hash;
	uint64_t bytes; /* raw bytes of all chunks under it */
};

/** Returns whether this hash ends a group that has CAIRN_MERKLE_GROUP_MIN nodes or more. */
bool cairn_merkle_is_cut(const struct cairn_hash *node);

/** Makes one node of each group, from the first on (source: protocol document; confirmed by vectors of the reference
 * client: a group ends with a cut, or with its ninth node, which is known without looking ahead).
 * @param n        at most CAIRN_MERKLE_MERGE_MAX
 * @param is_last  these are the last nodes: the last group ends with them, complete or not
 * @param[out] parents  room for CAIRN_MERKLE_PARENTS_MAX
 * @return number of nodes merged: n, or fewer if the last group is not complete */
unsigned cairn_merkle_merge(const struct cairn_merkle_node *nodes, unsigned n, bool is_last,
			    struct cairn_merkle_node *parents, unsigned *n_parents);

/** A root under construction. Accepts chunks one by one in constant memory, 27 KiB. No clean-up needed. */
struct cairn_merkle {
	struct cairn_merkle_level {
		unsigned n;  /* nodes not yet merged */
		bool passed; /* a group of this level was merged already */
	} level[CAIRN_MERKLE_LEVELS_MAX];
	unsigned top; /* levels in use */
	struct cairn_merkle_node
		waiting[CAIRN_MERKLE_WAITING_MAX]; /* waiting nodes of all levels, one level after the other */
};

void cairn_merkle_init(struct cairn_merkle *m);

/** Appends a chunk with its hash and raw length. */
void cairn_merkle_add(struct cairn_merkle *m, const struct cairn_hash *chunk, uint64_t bytes);

/** Returns the root: zero without chunks, the chunk's own hash for a single chunk. Call once. */
void cairn_merkle_root(struct cairn_merkle *m, struct cairn_hash *out);

#endif
