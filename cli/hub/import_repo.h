/* The repository that an import fills: its files, branches and tags. */
#ifndef CAIRN_CLI_IMPORT_REPO_H
#define CAIRN_CLI_IMPORT_REPO_H

#include "base/json.h"
#include "cli/common/server_options.h"
#include "cli/hub/import_source.h"

struct import_repo {
	const struct server_options *server;
	const char *type;    /* such as "model" */
	const char *segment; /* such as "models" */
	const char *id;      /* such as "team/model" */
	bool is_private;     /* create it private; if it exists, it must be private */
	unsigned jobs;
	struct client *client; /* owned */
	struct cairn_buf answer;
	struct cairn_json *refs; /* branches and tags at the start; owned */
	/* results: the repository was created; the caller is an operator */
	bool made, is_operator;
	uint64_t n_files, n_ignored, bytes, sent_bytes;
};
void import_repo_fini(struct import_repo *r);

/** Finds or creates the repository, and finds out who the caller is and which branches and tags exist. @return as
 * client_request(); CAIRN_E_BUSY: the server is not a hub (server.answer); CAIRN_E_FORMAT: the repository is public,
 * but must be private (import.public) */
CAIRN_MUST_USE enum cairn_status import_repo_open(struct import_repo *r, struct cairn_diag *diag);

/** Returns the commit that a branch or tag had when the repository was opened. @param member  "branches" or "tags"
 * @return borrowed; NULL: no such name */
const char *import_repo_ref(const struct import_repo *r, const char *member, const char *name);

/** Creates a branch, unless somebody else has created it meanwhile. @param start  its first commit; NULL: an empty
 * branch @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_add_branch(struct import_repo *r, const char *name, const char *start,
							struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_repo_drop_branch(struct import_repo *r, const char *name,
							 struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_repo_add_tag(struct import_repo *r, const char *name, const char *commit,
						     struct cairn_diag *diag);

/** Looks a commit up by its id. @return CAIRN_OK; CAIRN_E_NOT_FOUND; else as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_find_commit(struct import_repo *r, const char *id,
							 struct cairn_diag *diag);

/** Lists the commits of a revision, the last one first. @param[out] json  the caller's @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_list_commits(struct import_repo *r, const char *revision, unsigned page,
							  unsigned limit, struct cairn_json **json,
							  struct cairn_diag *diag);

/** Does a revision have files, except the .gitattributes of a new repository? @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_has_files(struct import_repo *r, const char *revision, bool *has,
						       struct cairn_diag *diag);

/** Requests "/what/name" below the repository, with the name escaped.
 * @param[out] json  NULL, or the answer, owned by the caller
 * @return as client_request(); CAIRN_E_BUSY the answer is not JSON (server.answer); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_repo_ask_about(struct import_repo *r, enum client_method method,
						       const char *what, const char *name, const struct cairn_buf *body,
						       struct cairn_json **json, struct cairn_diag *diag);

/** Reports an answer without a required member. @return CAIRN_E_BUSY (server.answer) */
enum cairn_status import_repo_not_a_hub(struct cairn_diag *diag, const char *what);

#endif
