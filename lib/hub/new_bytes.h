/* What the files of a commit have that those of the one before had not: bytes of chunks that were stored for it. */
#ifndef CAIRN_HUB_NEW_BYTES_H
#define CAIRN_HUB_NEW_BYTES_H

#include "hub/changes.h"

enum { CAIRN_NEW_FILES_MAX = 1000 /* of the commit before that are looked at */ };

/** Zeroed is empty. */
struct cairn_new_bytes {
	uint64_t *bytes;  /* owned; of each change: of chunks that are new with it, each counted once and for the first
			   * of  the changes that has it; of a removed file, and of one whose bytes were deleted, 0 */
	uint32_t n_files; /* of the commit before that were looked at */
	bool more;        /* there are further ones, which may have what counts as new */
	bool unknown;     /* there is more of something than is looked at (hub/places.h): bytes is NULL */
};

/**
 * Count it. Only files of this repository are looked at, so nothing is revealed about others. For workers.
 * @param before   NULL: there was nothing
 * @param changes  between both
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_count_new(struct cairn_new_bytes *out, struct cairn_cas *cas,
						     const struct cairn_index_repo *repo,
						     const struct cairn_index_commit *before,
						     const struct cairn_hub_changes *changes);
/** For CLEANUP(). */
void cairn_new_bytes_fini(struct cairn_new_bytes *counted);

#endif
