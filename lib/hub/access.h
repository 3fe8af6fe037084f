/* Access to the files of repositories with a gate: accounts ask for it, and admins of the repository decide. */
#ifndef CAIRN_HUB_ACCESS_H
#define CAIRN_HUB_ACCESS_H

#include "hub/may.h"
#include "index/hub/access.h"

enum {
	CAIRN_HUB_REQUESTS_MAX = 5000,        /* requests of a repository */
	CAIRN_HUB_REQUESTS_WAITING_MAX = 100, /* pending requests of an account */
	/* bytes of a request's id as text, with its zero */
	CAIRN_HUB_REQUEST_BYTES = 2 * CAIRN_INDEX_REQUEST_BYTES + 1,
};

/** Asks for the asker's account to read the files of a repository that was found with CAIRN_HUB_SEE. Waits for the
 * index's writer.
 * @param[out] state  CAIRN_INDEX_ACCESS_ACCEPTED also if the account may read them anyway
 * @return CAIRN_OK; CAIRN_E_DENIED the asker has no account, or a key that only reads or is for one repository
 *         (access.own), or was rejected (access.rejected); else as cairn_index_ask_access(); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_ask_access(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      enum cairn_index_access_state *state, struct cairn_diag *diag);

/** May the asker ask for access? @return CAIRN_OK; CAIRN_E_DENIED (access.own) */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_asks_access(const struct cairn_hub_asker *asker,
							     struct cairn_diag *diag);

/** Finds the asker's own request. @param[out] out  its state is CAIRN_INDEX_ACCESS_NONE if there is none @return
 * CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_own_request(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo,
						       struct cairn_index_access_request *out);

/** Visits a page of the requests for a repository that was found with CAIRN_HUB_ADMIN, the oldest first; visit() must
 * not call the index.
 * @param after  id of the last request of the page before; any other text: the first page
 * @return CAIRN_OK; CAIRN_E_USAGE the repository has no gate (access.open); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_request(
	const struct cairn_hub *hub, const struct cairn_index_repo *repo, enum cairn_index_access_state state,
	const char *after, uint32_t limit, void (*visit)(void *ctx, const struct cairn_index_access_request *request),
	void *ctx, struct cairn_diag *diag);

/** An admin's answer to a request. Borrowed. */
struct cairn_hub_access_answer {
	const char *user, *request;          /* the user, or the request's id; the other is NULL */
	enum cairn_index_access_state state; /* PENDING: takes an answer back */
	const char *reason;                  /* for the account, after a rejection; NULL: none */
};

/** Answers a request for a repository that was found with CAIRN_HUB_ADMIN. Waits for the index's writer.
 * @return CAIRN_OK; CAIRN_E_USAGE the repository has no gate (access.open), or the reason is too long (access.reason);
 *         CAIRN_E_NOT_FOUND there is no such user (user.unknown) or request, or it has this answer already
 *         (access.unknown); CAIRN_E_DENIED only admins of the repository's guard may accept (repo.guarded); as a
 *         write */
CAIRN_MUST_USE enum cairn_status cairn_hub_answer_request(const struct cairn_hub *hub,
							  const struct cairn_hub_asker *asker,
							  const struct cairn_index_repo *repo,
							  const struct cairn_hub_access_answer *answer,
							  struct cairn_diag *diag);

/** Grants access to a user, who need not have asked. @return as cairn_hub_answer_request(); CAIRN_E_USAGE the user may
 * read the files already (access.granted); CAIRN_E_CONFLICT the repository has too many requests (access.many) */
CAIRN_MUST_USE enum cairn_status cairn_hub_grant_access(const struct cairn_hub *hub,
							const struct cairn_hub_asker *asker,
							const struct cairn_index_repo *repo, const char *user,
							struct cairn_diag *diag);

/** Returns the name of a state in clients, such as "pending". @param state  not CAIRN_INDEX_ACCESS_NONE */
const char *cairn_hub_access_name(enum cairn_index_access_state state);
/** Finds the state with this name. @return CAIRN_INDEX_ACCESS_NONE: no state has it */
enum cairn_index_access_state cairn_hub_access_parse(const char *name);

#endif
