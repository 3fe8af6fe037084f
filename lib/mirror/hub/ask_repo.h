/* Requests from an upstream hub a repository at a revision: GET /api/{type}/{id}/revision/{revision}. */
#ifndef CAIRN_MIRROR_HUB_ASK_REPO_H
#define CAIRN_MIRROR_HUB_ASK_REPO_H

#include "mirror/net/net.h"

#include <stdbool.h>

enum {
	MIRROR_REPO_BYTES_MAX = 1 << 20, /* bytes of the answer */
	MIRROR_REPO_VALUES_MAX = 100000, /* values in its JSON */
	MIRROR_REPO_MS = 5000,
	MIRROR_ID_BYTES = 200,
};

/** A repository as the upstream describes it. Plain value. */
struct mirror_repo {
	char id[MIRROR_ID_BYTES]; /* "account/name", or "name" */
	char sha[40 + 1];         /* id of the commit, in lower case */
	bool is_private, is_gated;
	bool is_disabled;        /* the upstream gives out none of its files */
	int64_t created_unix_ms; /* 0: unknown */
};

/** Sets the limits of a call for a repository; the caller sets path and done. */
void mirror_ask_repo(struct mirror_call *call);

/**
 * Reads the answer to a call of mirror_ask_repo(). The call must have an answer. @return CAIRN_OK
 *   CAIRN_E_NOT_FOUND  the upstream has no such repository or revision, or hides it (mirror.unknown)
 *   CAIRN_E_DENIED     the upstream refuses the token, or requires one (mirror.denied)
 *   CAIRN_E_BUSY       the upstream asks to try later, or has failed (mirror.busy)
 *   CAIRN_E_FORMAT     the upstream does not answer as a hub (mirror.redirect, mirror.answer)
 *  */
CAIRN_MUST_USE enum cairn_status mirror_read_repo(struct mirror_repo *out, const struct mirror_call *call,
						  struct cairn_diag *diag);

/**
 * Reads the new name of a repository from a redirect to the same call for that name.
 * @param type     "models" and the like, as in the call's address
 * @param[out] id  "account/name"
 * @return false: the answer is not such a redirect
 */
bool mirror_read_moved(const struct mirror_call *call, const char *type, char id[static MIRROR_ID_BYTES]);

#endif
