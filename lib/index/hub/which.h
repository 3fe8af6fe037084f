/* Finds which of several repositories have something, with one statement for all of them. */
#ifndef CAIRN_INDEX_HUB_WHICH_H
#define CAIRN_INDEX_HUB_WHICH_H

#include "index/hub/hub.h"

/** Something that a repository may have. */
enum cairn_index_which {
	CAIRN_INDEX_WHICH_FILE,   /* the file with this hash */
	CAIRN_INDEX_WHICH_SHA256, /* a file with this SHA-256, by the repository's claim */
	CAIRN_INDEX_WHICH_XORB,   /* a file that needs the xorb with this hash */
	CAIRN_INDEX_WHICH_CHUNK,  /* in its own dedupe scope, a chunk whose hash may be this one */
};

/**
 * Visits the repositories that have something, in their order. Reads rows of these repositories alone. The time depends
 * on the files of each, but not on what other repositories have.
 * @param n      at most CAIRN_INDEX_PAGE_MAX (operate.h)
 * @param name   a hash as struct cairn_hash has it, or a SHA-256
 * @param visit  gets a place in the list of repositories; must not call the index
 * @return CAIRN_OK, also if there are none; CAIRN_E_NOMEM; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_which(struct cairn_index *ix, const int64_t *repos, uint32_t n,
						   enum cairn_index_which what,
						   const uint8_t name[static CAIRN_HASH_BYTES],
						   void (*visit)(void *ctx, uint32_t at), void *ctx);
/** Does what cairn_index_which() does, for commits whose id begins with some hexadecimal digits. */
CAIRN_MUST_USE enum cairn_status cairn_index_which_commit(struct cairn_index *ix, const int64_t *repos, uint32_t n,
							  const char *prefix, void (*visit)(void *ctx, uint32_t at),
							  void *ctx);

#endif
