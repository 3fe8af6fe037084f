/* A commit of an import: uploads what the server wants uploaded, and commits it. */
#ifndef CAIRN_CLI_IMPORT_COMMIT_H
#define CAIRN_CLI_IMPORT_COMMIT_H

#include "cli/hub/import_files.h"
#include "cli/hub/import_repo.h"
#include "cli/push/push.h"

/** What is committed. Borrowed. */
struct import_commit {
	const struct import_files *files;
	const char *branch, *title;
	const char *id;           /* that it is to have; NULL: what git gives it */
	const char *snapshot;     /* which is noted with it; NULL: a plain folder */
	const char *parent;       /* what the branch must be at; NULL, "": no matter */
	bool is_exact;            /* what else the branch has goes; else .gitignore counts */
	struct progress progress; /* begun */
	uint64_t read_bytes;      /* of files, so far */
};

/** Upload what the server wants uploaded, and commit all; in several commits when one would be too large.
 *  @param[out] id  of the last one
 *  @return as import_files_open(), import_file_judge(), push_fd(), push_end(), client_request(); CAIRN_E_FORMAT a
 *          file changed meanwhile (import.changed); CAIRN_E_LIMIT (import.siblings); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_commit_send(struct import_repo *r, struct import_commit *commit,
						    char id[static IMPORT_ID_CHARS + 1], struct cairn_diag *diag);

#endif
