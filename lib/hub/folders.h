/* Computes for each folder and file of a commit how many stored bytes only it has: those that would leave the commit
 * with it. */
#ifndef CAIRN_HUB_FOLDERS_H
#define CAIRN_HUB_FOLDERS_H

#include "hub/tree.h"

enum {
	CAIRN_FOLDERS_FILES_MAX = 2000, /* files of the commit that are in the store */
	CAIRN_FOLDERS_MAX = 4000,       /* folders and these files together */
};

/** A folder, or a file. */
struct cairn_folder {
	char *path;      /* owned; of the top folder "" */
	uint32_t parent; /* place in the list of its folder, which comes earlier */
	uint32_t depth;  /* 0: the top folder */
	bool is_file;
	/* Bytes before compression of the chunks that nothing outside has, each chunk counted once. A chunk shared by
	 * entries of a folder counts for the folder only: a folder has at least the sum of its entries. */
	uint64_t bytes;
};

/** Zeroed is empty. */
struct cairn_folders {
	bool unknown; /* the commit exceeds a limit: the list is empty */
	uint32_t n;
	struct cairn_folder *all; /* owned; the first is the top folder */
};

/** Computes the list. Reads this commit only, so it reveals nothing about others. Leaves out short texts, which the
 * index keeps. For workers.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_weigh_folders(struct cairn_folders *out, const struct cairn_hub *hub,
							 const struct cairn_index_repo *repo,
							 const struct cairn_index_commit *commit);
void cairn_folders_fini(struct cairn_folders *folders);

#endif
