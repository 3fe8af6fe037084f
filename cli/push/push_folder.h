/* The files below a folder, to be pushed, and the manifest of them. */
#ifndef CAIRN_CLI_PUSH_FOLDER_H
#define CAIRN_CLI_PUSH_FOLDER_H

#include "cli/common/manifest.h"

#include <sys/stat.h>

/** Paths as they are opened: "FOLDER/path". Owns them. */
struct push_folder {
	struct manifest manifest; /* hash and sha256 are not known yet */
	char **paths;             /* manifest.n of them, in the same order */
};
void push_folder_fini(struct push_folder *f);

/** What else is taken of a folder, and what is not. Zeroed except for dir, all is as without rules. */
struct push_folder_rules {
	int dir; /* the folder, open */
	/* Asked by path, of a folder with its content; what is left out is not mentioned. */
	bool (*is_left_out)(const char *path);
	/* What a symbolic link leads to counts as the file. @param[out] st  of that file */
	enum cairn_status (*measure_link)(void *ctx, const char *path, struct stat *st, struct cairn_diag *diag);
	void *ctx;
	bool quiet; /* links and special files are not mentioned */
};

/**
 * Find all regular files below a folder, sorted by path. Symbolic links and special files are left out, with a warning
 * on standard error each.
 * @param rules  NULL: none
 * @return CAIRN_OK; what rules->measure_link() answers
 *         CAIRN_E_NOT_FOUND  a folder cannot be read
 *         CAIRN_E_FORMAT     a name that a manifest cannot hold
 *         CAIRN_E_LIMIT      too many files, or folders nested too deep
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status push_folder_read(struct push_folder *out, const char *folder,
						  const struct push_folder_rules *rules, struct cairn_diag *diag);

/** Could a manifest be made at path, or take the place of one? Asked before anything is sent.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT "manifest.write"; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_may_write(const char *path, struct cairn_diag *diag);

/** Write the manifest to path, through a temporary file beside it. path NULL: to standard output.
 *  @return CAIRN_OK; CAIRN_E_CONFLICT, CAIRN_E_FULL, CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_write(const struct push_folder *f, const char *path,
						   struct cairn_diag *diag);

#endif
