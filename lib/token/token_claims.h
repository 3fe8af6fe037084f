/* Converts the claims of a token from and to JSON. Only for the files of this folder. */
#ifndef CAIRN_TOKEN_TOKEN_CLAIMS_H
#define CAIRN_TOKEN_TOKEN_CLAIMS_H

#include "base/buf.h"
#include "token/token.h"

/** Reads and checks the claims of a token whose signature was verified.
 * @return CAIRN_OK; CAIRN_E_DENIED as cairn_token_verify(), except for "token.signature" */
CAIRN_MUST_USE enum cairn_status cairn_token_claims_read(struct cairn_token_claims *out,
							 const struct cairn_token_binding *binding, const char *json,
							 size_t len, int64_t now_unix_s, struct cairn_diag *diag);

/** Writes the claims of a token to be signed, and a terminating zero.
 * @return CAIRN_OK; CAIRN_E_USAGE a claim is not valid; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_token_claims_write(struct cairn_buf *buf,
							  const struct cairn_token_binding *binding,
							  const struct cairn_token_claims *claims, int64_t now_unix_s,
							  struct cairn_diag *diag);

#endif
