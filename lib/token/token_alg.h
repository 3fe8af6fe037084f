/* The signature algorithms of tokens. Only for the files of this folder. */
#ifndef CAIRN_TOKEN_TOKEN_ALG_H
#define CAIRN_TOKEN_TOKEN_ALG_H

#include "base/status.h"

/** A key has one algorithm and never verifies a token that names another. */
enum cairn_token_alg { CAIRN_TOKEN_HS256, CAIRN_TOKEN_RS256, CAIRN_TOKEN_ES256, CAIRN_TOKEN_EDDSA };

/** Returns the "alg" of a token's header: "HS256", "RS256", "ES256", "EdDSA". */
const char *cairn_token_alg_name(enum cairn_token_alg alg);

#endif
