/* What a git-like repository has stored: for what its branches and tags name now, and for its past alone. */
#ifndef CAIRN_HUB_FOOTPRINT_H
#define CAIRN_HUB_FOOTPRINT_H

#include "hub/revision.h"

enum {
	CAIRN_FOOTPRINT_FILES_MAX = 2000,     /* that it has, all together */
	CAIRN_FOOTPRINT_REFS_MAX = 200,       /* branches, tags and pull requests */
	CAIRN_FOOTPRINT_ENTRIES_MAX = 100000, /* paths of all of these */
};

/** Zeroed is empty. Bytes are those of chunks before compression, each counted once. */
struct cairn_footprint {
	bool unknown;         /* there is more of something than is looked at: nothing else holds */
	uint32_t n_named;     /* files that a branch, a tag or a pull request has now */
	uint32_t n_past;      /* others: of older commits, or never committed */
	uint64_t named_bytes; /* of the former */
	uint64_t past_bytes;  /* that only the latter have */
	uint64_t seen_bytes;  /* the sum of all their sizes */
};

/**
 * Count it: of this repository alone, so that it tells nothing of others. For workers.
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_footprint(struct cairn_footprint *out, struct cairn_cas *cas,
						     const struct cairn_index_repo *repo);

#endif
