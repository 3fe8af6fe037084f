/* Answers most chunk queries, which are misses, from memory. The filter is a set of 8-byte prefixes. It may answer
 * "maybe" for a prefix that was not added (once in 800 when full), but never "no" for one that was. */
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
	(UINT64_C(512) << 20) /* memory in all, for 268 million prefixes; beyond it "maybe" comes more often */

/** Blocked Bloom filters in layers. When a layer is full, a next one, twice as large, gets further prefixes, so no
 * layer is ever rebuilt. The last layer gets more than it has room for. Any thread may query; one at a time adds. */
struct cairn_filter {
	atomic_uint n_layers;
	atomic_bool complete; /* false: prefixes are missing, so the answer is always "maybe" */
	_Atomic uint64_t bytes;
	struct cairn_filter_layer {
		_Atomic uint64_t *words; /* each block is a line of the processor's cache */
		uint64_t n_blocks;       /* number of blocks of 8 words */
		void *memory;            /* owned */
	} layer[CAIRN_FILTER_LAYERS_MAX];
	uint64_t room; /* prefixes that the last layer has room for; not on the cache line that queries read */
};

/** Makes an empty filter, with room for n prefixes before it grows. It is incomplete until cairn_filter_complete(). */
void cairn_filter_init(struct cairn_filter *f, uint64_t n_prefixes);
void cairn_filter_fini(struct cairn_filter *f);

/** Returns the value by which the filter knows a chunk of a scope: its prefix in the shared scope (""), else a number
 * made of prefix and scope. So queries of one scope reveal nothing about chunks of another. */
uint64_t cairn_filter_key(uint64_t prefix, const char *scope);

/** Adds a prefix, if it is new. Without memory, "maybe" comes more often; no answer is wrong. */
void cairn_filter_add(struct cairn_filter *f, uint64_t prefix);

/** Call it when all prefixes of the index were added. */
void cairn_filter_complete(struct cairn_filter *f);

/** May the prefix be in the index? */
bool cairn_filter_maybe(struct cairn_filter *f, uint64_t prefix);

#endif
