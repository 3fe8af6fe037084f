#include "index/sqlite/filter.h"

#include "base/bytes.h"
#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
	FILTER_BLOCK_WORDS = 8, /* a cache line: a query reads one for each layer */
	FILTER_BLOCK_BYTES = FILTER_BLOCK_WORDS * 8,
	FILTER_BITS = 6, /* bits set for each prefix; each needs 9 bits of the mixed prefix */
	FILTER_ROOM_MIN = 1 << 16,
};

/* Mixes the bits of a prefix. Prefixes are uniform, but their bits choose the block, and the bits within the block must
 * be independent of these. */
static uint64_t filter_mix(uint64_t prefix)
{
	uint64_t x = prefix * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static _Atomic uint64_t *filter_block(const struct cairn_filter_layer *layer, uint64_t prefix)
{
	uint64_t block = (prefix >> 32) * layer->n_blocks >> 32; /* there are fewer than 2^32 blocks */
	return layer->words + block * FILTER_BLOCK_WORDS;
}

/* Aligns blocks to cache lines: a block across two lines would cost both. */
static _Atomic uint64_t *filter_first_line(void *memory)
{
	uint8_t *bytes = memory;
	return (void *)(bytes + (0 - (uintptr_t)bytes) % FILTER_BLOCK_BYTES);
}

/* Adds a layer of the requested size, or of what the limit leaves. Without memory, the last layer is overfilled. */
static void filter_grow(struct cairn_filter *f, uint64_t room)
{
	unsigned n = atomic_load(&f->n_layers);
	uint64_t room_left = (CAIRN_FILTER_BYTES_MAX - atomic_load(&f->bytes)) * 8 / CAIRN_FILTER_BITS_EACH;
	if (room > room_left)
		room = room_left;
	uint64_t n_blocks = room * CAIRN_FILTER_BITS_EACH / (FILTER_BLOCK_BYTES * UINT64_C(8));
	if (n == CAIRN_FILTER_LAYERS_MAX || n_blocks == 0)
		return;
	void *memory = calloc(n_blocks + 1, FILTER_BLOCK_BYTES); /* unused pages cost no memory */
	if (!memory)
		return;
	f->layer[n] = (struct cairn_filter_layer){filter_first_line(memory), n_blocks, memory};
	f->room = room;
	atomic_fetch_add(&f->bytes, n_blocks * FILTER_BLOCK_BYTES);
	atomic_store(&f->n_layers, n + 1);
}

void cairn_filter_init(struct cairn_filter *f, uint64_t n_prefixes)
{
	*f = (struct cairn_filter){0};
	filter_grow(f, n_prefixes > FILTER_ROOM_MIN ? n_prefixes : FILTER_ROOM_MIN);
}

void cairn_filter_fini(struct cairn_filter *f)
{
	for (unsigned i = 0; i < atomic_load(&f->n_layers); i++)
		free(f->layer[i].memory);
	*f = (struct cairn_filter){0};
}

static void filter_set(const struct cairn_filter_layer *layer, uint64_t prefix)
{
	_Atomic uint64_t *block = filter_block(layer, prefix);
	uint64_t mixed = filter_mix(prefix);
	for (unsigned i = 0; i < FILTER_BITS; i++, mixed >>= 9)
		atomic_fetch_or_explicit(&block[mixed >> 6 & 7], UINT64_C(1) << (mixed & 63), memory_order_relaxed);
}

void cairn_filter_complete(struct cairn_filter *f)
{
	atomic_store(&f->complete, atomic_load(&f->n_layers) > 0);
}

uint64_t cairn_filter_key(uint64_t prefix, const char *scope)
{
	struct cairn_hash of_scope;
	if (scope[0] == '\0')
		return prefix;
	cairn_hash_body(&of_scope, (const uint8_t *)scope, strlen(scope));
	return prefix ^ cairn_get_u64le(of_scope.b);
}

static bool filter_layer_maybe(const struct cairn_filter_layer *layer, uint64_t prefix, uint64_t mixed)
{
	_Atomic uint64_t *block = filter_block(layer, prefix);
	for (unsigned i = 0; i < FILTER_BITS; i++, mixed >>= 9)
		if (!(atomic_load_explicit(&block[mixed >> 6 & 7], memory_order_relaxed) >> (mixed & 63) & 1))
			return false;
	return true;
}

/* Is the prefix in a layer, even if the filter is incomplete? */
static bool filter_has(const struct cairn_filter *f, uint64_t prefix)
{
	uint64_t mixed = filter_mix(prefix);
	unsigned n = atomic_load(&f->n_layers);
	for (unsigned i = 0; i < n; i++)
		if (filter_layer_maybe(&f->layer[i], prefix, mixed))
			return true;
	return false;
}

void cairn_filter_add(struct cairn_filter *f, uint64_t prefix)
{
	unsigned n = atomic_load(&f->n_layers);
	if (n == 0 || filter_has(f, prefix))
		return;
	if (f->room == 0) {
		filter_grow(f, f->layer[n - 1].n_blocks * FILTER_BLOCK_BYTES * 8 / CAIRN_FILTER_BITS_EACH * 2);
		n = atomic_load(&f->n_layers);
	}
	filter_set(&f->layer[n - 1], prefix);
	f->room -= f->room > 0;
}

bool cairn_filter_maybe(struct cairn_filter *f, uint64_t prefix)
{
	return !atomic_load(&f->complete) || filter_has(f, prefix);
}
