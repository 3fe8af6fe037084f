/* The large files of a repository as a whole: which there are, whatever commit names them, and deleting them for good.
 */
#ifndef CAIRN_HUB_LFS_FILES_H
#define CAIRN_HUB_LFS_FILES_H

#include "hub/repo.h"

enum {
	CAIRN_HUB_LFS_FILES_MAX = 500,            /* of a page */
	CAIRN_HUB_LFS_DELETIONS_MAX = 1000,       /* of a request */
	CAIRN_HUB_LFS_PATHS_MAX = 60000,          /* of main that are looked at for the name of one */
	CAIRN_HUB_LFS_SCAN_MAX = 2 * 1000 * 1000, /* entries that one deletion reads, of all branches */
};

/** A file that was uploaded to a repository. */
struct cairn_hub_lfs_file {
	struct cairn_hash hash;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* as the uploader says */
	uint64_t size_bytes;
	char *path;             /* one that main has it under; owned by the list. NULL: none of the first ones has */
	int64_t pushed_unix_ms; /* the commit that put it there; else when the repository was made: not before that */
};

/** A page of them. Zeroed it is empty. */
struct cairn_hub_lfs_files {
	struct cairn_hub_lfs_file *all; /* owned; in the order of their hashes */
	uint32_t n;
	bool more;
	struct cairn_hash last; /* behind which the next page begins */
};
void cairn_hub_lfs_files_fini(struct cairn_hub_lfs_files *files);

/** Read a page of what has a SHA-256. @param after  behind this hash; NULL: from the beginning
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_files(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						     const struct cairn_hash *after, struct cairn_hub_lfs_files *out,
						     struct cairn_diag *diag);

/**
 * Delete files for good: the repository does not have them any more, whatever commit names them. What it does not have
 * is passed over. Waits for the index's writer.
 * @param paths  delete the paths of all branches that name them, too, in a commit each. Commits from before keep
 * theirs, without bytes: their ids are hashes over them
 * @return CAIRN_OK; as cairn_hub_commit(); CAIRN_E_LIMIT the branches have too many entries (lfs.scan)
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_delete(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const uint8_t (*sha256)[CAIRN_SHA256_BYTES], uint32_t n,
						      bool paths, struct cairn_diag *diag);

#endif
