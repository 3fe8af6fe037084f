/* Of which files of the commit before the files of a commit have their old bytes. */
#ifndef CAIRN_HUB_OLD_BYTES_H
#define CAIRN_HUB_OLD_BYTES_H

#include "hub/changes.h"

enum { CAIRN_OLD_FILES_MAX = 1000 /* of the commit before that are looked at */ };

/** Where most of the old bytes of a file were. */
struct cairn_old_source {
	char *path;       /* owned; at the commit before; NULL: it has none */
	unsigned percent; /* of the file, about: chunks of one term count as alike; at least 1 */
};

/** Zeroed is empty. */
struct cairn_old_bytes {
	uint32_t n;
	struct cairn_old_source *of; /* owned; of each change. NULL: there is more of something than is looked at */
};

/**
 * Find it. Of several files that have as much, the one that the path names counts, else the first. Only files of this
 * repository are looked at, so nothing is revealed about others. For workers.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_old(struct cairn_old_bytes *out, struct cairn_cas *cas,
						    const struct cairn_index_repo *repo,
						    const struct cairn_index_commit *before,
						    const struct cairn_hub_changes *changes);
/** For CLEANUP(). */
void cairn_old_bytes_fini(struct cairn_old_bytes *old);

#endif
