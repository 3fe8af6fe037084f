/* A repository of a server that is filled: what there is in it, its branches and tags. */
#ifndef CAIRN_CLI_IMPORT_REPO_H
#define CAIRN_CLI_IMPORT_REPO_H

#include "base/json.h"
#include "cli/common/server_options.h"
#include "cli/hub/import_source.h"

struct import_repo {
	const struct server_options *server;
	const char *type;    /* "model" */
	const char *segment; /* "models" */
	const char *id;      /* "team/model" */
	bool is_private;     /* it is made so, and must be so if it is there */
	unsigned jobs;
	struct client *client; /* owned */
	struct cairn_buf answer;
	struct cairn_json *refs; /* owned: as they were at the start */
	/* results */
	bool made, is_operator;
	uint64_t n_files, n_ignored, bytes, sent_bytes;
};
void import_repo_fini(struct import_repo *r);

/** Find the repository, or make it; who asks, and what it has.
 *  @return as client_request(); CAIRN_E_BUSY what answers is no hub (server.answer); CAIRN_E_FORMAT it is public and
 *          was to be private (import.public) */
CAIRN_MUST_USE enum cairn_status import_repo_open(struct import_repo *r, struct cairn_diag *diag);

/** The commit that a branch, or a tag, had when the repository was opened. @param member  "branches" or "tags"
 *  @return borrowed; NULL: none has this name */
const char *import_repo_ref(const struct import_repo *r, const char *member, const char *name);

/** Make a branch, unless somebody else has made it meanwhile.
 *  @param start  the commit that it begins at; NULL: it is empty @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_add_branch(struct import_repo *r, const char *name, const char *start,
							struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_repo_drop_branch(struct import_repo *r, const char *name,
							 struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_repo_add_tag(struct import_repo *r, const char *name, const char *commit,
						     struct cairn_diag *diag);

/** Is there a commit of this id? @return CAIRN_OK; CAIRN_E_NOT_FOUND; as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_find_commit(struct import_repo *r, const char *id,
							 struct cairn_diag *diag);

/** Commits of a revision, the last one first. @param[out] json  owned by the caller @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_list_commits(struct import_repo *r, const char *revision, unsigned page,
							  unsigned limit, struct cairn_json **json,
							  struct cairn_diag *diag);

/** Has a revision files, except for the .gitattributes that a new repository has? @return as client_request() */
CAIRN_MUST_USE enum cairn_status import_repo_has_files(struct import_repo *r, const char *revision, bool *has,
						       struct cairn_diag *diag);

/** Ask about what is named below the repository: "/what/name", the name escaped.
 *  @param[out] json  NULL, or what was answered, owned by the caller
 *  @return as client_request(); CAIRN_E_BUSY the answer is no JSON (server.answer); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_repo_ask_about(struct import_repo *r, enum client_method method,
						       const char *what, const char *name, const struct cairn_buf *body,
						       struct cairn_json **json, struct cairn_diag *diag);

/** @return CAIRN_E_BUSY: an answer has no such member (server.answer) */
enum cairn_status import_repo_not_a_hub(struct cairn_diag *diag, const char *what);

#endif
