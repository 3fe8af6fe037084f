#include "base/id_set.h"

#include <stdlib.h>

enum { ID_SET_SLOTS_MIN = 16 };

enum cairn_status cairn_id_set_init(struct cairn_id_set *set, uint32_t n_max)
{
	*set = (struct cairn_id_set){0};
	if (n_max > UINT32_MAX / 4)
		return CAIRN_E_NOMEM;
	uint32_t n_slots = ID_SET_SLOTS_MIN;
	while (n_slots / 2 < n_max)
		n_slots *= 2;
	set->mask = n_slots - 1;
	set->slots = calloc(n_slots, sizeof(*set->slots));
	set->ids = malloc(((size_t)n_max + 1) * sizeof(*set->ids));
	if (set->slots && set->ids)
		return CAIRN_OK;
	cairn_id_set_fini(set);
	return CAIRN_E_NOMEM;
}

void cairn_id_set_fini(struct cairn_id_set *set)
{
	free(set->slots);
	free(set->ids);
	*set = (struct cairn_id_set){0};
}

uint32_t cairn_id_set_place(struct cairn_id_set *set, int64_t id)
{
	uint32_t at = (uint32_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & set->mask;
	for (; set->slots[at] != 0; at = (at + 1) & set->mask)
		if (set->ids[set->slots[at] - 1] == id)
			return set->slots[at] - 1;
	set->ids[set->n] = id;
	set->slots[at] = ++set->n;
	return set->n - 1;
}
