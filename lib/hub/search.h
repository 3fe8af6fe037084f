/* What a hash is the name of, for people. */
#ifndef CAIRN_HUB_SEARCH_H
#define CAIRN_HUB_SEARCH_H

#include "hub/reach.h"

enum {
	CAIRN_HUB_SEARCH_FILES_MAX = 20000, /* of theirs that are looked through for a xorb or a chunk */
	CAIRN_HUB_SEARCH_PATHS_MAX = 50000, /* entries that are looked through for the path of a file that was found */
	CAIRN_HUB_DIGITS_MIN = 7,           /* of a commit's id */
};

/** What a hash is in a repository. */
enum cairn_hub_find_kind {
	CAIRN_HUB_FIND_FILE,
	CAIRN_HUB_FIND_SHA256,
	CAIRN_HUB_FIND_XORB,  /* a file that has bytes in it */
	CAIRN_HUB_FIND_CHUNK, /* a file that has bytes in a xorb with this chunk */
	CAIRN_HUB_FIND_COMMIT,
};

/** Borrowed for the time of the call. */
struct cairn_hub_find {
	enum cairn_hub_find_kind kind;
	const struct cairn_index_repo *repo;
	const char *path;    /* where the file is now, at the head of main; NULL: not known, or it is a commit */
	uint64_t size_bytes; /* of the file */
};

/** What was left out. */
struct cairn_hub_search_end {
	bool more_repos; /* there are more than CAIRN_HUB_REACH_REPOS_MAX */
	bool more_files; /* for xorbs and chunks not all files were looked through */
};

/** Can this be searched for: 64 digits of a hash, or CAIRN_HUB_DIGITS_MIN to 40 of a commit? Lower case. Pure. */
bool cairn_hub_is_searched(const char *text);

/**
 * Visit what a hash is the name of: in each repository that the asker may see a commit, a stored file or one with that
 * SHA-256; in each whose files the asker may have, those that need a xorb, or one with a chunk. A repository's files of
 * a xorb are cut to a few. For workers.
 * @param text  of which cairn_hub_is_searched() is true
 * @param visit  nothing is held meanwhile
 * @return CAIRN_OK, also when nothing is found; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_search(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						  const char *text,
						  void (*visit)(void *ctx, const struct cairn_hub_find *find),
						  void *ctx, struct cairn_hub_search_end *end);

#endif
