/* SHA-256 and algorithms built on it: file digests, HMAC for signed URLs, HKDF for keys; random bytes. */
#ifndef CAIRN_HASH_CRYPTO_H
#define CAIRN_HASH_CRYPTO_H

#include "hash/hash.h"

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_SHA1_BYTES = 20, CAIRN_MD5_BYTES = 16 };

/** SHA-256 of bytes that come in pieces. For one thread at a time. */
struct cairn_sha256;

/** Makes a digest. @return NULL: no memory */
struct cairn_sha256 *cairn_sha256_new(void);
void cairn_sha256_add(struct cairn_sha256 *d, const void *bytes, size_t len);
/** Writes the digest, after which no bytes may be added. */
void cairn_sha256_end(struct cairn_sha256 *d, uint8_t out[static CAIRN_SHA256_BYTES]);
void cairn_sha256_free(struct cairn_sha256 *d);
void cairn_sha256_freep(struct cairn_sha256 **d);

/** Computes the SHA-256 of bytes in one piece. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_sha256_of(uint8_t out[static CAIRN_SHA256_BYTES], const void *bytes, size_t len);

/** Computes an HMAC-SHA-256 (RFC 2104). @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hmac_sha256(uint8_t out[static CAIRN_SHA256_BYTES], const void *key,
						   size_t key_len, const void *bytes, size_t len);

/** Computes an MD5, for formats that use it as a checksum against accidents; no protection against attackers.
 * @return CAIRN_OK; CAIRN_E_NOMEM also if the system's policy forbids MD5 */
CAIRN_MUST_USE enum cairn_status cairn_md5(uint8_t out[static CAIRN_MD5_BYTES], const void *bytes, size_t len);

/** Computes the SHA-1 of two joined pieces for git's ids; no protection against attackers. @return as cairn_md5() */
CAIRN_MUST_USE enum cairn_status cairn_sha1(uint8_t out[static CAIRN_SHA1_BYTES], const void *head, size_t head_len,
					    const void *rest, size_t rest_len);

/** Does what cairn_sha1() does, but reads the second piece bit by bit.
 * @param read  fills out with the next len bytes. @return CAIRN_OK; CAIRN_E_NOMEM; the status of read() */
CAIRN_MUST_USE enum cairn_status cairn_sha1_read(uint8_t out[static CAIRN_SHA1_BYTES], const void *head,
						 size_t head_len,
						 enum cairn_status (*read)(void *ctx, uint8_t *out, size_t len),
						 void *ctx, uint64_t rest_len);

/** Derives a key by HKDF-SHA-256 (RFC 5869), without salt. @param info  the purpose of the key; keys for different
 * purposes are independent @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hkdf_sha256(uint8_t *out, size_t out_len, const void *secret, size_t secret_len,
						   const void *info, size_t info_len);

/** Fills out with unpredictable bytes. @return CAIRN_OK; CAIRN_E_IO the system gives none */
CAIRN_MUST_USE enum cairn_status cairn_random(uint8_t *out, size_t len);

/** Compares secrets in a time that does not depend on where they differ. */
bool cairn_secret_equal(const void *a, const void *b, size_t len);

#endif
