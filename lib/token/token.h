/* Bearer tokens: JWTs signed with HS256, RS256, ES256 or EdDSA. The only part that knows libjwt. */
#ifndef CAIRN_TOKEN_TOKEN_H
#define CAIRN_TOKEN_TOKEN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum cairn_token_scope { /* bits */
			 CAIRN_TOKEN_READ = 1,
			 CAIRN_TOKEN_WRITE = 2, /* implies read */
			 CAIRN_TOKEN_ADMIN = 4, /* implies both */
};

/** The scope in which senders share dedupe. */
enum cairn_dedupe_scope { CAIRN_DEDUPE_GLOBAL, CAIRN_DEDUPE_NAMESPACE, CAIRN_DEDUPE_REPOSITORY };

/** The subject of tokens that are given to anyone without a key. */
#define CAIRN_TOKEN_ANYBODY "anonymous"

struct cairn_token_claims {
	unsigned scopes;   /* enum cairn_token_scope, implied ones included */
	char repo[200];    /* claim "repo": "[models|datasets|spaces/]namespace/name"; empty: none */
	char subject[128]; /* claim "sub", for the log; may be empty */
	bool has_dedupe;   /* the token has the claim "dedupe" */
	enum cairn_dedupe_scope dedupe;
	int64_t expires_unix_s;
	int64_t api_key; /* claim "cairn_key": number of the API key that the token was requested with; 0: none */
	int64_t account; /* claim "cairn_account": number of the account that requested the token; 0: none */
};

/** Ties tokens to one service and one issuer, because several may use one key. Borrowed. */
struct cairn_token_binding {
	/* The name of this service, which the claim "aud" must contain. NULL: the service has no name, so a token that
	 * names any is for others (RFC 7519, 4.1.3). CAIRN_TOKEN_ANY: "aud" is not checked. */
	const char *audience;
	const char *issuer; /* claim "iss"; NULL or CAIRN_TOKEN_ANY: not checked */
};
#define CAIRN_TOKEN_ANY "any"
enum { CAIRN_TOKEN_BINDING_BYTES_MAX = 255 }; /* of each */

/** Keys that tokens are verified (and minted) with. Immutable once loaded; any thread may use it. */
struct cairn_token_keys;

/** Loads keys from a file, or from every file of a folder in the order of their names (rotation: the first key mints,
 * all verify). A file holds one key: a PEM (RSA, EC P-256, Ed25519; public or private) or an HS256 secret of 32 bytes
 * or more, in base64url as `cairn token --new-key` writes it. A secret readable by others is refused.
 * @return CAIRN_OK; CAIRN_E_USAGE no key, too many keys, or one that is not valid; diag says what to do; CAIRN_E_IO a
 *         file cannot be read; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_keys_load(struct cairn_token_keys **out, const char *path,
						       struct cairn_diag *diag);
void cairn_token_keys_free(struct cairn_token_keys *keys);
void cairn_token_keys_freep(struct cairn_token_keys **keys);

/** Verifies a token. One of the keys signed it, with the algorithm of this key's kind; "none" and mixed-up algorithms
 * never pass. It has not expired, and "nbf" is not in the future, with 60 s of tolerance for both. It is for this
 * service and from its issuer, and grants at least one known scope.
 * @return CAIRN_OK
 *         CAIRN_E_DENIED  by the rule "token.malformed", "token.signature", "token.expired", "token.not_yet",
 *                         "token.audience", "token.issuer" or "token.scope"
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_verify(const struct cairn_token_keys *keys,
						    const struct cairn_token_binding *binding, const char *token,
						    int64_t now_unix_s, struct cairn_token_claims *out,
						    struct cairn_diag *diag);

/** Mints a token with the first key that can sign, for the service and issuer of the binding.
 * @param[out] token  owned by the caller, free()
 * @return CAIRN_OK; CAIRN_E_USAGE no key can sign, or a claim is not valid; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_mint(const struct cairn_token_keys *keys,
						  const struct cairn_token_binding *binding,
						  const struct cairn_token_claims *claims, int64_t now_unix_s,
						  char **token, struct cairn_diag *diag);

/** Writes a new random HS256 secret to path with mode 0600. The file gets its name once the whole secret is durable.
 * Never overwrites a file.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  the file exists, or the place takes no file
 *         CAIRN_E_FULL
 *         CAIRN_E_IO        it cannot be made or written, or there are no random bytes
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_key_make(const char *path, struct cairn_diag *diag);

#endif
