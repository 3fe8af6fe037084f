/* The files below a folder, to be pushed, and the manifest of them. */
#ifndef CAIRN_CLI_PUSH_FOLDER_H
#define CAIRN_CLI_PUSH_FOLDER_H

#include "cli/common/manifest.h"

/** Paths as they are opened: "FOLDER/path". Owns them. */
struct push_folder {
	struct manifest manifest; /* hash and sha256 are not known yet */
	char **paths;             /* manifest.n of them, in the same order */
};
void push_folder_fini(struct push_folder *f);

/**
 * Find all regular files below a folder, sorted by path. Symbolic links and special files are left out, with a warning
 * on standard error each.
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  a folder cannot be read
 *         CAIRN_E_FORMAT     a name that a manifest cannot hold
 *         CAIRN_E_LIMIT      too many files, or folders nested too deep
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status push_folder_read(struct push_folder *out, const char *folder, struct cairn_diag *diag);

/** Write the manifest to path, through a temporary file beside it. path NULL: to standard output.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT, CAIRN_E_FULL, CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_write(const struct push_folder *f, const char *path,
						   struct cairn_diag *diag);

#endif
