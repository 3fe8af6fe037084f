/* Stores places. A place records which bytes of a file in the store are chunks of a xorb of the mirrored hub. */
#ifndef CAIRN_INDEX_HUB_MIRROR_PLACE_H
#define CAIRN_INDEX_HUB_MIRROR_PLACE_H

#include "index/hub/hub.h"

enum {
	CAIRN_INDEX_PLACES_FOUND = 64,     /* most places found for one xorb: those of the newest files */
	CAIRN_INDEX_PLACES_MAX = 1000,     /* places in one write */
	CAIRN_INDEX_FILE_PLACES_MAX = 4096 /* most places of one file; the callers ensure it */
};

/** Chunks [first, past) of a xorb of the mirrored hub are the bytes of a file from `at` on. */
struct cairn_index_chunk_place {
	struct cairn_hash xorb, file;
	uint32_t first, past;
	uint64_t at;
};

/** Finds the places of a xorb.
 * @param repo  the repository whose own places count; 0: the places that all public repositories share, but only of
 *              files that a public repository without a gate owns now
 * @param[out] n  number of places  @return CAIRN_OK, also if there are none; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_find_places(
	struct cairn_index *ix, const struct cairn_hash *xorb, int64_t repo,
	struct cairn_index_chunk_place out[static CAIRN_INDEX_PLACES_FOUND], uint32_t *n);
/** Is there a place that a repository may use? @param repo  as for cairn_index_find_places()  @return CAIRN_OK;
 * CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_any_place(struct cairn_index *ix, int64_t repo);

/** Adds places of a file; does nothing if the store does not have the file. Earlier places stay. All places are removed
 * with their file. */
struct cairn_index_keep_places {
	struct cairn_index_write write;
	struct cairn_hash file;
	int64_t repo;                              /* the only repository that may use them; 0: all public ones may */
	const struct cairn_index_chunk_place *all; /* borrowed; member file is not read */
	uint32_t n;                                /* at most CAIRN_INDEX_PLACES_MAX */
};
CAIRN_MUST_USE enum cairn_status cairn_index_keep_places(struct cairn_index *ix, struct cairn_index_keep_places *keep);

/** Removes all places of a file, since one of them may be false. */
struct cairn_index_drop_places {
	struct cairn_index_write write;
	struct cairn_hash file;
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_places(struct cairn_index *ix, struct cairn_index_drop_places *drop);

#endif
