/* Asymmetric keys of tokens. The only includer of OpenSSL in lib/token. */
#ifndef CAIRN_TOKEN_TOKEN_PEM_H
#define CAIRN_TOKEN_TOKEN_PEM_H

#include "token/token_alg.h"

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_TOKEN_ED25519_SIGNATURE_BYTES = 64 };

/** A key read from a PEM text. Immutable; any thread may use it. */
struct cairn_token_pem;

/** @return CAIRN_OK
 *         CAIRN_E_USAGE  not an unencrypted PEM key, or not RSA of 2,048 bits or more, EC on P-256 or Ed25519
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_pem_parse(struct cairn_token_pem **out, const char *text, size_t len,
						       struct cairn_diag *diag);
void cairn_token_pem_free(struct cairn_token_pem *pem);

enum cairn_token_alg cairn_token_pem_alg(const struct cairn_token_pem *pem);
bool cairn_token_pem_is_private(const struct cairn_token_pem *pem);

/** Returns the key as PEM text for libjwt: the public half, or the private key (NULL: the key is public). Borrowed. */
const char *cairn_token_pem_public(const struct cairn_token_pem *pem);
const char *cairn_token_pem_private(const struct cairn_token_pem *pem);

/** Verifies a signature by Ed25519. @return CAIRN_OK; CAIRN_E_DENIED */
CAIRN_MUST_USE enum cairn_status cairn_token_pem_verify(const struct cairn_token_pem *pem, const void *message,
							size_t len, const uint8_t *signature, size_t signature_len);

/** Signs with Ed25519. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_pem_sign(const struct cairn_token_pem *pem, const void *message,
						      size_t len,
						      uint8_t signature[static CAIRN_TOKEN_ED25519_SIGNATURE_BYTES]);

#endif
