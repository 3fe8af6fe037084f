/* Files by a part of their paths, for people: a walk over names that ends early and says where. */
#ifndef CAIRN_HUB_FIND_PATH_H
#define CAIRN_HUB_FIND_PATH_H

#include "hub/reach.h"
#include "index/history.h"

enum {
	CAIRN_HUB_FIND_LOOKED_MAX = 12000, /* paths that one call looks at: some 30 ms in 300 repositories */
	CAIRN_HUB_FIND_REPOS_MAX = 300,    /* repositories, likewise */
	CAIRN_HUB_FIND_TEXT_MAX = 200,     /* bytes of what is searched for; longer ones are the caller's to refuse */
};

/** A file whose path has the text, letters of ASCII in any case. Borrowed for the time of the call. */
struct cairn_hub_path {
	const struct cairn_index_repo *repo;
	const char *path;
	uint64_t size_bytes;
};

/** What is searched for, and where the walk may end. */
struct cairn_hub_find_path {
	const char *text;
	uint32_t found_max;
	/** Takes notes only: a reader of the index is held. */
	void (*visit)(void *ctx, const struct cairn_hub_path *found);
	void *ctx;
};

/**
 * Visit what has the text below a folder of a commit.
 * @param folder  "": all
 * @param after   "", then next as it was left
 * @param[out] next  behind which path to go on; "" when all were looked at
 * @return CAIRN_OK, also without a find; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_in_tree(struct cairn_cas *cas, const struct cairn_index_repo *repo,
							const struct cairn_index_commit *commit, const char *folder,
							const struct cairn_hub_find_path *find, const char *after,
							char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** Likewise of a bucket. @param prefix  "", or a folder with the slash behind it. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_in_bucket(struct cairn_cas *cas, const struct cairn_index_repo *repo,
							  const char *prefix, const struct cairn_hub_find_path *find,
							  const char *after,
							  char next[static CAIRN_INDEX_PATH_MAX + 1]);

/** What was left out. */
struct cairn_hub_find_end {
	bool more_files;   /* of those that were looked at */
	bool more_repos;   /* further ones than CAIRN_HUB_FIND_REPOS_MAX */
	uint32_t n_passed; /* repositories with more files than were left to look at: they can be searched one by one */
};

/**
 * Visit what has the text at the heads of main, and in the buckets, of the repositories that the asker may see (of
 * buckets: have the files of), those first that were changed last. Nothing else is looked at.
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_paths(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_hub_find_path *find,
						      struct cairn_hub_find_end *end);

#endif
