/* Most chunk queries are misses. This tells most of them apart in memory: a set of 8-byte prefixes that may say "maybe"
 * of one that is not in it (once in 800 when it is full), and never "no" of one that is. */
#ifndef CAIRN_INDEX_SQLITE_FILTER_H
#define CAIRN_INDEX_SQLITE_FILTER_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
	CAIRN_FILTER_LAYERS_MAX = 20,
	CAIRN_FILTER_BITS_EACH = 16, /* memory for a prefix: 2 bytes */
};
#define CAIRN_FILTER_BYTES_MAX                                                                                         \
	(UINT64_C(512) << 20) /* in all: 268 million prefixes; beyond it "maybe" comes more often */

/**
 * Blocked Bloom filters in layers: when one is full the next, twice as large, takes what follows, so nothing is ever
 * built anew while the index is at work. The last one takes more than it has room for. Any thread may ask; one thread
 * at a time adds.
 */
struct cairn_filter {
	atomic_uint n_layers;
	atomic_bool complete; /* false: something is not in it (yet), so the answer is always "maybe" */
	_Atomic uint64_t bytes;
	struct cairn_filter_layer {
		_Atomic uint64_t *words; /* in memory; each block is a line of a processor's cache */
		uint64_t n_blocks;       /* of 8 words */
		void *memory;            /* owned */
	} layer[CAIRN_FILTER_LAYERS_MAX];
	uint64_t room; /* prefixes that the last layer still takes; apart from what those read who ask */
};

/** An empty filter with room for so many prefixes before it grows. Incomplete until cairn_filter_complete(). */
void cairn_filter_init(struct cairn_filter *f, uint64_t n_prefixes);
void cairn_filter_fini(struct cairn_filter *f);

/** What stands in the filter for a chunk that a scope may ask about: its prefix where the scope is the shared one (""),
 * else a number made of both. So that a chunk of one scope is for another's filter what any other chunk is. */
uint64_t cairn_filter_key(uint64_t prefix, const char *scope);

/** Add a prefix; one that it may have already takes no room again. Without memory the answers become "maybe" more
 * often, not wrong. */
void cairn_filter_add(struct cairn_filter *f, uint64_t prefix);

/** All that is in the index has been added. */
void cairn_filter_complete(struct cairn_filter *f);

/** May the prefix be in the index? */
bool cairn_filter_maybe(struct cairn_filter *f, uint64_t prefix);

#endif
