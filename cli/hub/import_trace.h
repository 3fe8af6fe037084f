/* Finds the snapshots from which a branch was filled: each commit of an import has a note of its snapshot. */
#ifndef CAIRN_CLI_IMPORT_TRACE_H
#define CAIRN_CLI_IMPORT_TRACE_H

#include "cli/hub/import_repo.h"

struct import_trace {
	char head[IMPORT_ID_CHARS + 1];          /* id of the last commit; "": none */
	char head_snapshot[IMPORT_ID_CHARS + 1]; /* its snapshot, perhaps incomplete; "": not from an import */
	char commit[IMPORT_ID_CHARS + 1];        /* the last commit that completed the snapshot; "": none */
};

/** Puts the note into the header of a commit. @param is_whole  this is the last commit of a snapshot */
void import_trace_note(struct cairn_json_out *header, const char *snapshot, bool is_whole);

/** Looks for a snapshot among the last IMPORT_TRACE_COMMITS_MAX commits of a branch, by its note or its id. @param
 * revision  a branch, or the id of a commit @param head_only  look only at the last commit @return as client_request();
 * CAIRN_E_BUSY (server.answer) */
enum { IMPORT_TRACE_COMMITS_MAX = 10000 };
CAIRN_MUST_USE enum cairn_status import_trace_read(struct import_repo *r, const char *revision, const char *snapshot,
						   bool head_only, struct import_trace *out, struct cairn_diag *diag);

#endif
