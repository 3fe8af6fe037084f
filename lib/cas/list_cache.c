#include "cas/list_cache.h"

void cairn_list_cache_fini(struct cairn_list_cache *c)
{
	for (unsigned i = 0; i < CAIRN_LIST_CACHE_SLOTS; i++)
		cairn_chunk_list_fini(&c->slot[i].list);
}

const struct cairn_chunk_list *cairn_list_cache_find(const struct cairn_list_cache *c, const struct cairn_hash *xorb)
{
	for (unsigned i = 0; i < CAIRN_LIST_CACHE_SLOTS; i++)
		if (c->slot[i].list.n > 0 && cairn_hash_equal(&c->slot[i].xorb, xorb))
			return &c->slot[i].list;
	return NULL;
}

struct cairn_chunk_list *cairn_list_cache_slot(struct cairn_list_cache *c, const struct cairn_hash *xorb)
{
	struct cairn_list_slot *slot = &c->slot[c->next++ % CAIRN_LIST_CACHE_SLOTS];
	cairn_chunk_list_fini(&slot->list);
	slot->xorb = *xorb;
	return &slot->list;
}
