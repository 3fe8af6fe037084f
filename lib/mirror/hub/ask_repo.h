/* Asks an upstream hub for a repository at a revision: GET /api/{type}/{id}/revision/{revision}. */
#ifndef CAIRN_MIRROR_HUB_ASK_REPO_H
#define CAIRN_MIRROR_HUB_ASK_REPO_H

#include "mirror/net/net.h"

#include <stdbool.h>

enum {
	MIRROR_REPO_BYTES_MAX = 1 << 20, /* of the answer */
	MIRROR_REPO_VALUES_MAX = 100000, /* in its JSON */
	MIRROR_REPO_MS = 5000,
	MIRROR_ID_BYTES = 200,
};

/** A repository as the upstream describes it. Plain value. */
struct mirror_repo {
	char id[MIRROR_ID_BYTES]; /* "account/name", or "name" */
	char sha[40 + 1];         /* of the commit, in lower case */
	bool is_private, is_gated;
	bool is_disabled; /* the upstream gives out none of its files */
};

/** Sets the limits of a call for a repository; the caller sets path and done. */
void mirror_ask_repo(struct mirror_call *call);

/**
 * Reads the answer to such a call, which must have one.
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  the upstream has no such repository or revision, or hides it (mirror.unknown)
 *         CAIRN_E_DENIED     it wants another token (mirror.denied)
 *         CAIRN_E_BUSY       it asks to come back later, or has failed (mirror.busy)
 *         CAIRN_E_FORMAT     a hub does not answer like that (mirror.redirect, mirror.answer)
 */
CAIRN_MUST_USE enum cairn_status mirror_read_repo(struct mirror_repo *out, const struct mirror_call *call,
						  struct cairn_diag *diag);

/**
 * Reads where the upstream redirects such a call: to the same call for another name, which the repository has now.
 * @param type     "models" and the like, as in the call's address
 * @param[out] id  "account/name"
 * @return false: the answer is no such redirect
 */
bool mirror_read_moved(const struct mirror_call *call, const char *type, char id[static MIRROR_ID_BYTES]);

#endif
