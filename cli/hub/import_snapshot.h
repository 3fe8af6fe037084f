/* Snapshots, or a plain folder, become commits of a repository: which branch and tags each gets, and what of it is
 * there already. */
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

/** Can all that is to be imported be read, and have its names? Nothing is asked of the server for it.
 *  @return as import_files_read(); CAIRN_E_FORMAT a path that a hub does not take (import.path) */
CAIRN_MUST_USE enum cairn_status import_check_all(struct import *im, struct cairn_diag *diag);

/** May the branch get what this cache calls main? To be asked before any snapshot is imported.
 *  @return as import_trace_read(); CAIRN_E_FORMAT it has what is none of this cache's (import.branch) */
CAIRN_MUST_USE enum cairn_status import_check_branch(struct import *im, struct cairn_diag *diag);

/** Import one, and tell of it.
 *  @return as import_files_read(), import_commit_send(), import_trace_read(), client_request(); CAIRN_E_FORMAT the
 *          branch has what is none of this cache's (import.branch) */
CAIRN_MUST_USE enum cairn_status import_one(struct import *im, const struct import_snapshot *snapshot,
					    struct cairn_diag *diag);

#endif
