/* Computes how many bytes a git-like repository stores for its branches and tags, and how many only for its past. */
#ifndef CAIRN_HUB_FOOTPRINT_H
#define CAIRN_HUB_FOOTPRINT_H

#include "hub/revision.h"

enum {
	CAIRN_FOOTPRINT_FILES_MAX = 2000,     /* files of the repository */
	CAIRN_FOOTPRINT_REFS_MAX = 200,       /* branches, tags and pull requests */
	CAIRN_FOOTPRINT_ENTRIES_MAX = 100000, /* paths of all these refs */
};

/** Sizes of a repository's named and past files. Zeroed: empty. Each chunk counts once, with its unpacked bytes. */
struct cairn_footprint {
	bool unknown;         /* the repository exceeds a limit: ignore the other members */
	uint32_t n_named;     /* files that a branch, a tag or a pull request has now */
	uint32_t n_past;      /* other files: of older commits, or never committed */
	uint64_t named_bytes; /* bytes of the named files */
	uint64_t past_bytes;  /* bytes of chunks that only past files have */
	uint64_t seen_bytes;  /* the sum of the sizes of all files */
};

/** Computes the footprint. Reads only this repository, so it reveals nothing about others. For workers.
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_footprint(struct cairn_footprint *out, const struct cairn_hub *hub,
						     const struct cairn_index_repo *repo);

#endif
