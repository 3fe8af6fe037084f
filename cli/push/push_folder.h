/* Lists the files below a folder for a push, and writes their manifest. */
#ifndef CAIRN_CLI_PUSH_FOLDER_H
#define CAIRN_CLI_PUSH_FOLDER_H

#include "cli/common/manifest.h"

#include <sys/stat.h>

/** Paths to open: "FOLDER/path". Owned. */
struct push_folder {
	struct manifest manifest; /* its hash and sha256 are not set yet */
	char **paths;             /* manifest.n paths, in the same order */
};
void push_folder_fini(struct push_folder *f);

/** Rules for which files are taken. Zeroed except dir: all files. */
struct push_folder_rules {
	int dir; /* the open folder */
	/* Should a path be left out? A folder is left out with its content. Left out paths are not reported. */
	bool (*is_left_out)(const char *path);
	/* Lets a symbolic link count as the file to which it leads. @param[out] st  of that file */
	enum cairn_status (*measure_link)(void *ctx, const char *path, struct stat *st, struct cairn_diag *diag);
	void *ctx;
	bool quiet; /* do not report links and special files */
};

/** Finds all regular files below a folder, sorted by path. Leaves out symbolic links and special files, each with a
 * warning on standard error. @param rules  NULL: none @return CAIRN_OK; the status of rules->measure_link();
 * CAIRN_E_NOT_FOUND: a folder cannot be read; CAIRN_E_FORMAT: a name that a manifest cannot contain; CAIRN_E_LIMIT: too
 * many files, or folders nested too deep; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_read(struct push_folder *out, const char *folder,
						  const struct push_folder_rules *rules, struct cairn_diag *diag);

/** Checks that a manifest can be created at path, or can replace one there. Call before sending anything. @return
 * CAIRN_OK; CAIRN_E_CONFLICT "manifest.write"; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_may_write(const char *path, struct cairn_diag *diag);

/** Writes the manifest to path, through a temporary file in the same folder; NULL: to standard output. @return
 * CAIRN_OK; CAIRN_E_CONFLICT, CAIRN_E_FULL, CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status push_folder_write(const struct push_folder *f, const char *path,
						   struct cairn_diag *diag);

#endif
