/* Which backups of a folder are kept, and are they whole? */
#ifndef CAIRN_BACKUP_BACKUP_KEEP_H
#define CAIRN_BACKUP_BACKUP_KEEP_H

#include "backup/backup_set.h"

/** Of how many of these periods (UTC, weeks begin on Monday) the newest moment is kept. */
struct cairn_backup_rules {
	uint64_t last, hourly, daily, weekly, monthly, yearly; /* last: the newest of all, so many */
};

/**
 * Which moments do the rules keep?
 * @param[out] keep  a flag for each archive of the set, room for set->n; those of objects get false
 */
void cairn_backup_rules_apply(const struct cairn_backup_rules *rules, const struct cairn_backup_set *set, bool *keep);

/**
 * Append what a moment needs (struct cairn_backup_object). Takes room for its index in the folder, or in
 * set->spool, meanwhile.
 * @param examine  all of the index, as a restore does (cairn_index_copy_examine()); with faults it is "restore.damaged"
 * @return CAIRN_OK; as cairn_backup_file_open(), cairn_fold_read(), cairn_index_copy_each(); CAIRN_E_FORMAT
 *         "restore.damaged"; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_moment_needs(struct cairn_backup_set *set,
							   const struct cairn_backup_archive *moment, bool examine,
							   struct cairn_buf *objects, struct cairn_diag *diag);

/** Read every chunk of an archive, unpack and hash its objects, and compare its catalog with them. @return CAIRN_OK;
 * CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH it is bad; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_archive_verify(struct cairn_backup_set *set,
							     const struct cairn_backup_archive *archive,
							     struct cairn_diag *diag);

struct cairn_backup_verify_report {
	uint64_t n_archives, n_moments, n_bad; /* bad: archives that are damaged, or moments that lack something */
	uint64_t bytes, done_bytes, n_wrong;   /* wrong: bytes that the parity still puts right */
};

/**
 * Read every chunk of every archive; unpack and hash all objects; compare catalogs with bundles, examine the index of
 * each moment, and compare what it names with the catalogs.
 * @param visit  told of each archive that is bad, and why
 * @param progress  @return false to stop (CAIRN_E_BUSY)
 * @return CAIRN_OK, also with bad ones; CAIRN_E_BUSY; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_verify(
	struct cairn_backup_set *set,
	void (*visit)(void *ctx, const struct cairn_backup_archive *archive, const struct cairn_diag *why),
	bool (*progress)(void *ctx, const struct cairn_backup_verify_report *so_far), void *ctx,
	struct cairn_backup_verify_report *report, struct cairn_diag *diag);

#endif
