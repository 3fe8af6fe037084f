/* Counts the new bytes of a commit: of chunks in its files that no file of the commit before had. */
#ifndef CAIRN_HUB_NEW_BYTES_H
#define CAIRN_HUB_NEW_BYTES_H

#include "hub/changes.h"

enum { CAIRN_NEW_FILES_MAX = 1000 /* files of the commit before that are read */ };

/** The counts. Zeroed is empty. */
struct cairn_new_bytes {
	uint64_t *bytes;  /* owned; new bytes of each change; a chunk counts for the first change that has it. 0: a
			     removed file, or its bytes were deleted */
	uint32_t n_files; /* files of the commit before that were read */
	bool more;        /* there are further files, which may have some of the bytes counted as new */
	bool unknown;     /* a limit of hub/places.h was exceeded: bytes is NULL */
};

/** Counts the new bytes. Reads only files of this repository, so it reveals nothing about others. For workers.
 * @param before   NULL: an empty commit
 * @param changes  the changes between the two commits
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_count_new(struct cairn_new_bytes *out, const struct cairn_hub *hub,
						     const struct cairn_index_repo *repo,
						     const struct cairn_index_commit *before,
						     const struct cairn_hub_changes *changes);
void cairn_new_bytes_fini(struct cairn_new_bytes *counted);

#endif
