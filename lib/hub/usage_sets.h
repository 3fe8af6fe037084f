/* Stores the different sets of owners that files have, each set once. Pure. */
#ifndef CAIRN_HUB_USAGE_SETS_H
#define CAIRN_HUB_USAGE_SETS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** A set: n numbers in members from `at` on, in rising order. */
struct usage_set {
	size_t at;
	uint32_t n;
	/* During the sweep over a xorb: */
	uint32_t n_there; /* pieces of the set at the current position */
	uint32_t place;   /* index in the sets at that position, if n_there > 0 */
	uint64_t top;     /* bit i: the i-th of the largest owners is a member */
};

/** The sets. Empty if all members but members_max are zero. For one thread. */
struct usage_sets {
	size_t members_max;    /* limit of all sets together, plus one for each set */
	struct usage_set *all; /* owned, like the next two */
	uint32_t *members;
	uint32_t *table; /* by the hash of the members: number of the set + 1; 0: free */
	uint32_t n, cap, table_len;
	size_t n_members, members_cap;
};

/** Returns the number of the set with these members, at least one and in rising order. Adds the set if it is new.
 *  @return CAIRN_OK; CAIRN_E_LIMIT there is no room for it; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status usage_sets_find(struct usage_sets *sets, const uint32_t *members, uint32_t n,
						 uint32_t *out);
/** Frees all sets; members_max stays. */
void usage_sets_fini(struct usage_sets *sets);

#endif
