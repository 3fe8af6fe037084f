/* Counts the bytes of the chunks of a repository's files, each chunk once however many files have it. A chunk is a
 * place in a xorb: content stored twice counts as two chunks. For one worker. */
#ifndef CAIRN_HUB_PLACES_H
#define CAIRN_HUB_PLACES_H

#include "hub/hub.h"
#include "index/hub/hub.h"

enum {
	CAIRN_PLACES_TERMS_MAX = 1 << 22, /* terms of all files read */
	CAIRN_PLACES_PARTS_MAX = 1 << 12, /* terms that count in part, whose xorbs' places are read */
	CAIRN_PLACES_XORBS_MAX = 1 << 14, /* xorbs, 1 KiB of memory each */
};

struct cairn_places {
	struct cairn_index *index;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool unknown;              /* a limit was exceeded: ignore all counts */
	struct places_xorb *xorbs; /* owned; in the order of their numbers, when all are known */
	uint32_t n_xorbs;
	uint32_t terms_left, parts_left;
};

void cairn_places_init(struct cairn_places *places, struct cairn_index *index, const struct cairn_index_repo *repo);
void cairn_places_fini(struct cairn_places *places);

/** Announces the files to be counted. Call it once. All calls here skip files that were deleted.
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_places_of(struct cairn_places *places, const struct cairn_hash *files,
						 uint32_t n);

/** Excludes the chunks of a file, announced or not, from later counts. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_places_pass(struct cairn_places *places, const struct cairn_hash *file);

/** Adds up an announced file's chunks that still count, and excludes them. @return as cairn_places_pass() */
CAIRN_MUST_USE enum cairn_status cairn_places_count(struct cairn_places *places, const struct cairn_hash *file,
						    uint64_t *bytes);

#endif
