/* Which archive of a folder gives what the kept moments need, and taking that over from some archives into a new one.
 */
#ifndef CAIRN_BACKUP_BACKUP_REWRITE_H
#define CAIRN_BACKUP_BACKUP_REWRITE_H

#include "backup/backup_set.h"

/** Of each needed object, who gives it. Several archives may have one: one of them gives it. */
struct cairn_backup_use {
	struct cairn_buf needed; /* struct cairn_backup_object: sorted, each once */
	struct cairn_buf givers; /* uint32_t for each: 1 and the number of the archive in the set; 0: none has it */
};

/** @return the giver of an object; NULL: it is not needed */
uint32_t *cairn_backup_use_giver(const struct cairn_backup_use *use, const struct cairn_backup_object *object);

struct cairn_backup_rewrite_options {
	const bool *from; /* a flag for each archive of the set: what it gives is taken over */
	bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes); /* @return false to stop */
	void *ctx;
};

/**
 * Make a new archive of the objects that others give, under a new name, durably; the others stay. A bundle of which all
 * is needed is taken over as it is, of another one what is needed, and each has the most parity that one of the others
 * has. Memory: three bundles. It grows as prune.part, of which nothing is gone on with.
 * @param[out] made  its name and length; without a name when nothing is given, and then no archive is made
 * @return CAIRN_OK; CAIRN_E_BUSY stopped; CAIRN_E_FORMAT, CAIRN_E_MISMATCH one of the others is damaged; CAIRN_E_LIMIT
 *         more than a file can hold; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM. Nothing is left of it then.
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_rewrite(struct cairn_backup_set *set, const struct cairn_backup_use *use,
						      const struct cairn_backup_rewrite_options *options,
						      struct cairn_backup_archive *made, struct cairn_diag *diag);

#endif
