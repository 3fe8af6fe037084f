/* Making a data folder of a backup. */
#ifndef CAIRN_CAS_RESTORE_H
#define CAIRN_CAS_RESTORE_H

#include "base/status.h"

struct cairn_restore_report {
	uint64_t n_objects, object_bytes; /* that are in the folder, and that the index names */
	uint64_t n_found;                 /* of them, that were there already */
	uint64_t total_bytes;             /* of the chunks to be read */
	uint64_t done_bytes;
	uint64_t n_wrong; /* bytes of the file that were put right by its parity */
	bool has_secret;
};

struct cairn_restore_options {
	const char *path;     /* the backup */
	const char *data_dir; /* made when it is missing; must be empty, or of an interrupted restore of this backup */
	bool (*progress)(void *ctx,
			 const struct cairn_restore_report *so_far); /* @return false to stop (CAIRN_E_BUSY) */
	void *ctx;
};

/**
 * Unpack a backup, each chunk verified and if need be repaired before anything of it is used. A file DIR/restore says
 * that it is not complete: then no daemon opens the folder, and the same call goes on, keeping what is there.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  the folder is not empty, or in use
 *         CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH  what is wrong with the file, or it is no backup
 *         CAIRN_E_NOT_FOUND the file is not there; CAIRN_E_BUSY stopped; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_restore(const struct cairn_restore_options *options,
					       struct cairn_restore_report *report, struct cairn_diag *diag);

#endif
