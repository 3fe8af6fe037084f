/* Making a data folder of a backup. */
#ifndef CAIRN_BACKUP_RESTORE_H
#define CAIRN_BACKUP_RESTORE_H

#include "base/status.h"

struct cairn_restore_report {
	uint64_t n_objects, object_bytes; /* that are in the folder, and that the index names */
	uint64_t n_found;                 /* of them, that were there already */
	uint64_t total_bytes;             /* of the chunks to be read */
	uint64_t done_bytes;
	uint64_t n_wrong;            /* bytes of the file that were put right by its parity */
	uint64_t n_damaged;          /* archives of a folder that cannot be read, and were not needed */
	uint64_t n_contents_damaged; /* as in cairn_backup_report */
	uint64_t n_damaged_objects;  /* copies in archives of a folder that were passed over */
	bool has_secret;
	char moment[24]; /* of a folder: which one */
};

struct cairn_restore_options {
	const char *path;            /* the backup, or the folder of several (backup_set.h) */
	const int *pipe_fd;          /* one backup comes from there, and path is what it is called; NULL: from path */
	const int64_t *until_unix_s; /* of a folder the last moment up to then; NULL: the last one */
	const char *data_dir; /* made when it is missing; must be empty, or of an interrupted restore of this backup */
	bool (*progress)(void *ctx,
			 const struct cairn_restore_report *so_far); /* @return false to stop (CAIRN_E_BUSY) */
	void *ctx;
};

/**
 * Unpack a backup, each chunk verified and if need be repaired before anything of it is used. A file DIR/restore says
 * that it is not complete: then no daemon opens the folder, and the same call goes on, keeping what is there.
 * From a pipe nothing is repaired, and all of it is read before it is known to be whole: what is there by then counts
 * for nothing, and after an interruption the folder is to be removed.
 * Of a folder, an archive that is damaged, and an object that is in one, is passed over where the others have what the
 * moment names.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  the folder is not empty, or in use; as cairn_data_dir_open()
 *         CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH  what is wrong with the file, or it is no backup
 *         CAIRN_E_USAGE     until_unix_s for what is no folder, or a path is too long
 *         CAIRN_E_NOT_FOUND the file is not there, or the folder has no moment up to then; CAIRN_E_BUSY stopped;
 * CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_restore(const struct cairn_restore_options *options,
					       struct cairn_restore_report *report, struct cairn_diag *diag);

#endif
