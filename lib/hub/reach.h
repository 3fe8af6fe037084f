/* The repositories that somebody may see, one after the other. Nothing else is looked at, so neither what is found
 * there nor how long that takes tells of what others have. */
#ifndef CAIRN_HUB_REACH_H
#define CAIRN_HUB_REACH_H

#include "hub/repo.h"

enum {
	CAIRN_HUB_REACH_REPOS_MAX = 2000, /* in all */
	CAIRN_HUB_REACH_PAGE = 100,       /* that are read at once */
};

/** Those that were changed last come first. Zeroed except for its first two members. */
struct cairn_hub_reach {
	struct cairn_cas *cas;
	const struct cairn_hub_asker *asker;
	struct cairn_index_repo *page; /* owned */
	uint32_t n, at, n_seen;
	bool begun, more; /* more: there are further ones than CAIRN_HUB_REACH_REPOS_MAX */
	char next[CAIRN_HUB_CURSOR_BYTES];
};

/** The next one. @param[out] out  borrowed until the next call; NULL: that was the last
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_reach_next(struct cairn_hub_reach *reach,
						      const struct cairn_index_repo **out);

/** May the asker also have the files of the repository? @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_reach_may_read(const struct cairn_hub_reach *reach,
							  const struct cairn_index_repo *repo, bool *may);

/** For CLEANUP(). */
void cairn_hub_reach_fini(struct cairn_hub_reach *reach);

#endif
