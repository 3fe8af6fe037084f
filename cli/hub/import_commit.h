/* Makes a commit of an import: uploads the files that the server lacks, and commits them. */
#ifndef CAIRN_CLI_IMPORT_COMMIT_H
#define CAIRN_CLI_IMPORT_COMMIT_H

#include "cli/hub/import_files.h"
#include "cli/hub/import_repo.h"
#include "cli/push/push.h"

/** The content of a commit. Borrowed. */
struct import_commit {
	const struct import_files *files;
	const char *branch, *title;
	const char *id;           /* the commit's id; NULL: git's rule gives it */
	const char *snapshot;     /* the snapshot that the commit records; NULL: a plain folder */
	const char *parent;       /* the required head of the branch; NULL, "": any head */
	bool is_exact;            /* remove the branch's other files; otherwise .gitignore applies */
	struct progress progress; /* begun by the caller */
	uint64_t read_bytes;      /* bytes of files so far */
};

/** Uploads the files that the server lacks, and commits all of them; in several commits if one would be too large.
 * @param[out] id  id of the last commit @return as import_files_open(), import_file_judge(), push_fd(), push_end(),
 * client_request(); CAIRN_E_FORMAT: a file changed during the import (import.changed); CAIRN_E_LIMIT (import.siblings);
 * CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_commit_send(struct import_repo *r, struct import_commit *commit,
						    char id[static IMPORT_ID_CHARS + 1], struct cairn_diag *diag);

#endif
