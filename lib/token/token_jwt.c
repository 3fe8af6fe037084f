#include "token/token_jwt.h"

#include <assert.h>
#include <errno.h>
#include <jwt.h>

static jwt_alg_t token_jwt_alg(enum cairn_token_alg alg)
{
	switch (alg) {
	case CAIRN_TOKEN_HS256:
		return JWT_ALG_HS256;
	case CAIRN_TOKEN_RS256:
		return JWT_ALG_RS256;
	case CAIRN_TOKEN_ES256:
		return JWT_ALG_ES256;
	case CAIRN_TOKEN_EDDSA:
		break;
	}
	assert(!"libjwt has no EdDSA");
	return JWT_ALG_INVAL;
}

enum cairn_status cairn_token_jwt_verify(enum cairn_token_alg alg, const uint8_t *key, size_t key_len,
					 const char *token)
{
	jwt_t *jwt = NULL;
	int rc = jwt_decode(&jwt, token, key, (int)key_len);
	/* libjwt takes the algorithm from the header. Without this check a public key could be an HMAC secret. */
	bool same_alg = rc == 0 && jwt_get_alg(jwt) == token_jwt_alg(alg);
	jwt_free(jwt);
	if (rc == ENOMEM)
		return CAIRN_E_NOMEM;
	return same_alg ? CAIRN_OK : CAIRN_E_DENIED;
}

enum cairn_status cairn_token_jwt_sign(enum cairn_token_alg alg, const uint8_t *key, size_t key_len, const char *claims,
				       char **token)
{
	jwt_t *jwt = NULL;
	*token = NULL;
	if (jwt_new(&jwt) == 0 && jwt_add_grants_json(jwt, claims) == 0 &&
	    jwt_set_alg(jwt, token_jwt_alg(alg), key, (int)key_len) == 0)
		*token = jwt_encode_str(jwt);
	jwt_free(jwt);
	return *token ? CAIRN_OK : CAIRN_E_NOMEM;
}
