/* A loaded key. Only for the files of this folder. */
#ifndef CAIRN_TOKEN_TOKEN_KEYS_H
#define CAIRN_TOKEN_TOKEN_KEYS_H

#include "token/token.h"
#include "token/token_pem.h"

enum {
	CAIRN_TOKEN_KEYS_MAX = 64,         /* files in a folder of keys */
	CAIRN_TOKEN_SECRET_BYTES_MIN = 32, /* as long as the digest (RFC 7518, 3.2) */
	CAIRN_TOKEN_SECRET_BYTES_MAX = 1024,
};

struct cairn_token_key {
	enum cairn_token_alg alg;
	struct cairn_token_pem *pem; /* NULL: HS256 */
	uint8_t secret[CAIRN_TOKEN_SECRET_BYTES_MAX];
	size_t secret_len;
};

struct cairn_token_keys {
	size_t n;
	struct cairn_token_key key[CAIRN_TOKEN_KEYS_MAX];
};

#endif
