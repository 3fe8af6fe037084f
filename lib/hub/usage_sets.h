/* Sets of owners, each once, and how much each of them holds. Pure. */
#ifndef CAIRN_HUB_USAGE_SETS_H
#define CAIRN_HUB_USAGE_SETS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** A set: n numbers of the members from `at` on, in rising order. */
struct usage_set {
	size_t at;
	uint32_t n;
	uint64_t bytes; /* that are held by these owners, and by no other */
};

/** Zeroed is empty. One thread. */
struct usage_sets {
	struct usage_set *all; /* owned, as the next two */
	uint32_t *members;
	uint32_t *table; /* by the hash of their members, number + 1; 0: free */
	uint32_t n, cap, table_len;
	size_t n_members, members_cap;
};

enum { USAGE_SETS_MAX = 1 << 20 };

/** The number of the set of these members, which rise, and of which there is at least one. It may be a new one.
 *  @return CAIRN_OK; CAIRN_E_LIMIT more than USAGE_SETS_MAX; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status usage_sets_find(struct usage_sets *sets, const uint32_t *members, uint32_t n,
						 uint32_t *out);
void usage_sets_fini(struct usage_sets *sets);

#endif
