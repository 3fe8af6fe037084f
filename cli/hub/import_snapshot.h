/* Turns snapshots or a plain folder into commits of a repository: chooses branch and tags, and skips what exists. */
#ifndef CAIRN_CLI_IMPORT_SNAPSHOT_H
#define CAIRN_CLI_IMPORT_SNAPSHOT_H

#include "cli/common/report.h"
#include "cli/hub/import_repo.h"

struct import_args {
	struct server_options server;
	const char *type, *revision, *message, *jobs_text, *folder;
	bool is_private, force, quiet, json;
};

struct import {
	const struct import_args *args;
	struct import_source source;
	struct import_repo repo;
	struct report report;
};

/** Checks that all files can be read and have valid names. Sends no request. @return as import_files_read();
 * CAIRN_E_FORMAT: a path that a hub refuses (import.path) */
CAIRN_MUST_USE enum cairn_status import_check_all(struct import *im, struct cairn_diag *diag);

/** Checks that the branch may receive this cache's main. Call before importing any snapshot. @return as
 * import_trace_read(); CAIRN_E_FORMAT: the branch has commits that are not of this cache (import.branch) */
CAIRN_MUST_USE enum cairn_status import_check_branch(struct import *im, struct cairn_diag *diag);

/** Imports a snapshot and reports it. @return as import_files_read(), import_commit_send(), import_trace_read(),
 * client_request(); CAIRN_E_FORMAT: the branch has commits that are not of this cache (import.branch) */
CAIRN_MUST_USE enum cairn_status import_one(struct import *im, const struct import_snapshot *snapshot,
					    struct cairn_diag *diag);

#endif
