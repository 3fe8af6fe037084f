/* Signs and verifies JWTs with libjwt: HS256, RS256, ES256. The only includer of libjwt. */
#ifndef CAIRN_TOKEN_TOKEN_JWT_H
#define CAIRN_TOKEN_TOKEN_JWT_H

#include "token/token_alg.h"

#include <stddef.h>
#include <stdint.h>

/** Verifies that this key signed the token with this algorithm, whatever the header names. Checks no claim.
 * @param key  HS256: the secret; else the public key as PEM
 * @return CAIRN_OK; CAIRN_E_DENIED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_jwt_verify(enum cairn_token_alg alg, const uint8_t *key, size_t key_len,
							const char *token);

/** Signs claims given as a JSON object.
 * @param key  HS256: the secret; else the private key as PEM
 * @param[out] token  owned by the caller, free()
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_jwt_sign(enum cairn_token_alg alg, const uint8_t *key, size_t key_len,
						      const char *claims, char **token);

#endif
