/* Decides which archive of a folder provides each needed object, and writes needed objects into a new archive. */
#ifndef CAIRN_BACKUP_BACKUP_REWRITE_H
#define CAIRN_BACKUP_BACKUP_REWRITE_H

#include "backup/backup_set.h"

/** For each needed object, the one archive that provides it, even if several have it. */
struct cairn_backup_use {
	struct cairn_buf needed; /* struct cairn_backup_object: sorted, each once */
	/* uint32_t for each object: the archive's number in the set plus 1; 0: no archive has it */
	struct cairn_buf givers;
};

/** Finds the entry in givers for an object. @return NULL: the object is not needed */
uint32_t *cairn_backup_use_giver(const struct cairn_backup_use *use, const struct cairn_backup_object *object);

struct cairn_backup_rewrite_options {
	const bool *from; /* a flag for each archive of the set: copy the objects that it provides */
	bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes); /* @return false to stop */
	void *ctx;
};

/** Rewrites archives: writes the objects that they provide into a new archive, durably under a new name. The old
 * archives stay. A bundle (the objects in one chunk) is copied unchanged if all its objects are needed; else only the
 * needed ones are. The new archive gets the highest parity of the old ones. Memory: three bundles. It grows as
 * prune.part; an interrupted rewrite starts again.
 * @param[out] made  its name and length; the name is empty if there was no object to write, and no archive is made
 * @return CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_FORMAT, CAIRN_E_MISMATCH: an old archive is damaged; CAIRN_E_LIMIT
 *         more than a file can hold; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM. After a failure there is no new
 *         archive. */
CAIRN_MUST_USE enum cairn_status cairn_backup_rewrite(struct cairn_backup_set *set, const struct cairn_backup_use *use,
						      const struct cairn_backup_rewrite_options *options,
						      struct cairn_backup_archive *made, struct cairn_diag *diag);

#endif
