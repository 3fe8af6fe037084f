#include "cas/list_cache.h"

#include <stdlib.h>

struct list_slot {
	struct cairn_hash xorb;
	int64_t id;
	struct cairn_chunk_list list;
	uint16_t next; /* next slot in the chain, plus 1; 0: this is the last */
};

/* The oldest list is at first. The first byte of the hash selects a chain. */
struct cairn_list_ring {
	uint32_t first, n;
	size_t bytes;
	uint16_t chain[256];
	struct list_slot slots[CAIRN_LIST_CACHE_LISTS];
};

static size_t list_bytes(const struct cairn_chunk_list *list)
{
	return list->cap * (sizeof(*list->hashes) + sizeof(*list->spans));
}

static void list_drop_first(struct cairn_list_ring *ring)
{
	struct list_slot *slot = &ring->slots[ring->first];
	uint16_t *link = &ring->chain[slot->xorb.b[0]];
	while (*link != ring->first + 1)
		link = &ring->slots[*link - 1].next;
	*link = slot->next;
	ring->bytes -= list_bytes(&slot->list);
	cairn_chunk_list_fini(&slot->list);
	ring->first = (ring->first + 1) % CAIRN_LIST_CACHE_LISTS;
	ring->n--;
}

void cairn_list_cache_fini(struct cairn_list_cache *c)
{
	while (c->ring && c->ring->n > 0)
		list_drop_first(c->ring);
	free(c->ring);
	c->ring = NULL;
}

const struct cairn_chunk_list *cairn_list_cache_find(const struct cairn_list_cache *c, const struct cairn_hash *xorb,
						     int64_t *id)
{
	const struct cairn_list_ring *ring = c->ring;
	for (uint16_t at = ring ? ring->chain[xorb->b[0]] : 0; at != 0; at = ring->slots[at - 1].next) {
		const struct list_slot *slot = &ring->slots[at - 1];
		if (!cairn_hash_equal(&slot->xorb, xorb))
			continue;
		if (id)
			*id = slot->id;
		return &slot->list;
	}
	return NULL;
}

enum cairn_status cairn_list_cache_put(struct cairn_list_cache *c, const struct cairn_hash *xorb, int64_t id,
				       struct cairn_chunk_list *list, const struct cairn_chunk_list **kept)
{
	if (!c->ring)
		c->ring = calloc(1, sizeof(*c->ring));
	struct cairn_list_ring *ring = c->ring;
	if (!ring) {
		cairn_chunk_list_fini(list);
		return CAIRN_E_NOMEM;
	}
	size_t bytes = list_bytes(list), bytes_max = c->bytes_max ? c->bytes_max : CAIRN_LIST_CACHE_BYTES;
	while (ring->n == CAIRN_LIST_CACHE_LISTS || (ring->n > 0 && ring->bytes + bytes > bytes_max))
		list_drop_first(ring);
	uint32_t at = (ring->first + ring->n++) % CAIRN_LIST_CACHE_LISTS;
	uint16_t *chain = &ring->chain[xorb->b[0]];
	ring->slots[at] = (struct list_slot){.xorb = *xorb, .id = id, .list = *list, .next = *chain};
	*list = (struct cairn_chunk_list){0};
	*chain = (uint16_t)(at + 1);
	ring->bytes += bytes;
	*kept = &ring->slots[at].list;
	return CAIRN_OK;
}
