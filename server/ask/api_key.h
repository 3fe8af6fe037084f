/* API keys in requests: reads the key from a header, and remembers the owners of keys that were valid recently. */
#ifndef CAIRN_SERVER_API_KEY_H
#define CAIRN_SERVER_API_KEY_H

#include "hash/crypto.h"
#include "server/http/auth.h"

/** Reads the key of an Authorization header: "Bearer KEY", or "Basic" with the key as password.
 *  @return CAIRN_OK; CAIRN_E_FORMAT: it does not look like a key of this server */
CAIRN_MUST_USE enum cairn_status api_key_take(const char *header, uint8_t digest[static CAIRN_SHA256_BYTES]);

/** Copies the text that stands in the place of the key, whatever its form. @return false: there is none, or it does not
 * fit */
bool api_key_copy(const char *header, char *out, size_t size);

/** A cache of recently valid keys, in memory, of a fixed size. A request with a cached key counts as its owner's from
 * the head on, before the key is verified. A cached key may be invalid by now. Only valid keys enter, so made-up keys
 * gain a client no identities. Any thread. */
struct api_keys;

/** @return NULL without memory */
struct api_keys *api_keys_new(void);
void api_keys_free(struct api_keys *keys);

/** Adds a key that was found valid. @param account  its owner; 0: the operator */
void api_keys_note(struct api_keys *keys, const uint8_t digest[static CAIRN_SHA256_BYTES], int64_t key,
		   int64_t account);

/** Do the same for a browser. @param text  what the browser sends, as struct hub_browser has it */
void api_keys_note_browser(struct api_keys *keys, const char *text, int64_t key, int64_t account);
bool api_keys_recognise_browser(struct api_keys *keys, const char *text, struct auth_identity *out);

/** Sets api_key and account of an identity that has no token. @return false: the key is not cached */
bool api_keys_recognise(struct api_keys *keys, const char *header, struct auth_identity *out);

#endif
