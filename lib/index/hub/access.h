/* Requests for access to repositories with a gate: accounts that asked to read the files, and accounts to which an
 * admin granted that. A repository and an account have one request at most. It is deleted with the repository. */
#ifndef CAIRN_INDEX_HUB_ACCESS_H
#define CAIRN_INDEX_HUB_ACCESS_H

#include "index/hub/hub.h"

enum {
	CAIRN_INDEX_REQUEST_BYTES = 12, /* bytes of a request's id, which is random */
	CAIRN_INDEX_REASON_CHARS_MAX = 200,
	CAIRN_INDEX_REASON_BYTES_MAX = 4 * CAIRN_INDEX_REASON_CHARS_MAX,
};

enum cairn_index_access_state {
	CAIRN_INDEX_ACCESS_NONE, /* the account has no request; never stored */
	CAIRN_INDEX_ACCESS_PENDING,
	CAIRN_INDEX_ACCESS_ACCEPTED, /* the account may read the files while the repository is public */
	CAIRN_INDEX_ACCESS_REJECTED,
};

/** Returns the name of a state in answers and messages, such as "pending". @param state  not CAIRN_INDEX_ACCESS_NONE */
const char *cairn_index_access_name(enum cairn_index_access_state state);

/** Fails, because the repository has no gate. @return CAIRN_E_USAGE (access.open) */
enum cairn_status cairn_index_access_open(struct cairn_diag *diag);
/** Fails, because the user may read the files already. @return CAIRN_E_USAGE (access.granted) */
enum cairn_status cairn_index_access_granted(struct cairn_diag *diag);

/** A request. Plain value. */
struct cairn_index_access_request {
	uint8_t request[CAIRN_INDEX_REQUEST_BYTES];
	enum cairn_index_access_state state;
	int64_t asked_unix_ms; /* 0: access was granted without a request */
	int64_t at_unix_ms;    /* of the last change of state */
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1], fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX + 1];
	char reason[CAIRN_INDEX_REASON_BYTES_MAX + 1]; /* of a rejection */
};

/** Finds the request of an account. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_access_request(struct cairn_index *ix, int64_t repo, int64_t account,
							    struct cairn_index_access_request *out);

/** Visits the requests of a repository in this state, in the order in which they were made; visit() must not call the
 * index.
 * @param after  id of the last request of the page before; NULL or unknown: from the first
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_access_request(
	struct cairn_index *ix, int64_t repo, enum cairn_index_access_state state, const uint8_t *after, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_access_request *request), void *ctx);

/** Asks for access. An automatic gate accepts at once, unless the repository has a guard: then its admins decide. A
 * request that was made before stays as it is. CAIRN_E_USAGE: the repository is not public, has no gate, or does not
 * exist (access.open); CAIRN_E_DENIED: the account was rejected (access.rejected); CAIRN_E_CONFLICT: the repository
 * (access.many) or the account (access.waiting) has too many. */
struct cairn_index_ask_access {
	struct cairn_index_write write;
	int64_t repo, account;
	uint8_t request[CAIRN_INDEX_REQUEST_BYTES]; /* id of a new request */
	uint32_t of_repo_max;                       /* most requests of the repository */
	uint32_t waiting_max;                       /* most pending requests of the account */
	enum cairn_index_access_state state;        /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_ask_access(struct cairn_index *ix, struct cairn_index_ask_access *ask);

/** Grants access to an account, whether or not it asked. CAIRN_E_USAGE: the repository has no gate, or does not exist
 * (access.open), or the account has access already (access.granted); CAIRN_E_CONFLICT: the repository has too many
 * requests (access.many). */
struct cairn_index_grant_access {
	struct cairn_index_write write;
	int64_t repo, account;
	uint8_t request[CAIRN_INDEX_REQUEST_BYTES]; /* id of a new request */
	uint32_t of_repo_max;                       /* most requests of the repository */
};
CAIRN_MUST_USE enum cairn_status cairn_index_grant_access(struct cairn_index *ix,
							  struct cairn_index_grant_access *grant);

/** Changes the state of a request. CAIRN_E_NOT_FOUND: no request, or it has this state already (access.unknown). */
struct cairn_index_set_access {
	struct cairn_index_write write;
	int64_t repo;
	int64_t account;                            /* account that made the request; 0: find it by its id */
	uint8_t request[CAIRN_INDEX_REQUEST_BYTES]; /* the request's id, if account is 0 */
	enum cairn_index_access_state state;        /* not CAIRN_INDEX_ACCESS_NONE */
	const char *reason; /* at most CAIRN_INDEX_REASON_CHARS_MAX characters of UTF-8; borrowed */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_access(struct cairn_index *ix, struct cairn_index_set_access *set);

#endif
