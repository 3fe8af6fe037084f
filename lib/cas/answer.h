/* An answer to a chunk query, which many requests may share. */
#ifndef CAIRN_CAS_ANSWER_H
#define CAIRN_CAS_ANSWER_H

#include "hash/hash.h"

struct cairn_answer_xorb {
	struct cairn_hash hash;
	uint64_t stored_bytes;
};

/** A built answer. Immutable, shared and counted: release it by cairn_answer_unref(). Any thread. */
struct cairn_answer {
	const uint8_t *bytes; /* a footered shard with keyed chunk hashes */
	size_t len;
	int64_t expires_unix_s;    /* expiry of the key, as in the footer */
	int64_t epoch_ends_unix_s; /* answers use the same key until then */
	const struct cairn_answer_xorb *xorbs;
	size_t n_xorbs;
	char etag[2 + 32 + 1]; /* quoted and strong, over the bytes */
};
void cairn_answer_unref(const struct cairn_answer *answer);

/** Data that a caller derived from an answer and attaches to it. Freed with the answer, by free(). */
struct cairn_answer_kept {
	void (*free)(struct cairn_answer_kept *kept);
};
/** Returns the data attached to an answer, borrowed while the answer is held; NULL: none. */
struct cairn_answer_kept *cairn_answer_kept(const struct cairn_answer *answer);
/** Attaches data to an answer. If another thread was faster, frees kept. @return the data that is attached now */
struct cairn_answer_kept *cairn_answer_keep(const struct cairn_answer *answer, struct cairn_answer_kept *kept);

#endif
