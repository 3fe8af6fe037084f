#include "dedupe/hash_map.h"

#include "base/bytes.h"

#include <stdlib.h>

enum { HASH_MAP_FIRST_CAP = 1024 };
#define HASH_MAP_EMPTY UINT32_MAX

/* Finds the slot of a hash. Hashes are uniform, so any bytes serve but the last eight, similar in eligible chunks. */
static struct cairn_hash_map_entry *hash_map_slot(struct cairn_hash_map_entry *slots, size_t cap,
						  const struct cairn_hash *hash)
{
	size_t i = (size_t)cairn_get_u64le(hash->b) & (cap - 1);
	while (slots[i].xorb != HASH_MAP_EMPTY && !cairn_hash_equal(&slots[i].hash, hash))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static enum cairn_status hash_map_grow(struct cairn_hash_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : HASH_MAP_FIRST_CAP;
	struct cairn_hash_map_entry *slots = reallocarray(NULL, cap, sizeof(*slots));
	if (!slots)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < cap; i++)
		slots[i].xorb = HASH_MAP_EMPTY;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].xorb != HASH_MAP_EMPTY)
			*hash_map_slot(slots, cap, &m->slots[i].hash) = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return CAIRN_OK;
}

enum cairn_status cairn_hash_map_add(struct cairn_hash_map *m, const struct cairn_hash *hash, uint32_t xorb,
				     uint32_t chunk)
{
	if (m->n >= m->cap / 4 * 3) {
		enum cairn_status status = hash_map_grow(m);
		if (status != CAIRN_OK)
			return status;
	}
	struct cairn_hash_map_entry *slot = hash_map_slot(m->slots, m->cap, hash);
	if (slot->xorb == HASH_MAP_EMPTY) {
		*slot = (struct cairn_hash_map_entry){.hash = *hash, .xorb = xorb, .chunk = chunk};
		m->n++;
	}
	return CAIRN_OK;
}

const struct cairn_hash_map_entry *cairn_hash_map_find(const struct cairn_hash_map *m, const struct cairn_hash *hash)
{
	if (m->cap == 0)
		return NULL;
	const struct cairn_hash_map_entry *slot = hash_map_slot(m->slots, m->cap, hash);
	return slot->xorb == HASH_MAP_EMPTY ? NULL : slot;
}

void cairn_hash_map_fini(struct cairn_hash_map *m)
{
	free(m->slots);
	*m = (struct cairn_hash_map){0};
}
