/* Decides which backups of a folder to keep, and verifies them. */
#ifndef CAIRN_BACKUP_BACKUP_KEEP_H
#define CAIRN_BACKUP_BACKUP_KEEP_H

#include "backup/backup_set.h"

/** For each kind of period (in UTC; weeks begin on Monday), the number of periods whose newest moment is kept. */
struct cairn_backup_rules {
	uint64_t last, hourly, daily, weekly, monthly, yearly; /* last: keeps that many of the newest moments */
};

/** Selects the moments that the rules keep.
 * @param[out] keep  a flag for each of the set->n archives; false for archives of objects */
void cairn_backup_rules_apply(const struct cairn_backup_rules *rules, const struct cairn_backup_set *set, bool *keep);

/** Appends the objects that a moment names (struct cairn_backup_object). Unpacks its index into the folder, or into
 * set->spool, meanwhile.
 * @param examine  check all of the index, as a restore does (cairn_index_backup_examine())
 * @return CAIRN_OK; CAIRN_E_FORMAT "restore.damaged" the index has faults; as cairn_backup_file_open(),
 *         cairn_fold_read(), cairn_index_backup_each(); CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_moment_needs(struct cairn_backup_set *set,
							   const struct cairn_backup_archive *moment, bool examine,
							   struct cairn_buf *objects, struct cairn_diag *diag);

/** Reads every chunk of an archive, unpacks and hashes its objects, and compares its catalog with them. @return
 * CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH: the archive is damaged; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_archive_verify(struct cairn_backup_set *set,
							     const struct cairn_backup_archive *archive,
							     struct cairn_diag *diag);

struct cairn_backup_verify_report {
	uint64_t n_archives, n_moments, n_bad; /* bad: damaged archives, and moments with missing objects */
	uint64_t bytes, done_bytes, n_wrong;   /* wrong: damaged bytes that the parity can still repair */
};

/** Verifies every archive, see cairn_backup_archive_verify(). Examines the index of each moment, too, and checks that
 * the catalogs have all objects that it names.
 * @param visit  called for each bad archive, with the reason
 * @param progress  @return false to stop (CAIRN_E_BUSY)
 * @return CAIRN_OK, also if archives are bad; CAIRN_E_BUSY; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_verify(
	struct cairn_backup_set *set,
	void (*visit)(void *ctx, const struct cairn_backup_archive *archive, const struct cairn_diag *why),
	bool (*progress)(void *ctx, const struct cairn_backup_verify_report *so_far), void *ctx,
	struct cairn_backup_verify_report *report, struct cairn_diag *diag);

#endif
