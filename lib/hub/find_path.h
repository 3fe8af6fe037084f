/* Finds files by a part of their paths, for people. The search ends at a limit and reports where. */
#ifndef CAIRN_HUB_FIND_PATH_H
#define CAIRN_HUB_FIND_PATH_H

#include "hub/reach.h"
#include "index/hub/history.h"

enum {
	CAIRN_HUB_FIND_LOOKED_MAX = 12000, /* paths that one call reads: some 30 ms in 300 repositories */
	CAIRN_HUB_FIND_REPOS_MAX = 300,    /* repositories that one call reads */
	CAIRN_HUB_FIND_TEXT_MAX = 200,     /* bytes of a search text; callers refuse longer ones */
};

/** A file whose path contains the text, ignoring the case of ASCII letters. Borrowed during the visit. */
struct cairn_hub_path {
	const struct cairn_index_repo *repo;
	const char *path;
	uint64_t size_bytes;
};

/** A search: the text, and the limit of files to find. */
struct cairn_hub_find_path {
	const char *text;
	uint32_t found_max;
	/** Must not call the index, because the visit occupies a reader. */
	void (*visit)(void *ctx, const struct cairn_hub_path *found);
	void *ctx;
};

/** Visits the files below a folder of a commit whose paths contain the text.
 * @param folder  "" for the top folder
 * @param after   "" for the first call, then next of the call before
 * @param[out] next  the path after which the next call continues; "" when all paths were read
 * @return CAIRN_OK, also if nothing was found; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_in_tree(const struct cairn_hub *hub,
							const struct cairn_index_repo *repo,
							const struct cairn_index_commit *commit, const char *folder,
							const struct cairn_hub_find_path *find, const char *after,
							char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** Does the same as cairn_hub_find_in_tree() for a bucket. @param prefix  "", or a folder and a slash */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_in_bucket(const struct cairn_hub *hub,
							  const struct cairn_index_repo *repo, const char *prefix,
							  const struct cairn_hub_find_path *find, const char *after,
							  char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** The limits that ended a search. */
struct cairn_hub_find_end {
	bool more_files;   /* more files match in the repositories that were read */
	bool more_repos;   /* there are more repositories than CAIRN_HUB_FIND_REPOS_MAX */
	uint32_t n_passed; /* repositories skipped, with more files than the limit left; search each alone */
};

/** Visits the matching files at the heads of main of the repositories that the asker may see, and in the buckets that
 * the asker may read, last changed first. Reads nothing else. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_paths(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_hub_find_path *find,
						      struct cairn_hub_find_end *end);

#endif
