/* Visits the repositories that an asker may see. Reads no others, so neither results nor timing reveal others. */
#ifndef CAIRN_HUB_REACH_H
#define CAIRN_HUB_REACH_H

#include "hub/repo.h"

enum {
	CAIRN_HUB_REACH_REPOS_MAX = 2000, /* repositories of a walk */
	CAIRN_HUB_REACH_PAGE = 500,       /* repositories read at once */
};

/** A walk, last changed repository first. Begin with all but the first two members zeroed. */
struct cairn_hub_reach {
	const struct cairn_hub *hub;
	const struct cairn_hub_asker *asker;
	struct cairn_index_repo *page; /* owned */
	uint32_t n, at, n_seen;
	bool begun, more; /* more: there are more than CAIRN_HUB_REACH_REPOS_MAX */
	char next[CAIRN_HUB_CURSOR_BYTES];
};

/** Steps to the next repository. @param[out] out  borrowed until the next call; NULL: there are no more
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_reach_next(struct cairn_hub_reach *reach,
						      const struct cairn_index_repo **out);

/** Steps to the next repositories, as many as were read at once. @param[out] out  borrowed until the next call
 *  @param[out] n  at most CAIRN_HUB_REACH_PAGE; 0: there are no more  @return as cairn_hub_reach_next() */
CAIRN_MUST_USE enum cairn_status cairn_hub_reach_next_page(struct cairn_hub_reach *reach,
							   const struct cairn_index_repo **out, uint32_t *n);

/** Checks whether the asker may also read the files of the repository. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_reach_may_read(const struct cairn_hub_reach *reach,
							  const struct cairn_index_repo *repo, bool *may);

void cairn_hub_reach_fini(struct cairn_hub_reach *reach);

#endif
