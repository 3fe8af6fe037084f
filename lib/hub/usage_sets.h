/* Sets of owners, each once: who has a file. Pure. */
#ifndef CAIRN_HUB_USAGE_SETS_H
#define CAIRN_HUB_USAGE_SETS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** A set: n numbers of the members from `at` on, in rising order. */
struct usage_set {
	size_t at;
	uint32_t n;
	/* Of the sweep over a xorb: */
	uint32_t n_there; /* pieces of the set where it is now */
	uint32_t place;   /* among the sets that are there, while any is */
	uint64_t top;     /* bit i: the i-th of those that hold most is a member */
};

/** Zeroed except for members_max it is empty. One thread. */
struct usage_sets {
	size_t members_max;    /* of all sets together; each set counts as one more */
	struct usage_set *all; /* owned, as the next two */
	uint32_t *members;
	uint32_t *table; /* by the hash of their members, number + 1; 0: free */
	uint32_t n, cap, table_len;
	size_t n_members, members_cap;
};

/** The number of the set of these members, which rise, and of which there is at least one. It may be a new one.
 *  @return CAIRN_OK; CAIRN_E_LIMIT there is no room for it; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status usage_sets_find(struct usage_sets *sets, const uint32_t *members, uint32_t n,
						 uint32_t *out);
/** Empty again; members_max stays. */
void usage_sets_fini(struct usage_sets *sets);

#endif
