/* Computes for each folder and file of a commit its own bytes: those that no other path of the commit needs. */
#ifndef CAIRN_HUB_FOLDERS_H
#define CAIRN_HUB_FOLDERS_H

#include "hub/tree.h"

enum {
	CAIRN_FOLDERS_FILES_MAX = 2000, /* stored files of the commit */
	CAIRN_FOLDERS_MAX = 4000,       /* folders and these files together */
};

/** A folder, or a file. */
struct cairn_folder {
	char *path;      /* owned; the top folder is "" */
	uint32_t parent; /* index of its folder, which comes earlier */
	uint32_t depth;  /* 0: the top folder */
	bool is_file;
	/* Bytes before compression of the chunks that no path outside has, each chunk counted once. A chunk shared by
	 * entries of a folder counts for the folder only, so a folder has at least the sum of its entries. */
	uint64_t bytes;
};

/** The list. Zeroed is empty. */
struct cairn_folders {
	bool unknown; /* the commit exceeds a limit: the list is empty */
	uint32_t n;
	struct cairn_folder *all; /* owned; the first is the top folder */
};

/** Computes the list. Reads only this commit, so it reveals nothing about others. Omits short texts, which are in the
 * index. For workers.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_weigh_folders(struct cairn_folders *out, const struct cairn_hub *hub,
							 const struct cairn_index_repo *repo,
							 const struct cairn_index_commit *commit);
void cairn_folders_fini(struct cairn_folders *folders);

#endif
