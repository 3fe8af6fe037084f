/* Finds the files of the commit before from which the files of a commit took their old bytes. */
#ifndef CAIRN_HUB_OLD_BYTES_H
#define CAIRN_HUB_OLD_BYTES_H

#include "hub/changes.h"

enum { CAIRN_OLD_FILES_MAX = 1000 /* files of the commit before that are read */ };

/** The file of the commit before that has most of the old bytes of a file. */
struct cairn_old_source {
	char *path;       /* owned; path at the commit before; NULL: no old bytes */
	unsigned percent; /* share of the file, roughly: chunks of a term count as equally long; at least 1 */
};

/** The sources. Zeroed is empty. */
struct cairn_old_bytes {
	uint32_t n;
	struct cairn_old_source *of; /* owned; for each change. NULL: a limit was exceeded */
};

/** Finds the source of each change. If several files have equally many bytes, the file with the same path counts, else
 * the first. Reads only files of this repository, so it reveals nothing about others. For workers.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_old(struct cairn_old_bytes *out, const struct cairn_hub *hub,
						    const struct cairn_index_repo *repo,
						    const struct cairn_index_commit *before,
						    const struct cairn_hub_changes *changes);
void cairn_old_bytes_fini(struct cairn_old_bytes *old);

#endif
