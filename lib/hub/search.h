/* Finds what a hash identifies in the repositories, for people. */
#ifndef CAIRN_HUB_SEARCH_H
#define CAIRN_HUB_SEARCH_H

#include "hub/reach.h"

enum {
	CAIRN_HUB_SEARCH_FILES_MAX = 20000, /* files read to find a xorb or a chunk */
	CAIRN_HUB_SEARCH_PATHS_MAX = 50000, /* entries read to find the path of a found file */
	CAIRN_HUB_DIGITS_MIN = 7,           /* fewest digits of a commit's id */
};

/** The kind of match in a repository. */
enum cairn_hub_find_kind {
	CAIRN_HUB_FIND_FILE,
	CAIRN_HUB_FIND_SHA256,
	CAIRN_HUB_FIND_XORB,  /* a file that has bytes in it */
	CAIRN_HUB_FIND_CHUNK, /* a file that has bytes in a xorb with this chunk */
	CAIRN_HUB_FIND_COMMIT,
};

/** A match. Borrowed during the call. */
struct cairn_hub_find {
	enum cairn_hub_find_kind kind;
	const struct cairn_index_repo *repo;
	const char *path;    /* path of the file at the head of main; NULL: unknown, or a commit was found */
	uint64_t size_bytes; /* size of the file */
};

/** The limits that ended a search. */
struct cairn_hub_search_end {
	bool more_repos; /* there are more than CAIRN_HUB_REACH_REPOS_MAX */
	bool more_files; /* not all files were read for a xorb or a chunk */
};

/** Can a text be searched for: 64 digits of a hash, or CAIRN_HUB_DIGITS_MIN to 40 of a commit, in lower case? Pure. */
bool cairn_hub_is_searched(const char *text);

/** Visits what a hash identifies. In each repository that the asker may see: a commit, or a stored file with this hash
 * or SHA-256. In each that the asker may read: the files that need the xorb, or a xorb with the chunk, but only a few
 * files for a xorb. For workers.
 * @param text  a text for which cairn_hub_is_searched() is true
 * @param visit  called while no lock or reader is held
 * @return CAIRN_OK, also if nothing was found; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_search(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						  const char *text,
						  void (*visit)(void *ctx, const struct cairn_hub_find *find),
						  void *ctx, struct cairn_hub_search_end *end);

#endif
