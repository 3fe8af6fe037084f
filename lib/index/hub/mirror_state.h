/* States of mirrored repositories, as the mirrored hub last reported them. */
#ifndef CAIRN_INDEX_HUB_MIRROR_STATE_H
#define CAIRN_INDEX_HUB_MIRROR_STATE_H

#include "index/hub/hub.h"

enum cairn_index_mirror_state {
	CAIRN_INDEX_MIRROR_THERE = 1,
	CAIRN_INDEX_MIRROR_GONE,     /* the hub no longer has the repository, or shows it to nobody */
	CAIRN_INDEX_MIRROR_PRIVATE,  /* the hub shows the repository only to some accounts */
	CAIRN_INDEX_MIRROR_DISABLED, /* the hub gives out none of its files */
};

/** Finds the state of a repository.
 * @param[out] looked_unix_s  when the mirrored hub was last asked for the repository's main branch; 0: unknown
 * @return CAIRN_OK, with CAIRN_INDEX_MIRROR_THERE for a repository without a state; otherwise as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_mirror_state(struct cairn_index *ix, int64_t repo,
							  enum cairn_index_mirror_state *state, int64_t *looked_unix_s);

/** A repository as a look-up found it in the index, before the look-up asked the mirrored hub. Plain value. */
struct cairn_index_mirror_seen {
	enum cairn_index_mirror_state state;
	int64_t looked_unix_s;
	bool is_private;
	enum cairn_index_gate gate;
};

/** Sets the state of a repository, and who may read it. CAIRN_E_NOT_FOUND: no repository has this number
 * (repo.unknown). CAIRN_E_CONFLICT: another look-up has written the repository since it was seen, and the write would
 * open it. */
struct cairn_index_set_mirror_state {
	struct cairn_index_write write;
	const struct cairn_index_mirror_seen *seen; /* borrowed; NULL: no look-up was slow */
	int64_t repo;
	enum cairn_index_mirror_state state;
	int64_t looked_unix_s;
	bool sets_access; /* also set the repository's is_private and gate */
	bool is_private;
	enum cairn_index_gate gate;
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_mirror_state(struct cairn_index *ix,
							      struct cairn_index_set_mirror_state *set);

#endif
