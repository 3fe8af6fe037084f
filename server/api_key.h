/* API keys that come with requests: where one stands in a header, and whose those are that were good a moment ago. */
#ifndef CAIRN_SERVER_API_KEY_H
#define CAIRN_SERVER_API_KEY_H

#include "hash/crypto.h"
#include "server/auth.h"

/** The key of an Authorization header: "Bearer KEY", or "Basic" with the key as password.
 *  @return CAIRN_OK; CAIRN_E_FORMAT it is none of ours by its looks */
CAIRN_MUST_USE enum cairn_status api_key_take(const char *header, uint8_t digest[static CAIRN_SHA256_BYTES]);

/** The keys that were found good lately, in memory, of a fixed size. What a request with one of them takes counts as
 * its owner's from the head on, before anybody has looked at the key; that it is good still is not said by it. Only
 * good ones come in: with keys that are made up nobody becomes many. Any thread. */
struct api_keys;

/** @return NULL without memory */
struct api_keys *api_keys_new(void);
void api_keys_free(struct api_keys *keys);

/** It was found good. @param account  whose it is; 0: the operator's */
void api_keys_note(struct api_keys *keys, const uint8_t digest[static CAIRN_SHA256_BYTES], int64_t key,
		   int64_t account);

/** Set api_key and account of an identity that no token made. @return false: it is not known */
bool api_keys_recognise(struct api_keys *keys, const char *header, struct auth_identity *out);

#endif
