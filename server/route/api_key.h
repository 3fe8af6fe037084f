/* API keys: long-lived secrets of people and programs, exchanged for short-lived tokens. Kept as a SHA-256 only. */
#ifndef CAIRN_SERVER_API_KEY_H
#define CAIRN_SERVER_API_KEY_H

#include "base/base64.h"
#include "hash/crypto.h"

#include <stddef.h>

enum {
	API_KEY_RANDOM_BYTES = 32,
	API_KEY_TEXT_BYTES =
		9 + CAIRN_BASE64URL_CHARS(32) + 1, /* "hf_cairn_" and the random bytes, base64url; a zero */
};

/** A new random key. It begins with "hf_", since @huggingface/hub sends no other (its checkCredentials.ts).
 *  @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status api_key_make(char out[static API_KEY_TEXT_BYTES]);

/** What is kept of a key. A key has 256 random bits, so a plain digest is as good as a slow one. It is the same with
 * and without "hf_": the first keys were made without.
 *  @return CAIRN_OK; CAIRN_E_FORMAT it is no key of ours; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status api_key_digest(const char *key, uint8_t out[static CAIRN_SHA256_BYTES]);

/** Bits of enum cairn_token_scope for "read write"; 0: empty, or with an unknown word. */
unsigned api_key_scopes(const char *text);

/** The full name of a repository: "a/b" becomes "models/a/b"; empty stays so. @return false: it is not one */
bool api_key_repo(char *out, size_t out_len, const char *repo);

#endif
