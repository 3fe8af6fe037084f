/* Guards a hash, so that no other thread changes its object or row between reading and changing them. */
#ifndef CAIRN_HASH_HASH_GUARD_H
#define CAIRN_HASH_HASH_GUARD_H

#include "hash/hash.h"

#include <pthread.h>

/** An entry in the set of guarded hashes, embedded in the struct of the holder. */
struct cairn_guard {
	struct cairn_hash hash;
	struct cairn_guard *next;
	bool held;
};

/** The set of guarded hashes: a list, because few are guarded at once (one per upload, at its end). Any thread. */
struct cairn_guards {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct cairn_guard *first;
};

void cairn_guards_init(struct cairn_guards *guards);
void cairn_guards_fini(struct cairn_guards *guards);

/** Waits until the hash is free, then holds it. A holder never waits for a worker, so a worker may wait here. */
void cairn_guard_take(struct cairn_guards *guards, struct cairn_guard *guard, const struct cairn_hash *hash);

/** Releases the hash, from any thread; does nothing if it is not held. */
void cairn_guard_release(struct cairn_guards *guards, struct cairn_guard *guard);

#endif
