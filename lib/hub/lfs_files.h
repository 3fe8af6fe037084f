/* Lists all large files of a repository, whichever commit names them, and deletes them for good. */
#ifndef CAIRN_HUB_LFS_FILES_H
#define CAIRN_HUB_LFS_FILES_H

#include "hub/repo.h"

enum {
	CAIRN_HUB_LFS_FILES_MAX = 500,            /* files of a page */
	CAIRN_HUB_LFS_DELETIONS_MAX = 1000,       /* files that one request deletes */
	CAIRN_HUB_LFS_PATHS_MAX = 120000,         /* paths that are read to find the names of a page's files */
	CAIRN_HUB_LFS_SCAN_MAX = 2 * 1000 * 1000, /* entries of all branches that one deletion reads */
};

/** A file that was uploaded to a repository. */
struct cairn_hub_lfs_file {
	struct cairn_hash hash;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the SHA-256 that the uploader claimed */
	uint64_t size_bytes;
	char *path;             /* a path that it has, or had; owned by the list. NULL: not among the paths read */
	char *ref;              /* with the path: the revision that has it, or had it; owned by the list */
	int64_t pushed_unix_ms; /* of the commit that added it; else of the repository's creation */
};

/** A page of large files. Zeroed is empty. */
struct cairn_hub_lfs_files {
	struct cairn_hub_lfs_file *all; /* owned; in the order of their hashes */
	uint32_t n;
	bool more;
	struct cairn_hash last; /* the next page begins after this hash */
};
void cairn_hub_lfs_files_fini(struct cairn_hub_lfs_files *files);

/** Reads a page of the files that have a SHA-256. Searches for a file's path at main, then at the other branches, tags
 * and pull requests, and then in the commits before them. @param after  begin after this hash; NULL: at the first
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_files(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     const struct cairn_hash *after, struct cairn_hub_lfs_files *out,
						     struct cairn_diag *diag);

/** Deletes files for good: the repository loses them, whichever commit names them. Skips files that the repository does
 * not have. Waits for the index's writer.
 * @param paths  also delete their paths from all branches, with one commit for each branch. Earlier commits keep the
 *               paths, without bytes, because a commit's id is a hash over them
 * @return CAIRN_OK; as cairn_hub_commit(); CAIRN_E_LIMIT the branches have too many entries (lfs.scan) */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_delete(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const uint8_t (*sha256)[CAIRN_SHA256_BYTES], uint32_t n,
						      bool paths, struct cairn_diag *diag);

#endif
