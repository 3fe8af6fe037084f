/* Which chunks files of a repository have, each counted once however many files have it. A chunk is a place in a xorb
 * that terms name: the same content that was stored a second time is another one. One thread; for workers. */
#ifndef CAIRN_HUB_PLACES_H
#define CAIRN_HUB_PLACES_H

#include "cas/cas.h"
#include "index/hub.h"

enum {
	CAIRN_PLACES_TERMS_MAX = 1 << 22, /* of all files that are read */
	CAIRN_PLACES_PARTS_MAX = 1 << 12, /* terms of which some chunks count: the places of their xorbs are read */
	CAIRN_PLACES_XORBS_MAX = 1 << 14, /* 1 KiB of memory each */
};

struct cairn_places {
	struct cairn_index *index;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool unknown;              /* there is more of something than is looked at: nothing that was counted holds */
	struct places_xorb *xorbs; /* owned; by their numbers, once all are known */
	uint32_t n_xorbs;
	uint32_t terms_left, parts_left;
};

void cairn_places_init(struct cairn_places *places, struct cairn_index *index, const struct cairn_index_repo *repo);
/** For CLEANUP(). */
void cairn_places_fini(struct cairn_places *places);

/** Say which files are going to be counted; once. Files that were deleted are passed over, here as below.
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_places_of(struct cairn_places *places, const struct cairn_hash *files,
						 uint32_t n);

/** The chunks of this file, whichever it is, count no more. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_places_pass(struct cairn_places *places, const struct cairn_hash *file);

/** Add the lengths of the chunks of one of the files that count so far; they count no more. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_places_count(struct cairn_places *places, const struct cairn_hash *file,
						    uint64_t *bytes);

#endif
