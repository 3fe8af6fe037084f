/* Who asks, and what that permits. */
#ifndef CAIRN_SERVER_AUTH_H
#define CAIRN_SERVER_AUTH_H

#include "cas/cas.h"
#include "token/token.h"

/** A request's identity. Plain value. */
struct auth_identity {
	unsigned scopes;   /* enum cairn_token_scope, implied ones included */
	char subject[128]; /* for the log */
	char repo[200];    /* repository claim; empty: none */
	char dedupe[200];  /* dedupe scope, "" shared */
};

struct auth_options {
	const struct cairn_token_keys *keys; /* NULL: no tokens are needed, everybody is the operator */
	enum cairn_dedupe_scope dedupe;      /* for tokens that do not say */
};

/**
 * Check an Authorization header ("Bearer TOKEN") for the scope a route needs.
 * @param header  NULL: absent
 * @param[out] code  401 no, malformed, wrong or expired token; 403 scope too narrow
 * @return true: out is filled
 */
bool auth_check(const struct auth_options *options, const char *header, unsigned scope, struct auth_identity *out,
		unsigned *code, struct cairn_diag *diag);

/** The identity as the use cases want it; borrows identity. */
struct cairn_cas_who auth_who(const struct auth_identity *identity);

#endif
