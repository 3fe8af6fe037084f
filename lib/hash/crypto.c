/* The only file that includes OpenSSL, besides the token verifier. */
#include "hash/crypto.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>

struct cairn_sha256 {
	EVP_MD_CTX *ctx;
};

static EVP_MD *crypto_sha256, *crypto_sha1;

static void crypto_fetch(void)
{
	crypto_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	crypto_sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
}

/* Fetches algorithms once: EVP_sha256() searches at each use, which takes longer than hashing a short text. */
static void crypto_fetch_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, crypto_fetch);
}

static const EVP_MD *crypto_md(void)
{
	crypto_fetch_once();
	return crypto_sha256 ? crypto_sha256 : EVP_sha256();
}

struct cairn_sha256 *cairn_sha256_new(void)
{
	struct cairn_sha256 *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx || EVP_DigestInit_ex(d->ctx, crypto_md(), NULL) != 1) {
		cairn_sha256_free(d);
		return NULL;
	}
	return d;
}

void cairn_sha256_add(struct cairn_sha256 *d, const void *bytes, size_t len)
{
	int ok = EVP_DigestUpdate(d->ctx, bytes, len);
	assert(ok == 1); /* fails only on a finished digest: a bug of ours */
	(void)ok;
}

void cairn_sha256_end(struct cairn_sha256 *d, uint8_t out[static CAIRN_SHA256_BYTES])
{
	int ok = EVP_DigestFinal_ex(d->ctx, out, NULL);
	assert(ok == 1);
	(void)ok;
}

void cairn_sha256_free(struct cairn_sha256 *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

void cairn_sha256_freep(struct cairn_sha256 **d)
{
	cairn_sha256_free(*d);
	*d = NULL;
}

enum cairn_status cairn_sha256_of(uint8_t out[static CAIRN_SHA256_BYTES], const void *bytes, size_t len)
{
	return EVP_Digest(bytes, len, out, NULL, crypto_md(), NULL) == 1 ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_hmac_sha256(uint8_t out[static CAIRN_SHA256_BYTES], const void *key, size_t key_len,
				    const void *bytes, size_t len)
{
	return HMAC(crypto_md(), key, (int)key_len, bytes, len, out, NULL) ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_md5(uint8_t out[static CAIRN_MD5_BYTES], const void *bytes, size_t len)
{
	return EVP_Digest(bytes, len, out, NULL, EVP_md5(), NULL) == 1 ? CAIRN_OK : CAIRN_E_NOMEM;
}

static void crypto_ctx_freep(EVP_MD_CTX **ctx)
{
	EVP_MD_CTX_free(*ctx);
}

enum cairn_status cairn_sha1(uint8_t out[static CAIRN_SHA1_BYTES], const void *head, size_t head_len, const void *rest,
			     size_t rest_len)
{
	crypto_fetch_once();
	CLEANUP(crypto_ctx_freep) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = ctx && EVP_DigestInit_ex(ctx, crypto_sha1 ? crypto_sha1 : EVP_sha1(), NULL) == 1 &&
		  EVP_DigestUpdate(ctx, head, head_len) == 1 && EVP_DigestUpdate(ctx, rest, rest_len) == 1 &&
		  EVP_DigestFinal_ex(ctx, out, NULL) == 1;
	return ok ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_sha1_read(uint8_t out[static CAIRN_SHA1_BYTES], const void *head, size_t head_len,
				  enum cairn_status (*read)(void *ctx, uint8_t *out, size_t len), void *ctx,
				  uint64_t rest_len)
{
	uint8_t block[65536];
	enum cairn_status status = CAIRN_OK;
	crypto_fetch_once();
	CLEANUP(crypto_ctx_freep) EVP_MD_CTX *digest = EVP_MD_CTX_new();
	bool ok = digest && EVP_DigestInit_ex(digest, crypto_sha1 ? crypto_sha1 : EVP_sha1(), NULL) == 1 &&
		  EVP_DigestUpdate(digest, head, head_len) == 1;
	while (ok && rest_len > 0) {
		size_t n = rest_len < sizeof(block) ? (size_t)rest_len : sizeof(block);
		status = (*read)(ctx, block, n);
		if (status != CAIRN_OK)
			return status;
		ok = EVP_DigestUpdate(digest, block, n) == 1;
		rest_len -= n;
	}
	return ok && EVP_DigestFinal_ex(digest, out, NULL) == 1 ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_hkdf_sha256(uint8_t *out, size_t out_len, const void *secret, size_t secret_len,
				    const void *info, size_t info_len)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret, secret_len),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, info_len),
		OSSL_PARAM_construct_end(),
	};
	int ok = ctx ? EVP_KDF_derive(ctx, out, out_len, params) : 0;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return ok == 1 ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_random(uint8_t *out, size_t len)
{
	return RAND_bytes(out, (int)len) == 1 ? CAIRN_OK : CAIRN_E_IO;
}

bool cairn_secret_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}
