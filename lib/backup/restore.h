/* Restores a data folder from a backup. */
#ifndef CAIRN_BACKUP_RESTORE_H
#define CAIRN_BACKUP_RESTORE_H

#include "base/status.h"

struct cairn_restore_report {
	uint64_t n_objects, object_bytes; /* restored objects that the index names */
	uint64_t n_found;                 /* of n_objects: already in the folder */
	uint64_t total_bytes;             /* bytes of the chunks to read */
	uint64_t done_bytes;
	uint64_t n_wrong;            /* damaged bytes of the file that its parity repaired */
	uint64_t n_damaged;          /* unreadable archives of a folder that were not needed */
	uint64_t n_contents_damaged; /* as in cairn_backup_report */
	uint64_t n_damaged_objects;  /* damaged objects in archives of a folder that were skipped */
	bool has_secret;
	char moment[24]; /* of a folder: name of the restored moment */
};

struct cairn_restore_options {
	const char *path;            /* the backup, or a folder of backups (backup_set.h) */
	const int *pipe_fd;          /* read one backup from this pipe; path only names it. NULL: read path */
	const int64_t *until_unix_s; /* of a folder: restore the last moment up to this time; NULL: the last moment */
	const char *data_dir; /* created if missing; must be empty, or hold an interrupted restore of this backup */
	bool (*progress)(void *ctx,
			 const struct cairn_restore_report *so_far); /* @return false to stop (CAIRN_E_BUSY) */
	void *ctx;
};

/** Unpacks a backup. Each chunk is verified, and repaired if necessary, before it is used. The file DIR/restore marks
 * an incomplete folder, which no daemon opens; the same call continues the restore. Restoring from a pipe cannot
 * repair anything. The restored data counts only after the whole stream has been read and verified; after an
 * interruption, remove the folder. In a folder of archives, damaged archives and objects are skipped if other archives
 * have all objects of the moment.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  the folder is not empty, or in use; as cairn_data_dir_open() CAIRN_E_FORMAT,
 *         CAIRN_E_LIMIT,
 *         CAIRN_E_MISMATCH  damaged, or not a backup
 *         CAIRN_E_USAGE     until_unix_s without a folder, or a path is too long
 *         CAIRN_E_NOT_FOUND the file does not exist, or the folder has no moment up to that time
 *         CAIRN_E_BUSY stopped; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_restore(const struct cairn_restore_options *options,
					       struct cairn_restore_report *report, struct cairn_diag *diag);

#endif
