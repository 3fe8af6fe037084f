/* How much of what a commit has stored only one of its folders has, or only one of its files: what would leave the
 * commit with it. */
#ifndef CAIRN_HUB_FOLDERS_H
#define CAIRN_HUB_FOLDERS_H

#include "hub/tree.h"

enum {
	CAIRN_FOLDERS_FILES_MAX = 2000, /* of the commit, that are in the store */
	CAIRN_FOLDERS_MAX = 4000,       /* folders and such files */
};

/** A folder, or a file. */
struct cairn_folder {
	char *path;      /* owned; of the top folder "" */
	uint32_t parent; /* place of the folder that it is in, which stands before it */
	uint32_t depth;  /* 0: the top folder */
	bool is_file;
	/* Of chunks that nothing outside of it has, before compression, each counted once. What several things in a
	 * folder have is the folder's and none of theirs: so it has at least as much as they have together. */
	uint64_t bytes;
};

/** Zeroed is empty. */
struct cairn_folders {
	bool unknown; /* there is more of something than is looked at: there are none of them */
	uint32_t n;
	struct cairn_folder *all; /* owned; the first is the top folder */
};

/**
 * Count it: of this commit alone, so that it tells nothing of others. Short texts, which the index keeps, are left out.
 * For workers.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_weigh_folders(struct cairn_folders *out, struct cairn_cas *cas,
							 const struct cairn_index_repo *repo,
							 const struct cairn_index_commit *commit);
/** For CLEANUP(). */
void cairn_folders_fini(struct cairn_folders *folders);

#endif
