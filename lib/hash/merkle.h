/* The merkle root over a list of chunks: a xorb's hash, and the root under a file's hash. */
#ifndef CAIRN_HASH_MERKLE_H
#define CAIRN_HASH_MERKLE_H

#include "hash/hash.h"

enum {
	CAIRN_MERKLE_GROUP_MAX = 9, /* children of a node */
	CAIRN_MERKLE_GROUP_MIN = 3, /* likewise, but for the last group of a level */
	/* A group has at least 3 nodes, but for the last of its level, so 41 levels hold more chunks than a u64 counts.
	 */
	CAIRN_MERKLE_LEVELS_MAX = 41,
};

/** Does a group that has at least CAIRN_MERKLE_GROUP_MIN nodes end with this one? */
bool cairn_merkle_is_cut(const struct cairn_hash *node);

/** Make one node of n others, 1 to CAIRN_MERKLE_GROUP_MAX. @return the raw bytes under it */
uint64_t cairn_merkle_join(struct cairn_hash *out, const struct cairn_hash *hashes, const uint64_t *bytes, unsigned n);

/**
 * A root under construction. Takes chunks one by one in constant memory: a node is made as soon as its group is
 * complete, which is known without looking ahead (source: protocol document; confirmed by vectors of the reference
 * client). No clean-up needed.
 */
struct cairn_merkle {
	struct cairn_merkle_level {
		struct cairn_hash hash[CAIRN_MERKLE_GROUP_MAX];
		uint64_t bytes[CAIRN_MERKLE_GROUP_MAX];
		unsigned n;  /* nodes waiting for their group to end */
		bool passed; /* a group of this level has gone up already */
	} level[CAIRN_MERKLE_LEVELS_MAX];
	unsigned top; /* levels in use */
};

void cairn_merkle_init(struct cairn_merkle *m);

/** Append a chunk of so many raw bytes. */
void cairn_merkle_add(struct cairn_merkle *m, const struct cairn_hash *chunk, uint64_t bytes);

/** The root over all that was added: zero for nothing, the chunk's own hash for one. Call once. */
void cairn_merkle_root(struct cairn_merkle *m, struct cairn_hash *out);

#endif
