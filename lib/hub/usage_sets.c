#include "hub/usage_sets.h"

#include <stdlib.h>
#include <string.h>

enum { SETS_FIRST_CAP = 64, SETS_FIRST_MEMBERS = 1024 };

static uint64_t sets_hash(const uint32_t *members, uint32_t n)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ members[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* Finds the slot of a set in the table: its own, or the free one where it belongs. */
static uint32_t *sets_place(const struct usage_sets *s, const uint32_t *members, uint32_t n)
{
	for (uint64_t at = sets_hash(members, n);; at++) {
		uint32_t *place = &s->table[at & (s->table_len - 1)];
		const struct usage_set *set = &s->all[*place ? *place - 1 : 0];
		if (*place == 0 || (set->n == n && memcmp(s->members + set->at, members, n * sizeof(*members)) == 0))
			return place;
	}
}

/* Doubles the room for sets. The table is at most half full. */
static enum cairn_status sets_grow(struct usage_sets *s)
{
	uint32_t cap = s->cap ? 2 * s->cap : SETS_FIRST_CAP;
	struct usage_set *all = realloc(s->all, cap * sizeof(*all));
	if (!all)
		return CAIRN_E_NOMEM;
	s->all = all;
	uint32_t *table = calloc((size_t)2 * cap, sizeof(*table));
	if (!table)
		return CAIRN_E_NOMEM;
	free(s->table);
	s->table = table;
	s->table_len = 2 * cap;
	s->cap = cap;
	for (uint32_t i = 0; i < s->n; i++)
		*sets_place(s, s->members + s->all[i].at, s->all[i].n) = i + 1;
	return CAIRN_OK;
}

static enum cairn_status sets_keep(struct usage_sets *s, const uint32_t *members, uint32_t n, size_t *at)
{
	if (s->n_members + n > s->members_cap) {
		size_t cap = s->members_cap ? 2 * s->members_cap : SETS_FIRST_MEMBERS;
		cap = cap < s->n_members + n ? s->n_members + n : cap;
		uint32_t *grown = realloc(s->members, cap * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		s->members = grown;
		s->members_cap = cap;
	}
	memcpy(s->members + s->n_members, members, n * sizeof(*members));
	*at = s->n_members;
	s->n_members += n;
	return CAIRN_OK;
}

enum cairn_status usage_sets_find(struct usage_sets *sets, const uint32_t *members, uint32_t n, uint32_t *out)
{
	enum cairn_status status = sets->n == sets->cap ? sets_grow(sets) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	uint32_t *place = sets_place(sets, members, n);
	if (*place == 0) {
		struct usage_set set = {.n = n};
		if (sets->n + sets->n_members + n + 1 > sets->members_max)
			return CAIRN_E_LIMIT;
		status = sets_keep(sets, members, n, &set.at);
		if (status != CAIRN_OK)
			return status;
		sets->all[sets->n++] = set;
		*place = sets->n;
	}
	*out = *place - 1;
	return CAIRN_OK;
}

void usage_sets_fini(struct usage_sets *sets)
{
	free(sets->all);
	free(sets->members);
	free(sets->table);
	*sets = (struct usage_sets){.members_max = sets->members_max};
}
