/* Authentication: finds the identity of a request, and the scopes it has. */
#ifndef CAIRN_SERVER_AUTH_H
#define CAIRN_SERVER_AUTH_H

#include "cas/cas.h"
#include "token/token.h"

/** A request's identity. Plain value. */
struct auth_identity {
	unsigned scopes;   /* of enum cairn_token_scope, with those that others imply */
	char subject[128]; /* name of the sender, for the log */
	char repo[208];    /* repository claim as "type/namespace/name"; empty: none */
	char dedupe[208];  /* name of the dedupe scope; "": shared by all */
	int64_t api_key;   /* number of the API key with which the token was obtained; 0: none */
	int64_t account;   /* number of the account that the token is for; 0: none */
	bool by_token;     /* the members above come from a token */
};

/** Begins the text that takes the place of a token on a server without tokens, where everybody is the operator. The
 * owner of a hub repository follows, and marks an upload as made for that repository. (A token of the hub has a claim
 * for this.) */
#define AUTH_SAID "none-needed-for-"

/** Clears an identity: no scopes, no names. */
void auth_clear(struct auth_identity *identity);

/** Keys that can be replaced while requests are checked. Any thread. */
struct auth_keys;

struct auth_options {
	struct auth_keys *keys;             /* NULL: no tokens are needed, and everybody is the operator */
	enum cairn_dedupe_scope dedupe;     /* used for tokens that name a repository but no scope */
	struct cairn_token_binding binding; /* audience and issuer of checked and minted tokens */
	struct cairn_cas *cas;              /* knows the API keys with which tokens were obtained */
};

/** Loads keys. @param path  as in cairn_token_keys_load(); copied  @return as that; *out is NULL on failure */
CAIRN_MUST_USE enum cairn_status auth_keys_open(struct auth_keys **out, const char *path, struct cairn_diag *diag);

/** Reloads the keys from the same place. On failure the old ones stay. @return as cairn_token_keys_load() */
CAIRN_MUST_USE enum cairn_status auth_keys_reload(struct auth_keys *keys, struct cairn_diag *diag);
void auth_keys_free(struct auth_keys *keys);

/** Checks an Authorization header ("Bearer TOKEN") for the scope that a route needs.
 * @param header     NULL: absent
 * @param scope      0: the route needs no token; the header is ignored, and the identity has no scopes
 * @param[out] code  401: the token is missing, malformed, wrong, foreign or expired, or its API key was revoked
 *                   403: the token's scope is too narrow, or it is the scope admin for one repository
 *                   500: the index cannot be read
 *                   503: no memory
 * @return true: `out` is filled */
bool auth_check(const struct auth_options *options, const char *header, unsigned scope, struct auth_identity *out,
		unsigned *code, struct cairn_diag *diag);

/** Is the sender known? Requests then count for the identity, not for the address. A token that anybody can get does
 * not identify a sender. Without a token, the sender is known if the API key was recognised (api_key.h). */
bool auth_is_somebody(const struct auth_identity *identity);

/** Computes the hash that identifies the bearer. It is the hash of the account. Without an account, it is the hash of
 * the API key, the same for all tokens obtained with that key. Otherwise it is the hash of the token's signed part,
 * because header and signature can be spelled in several ways. */
void auth_bearer(const struct auth_identity *identity, const char *header, struct cairn_hash *out);

/** Mints a token with the keys in use now. @return as cairn_token_mint() */
CAIRN_MUST_USE enum cairn_status auth_mint(const struct auth_options *options, const struct cairn_token_claims *claims,
					   int64_t now_unix_s, char **token, struct cairn_diag *diag);

/** Computes the hash of a known sender (auth_is_somebody()), for limits on work under way. It is the hash of the first
 * of these that the identity has: account, API key, the token's subject, its repository, the token itself. */
void auth_sender(const struct auth_identity *identity, const char *header, struct cairn_hash *out);

/** Converts an identity to the form that cas takes. The result borrows from identity. */
struct cairn_cas_who auth_cas_identity(const struct auth_identity *identity);

#endif
