#include "token/token_pem.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_PEM_RSA_BITS_MIN = 2048 };

struct cairn_token_pem {
	EVP_PKEY *key;
	enum cairn_token_alg alg;
	char *public_pem;
	char *private_pem; /* NULL: not private */
};

static void token_pem_freep(struct cairn_token_pem **pem)
{
	cairn_token_pem_free(*pem);
	*pem = NULL;
}

/* Gives OpenSSL no passphrase; otherwise it would ask for that of an encrypted key on the terminal. */
static int token_pem_no_passphrase(char *out, int size, int writing, void *ctx)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

static EVP_PKEY *token_pem_read(const char *text, size_t len, bool private)
{
	BIO *bio = BIO_new_mem_buf(text, (int)len);
	if (!bio)
		return NULL;
	EVP_PKEY *key = private ? PEM_read_bio_PrivateKey(bio, NULL, token_pem_no_passphrase, NULL)
				: PEM_read_bio_PUBKEY(bio, NULL, token_pem_no_passphrase, NULL);
	BIO_free(bio);
	return key;
}

static char *token_pem_write(EVP_PKEY *key, bool private)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	const char *bytes = NULL;
	int ok = !bio      ? 0
		 : private ? PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL)
			   : PEM_write_bio_PUBKEY(bio, key);
	if (ok == 1) {
		long n = BIO_get_mem_data(bio, &bytes);
		text = n > 0 ? strndup(bytes, (size_t)n) : NULL;
	}
	BIO_free(bio);
	return text;
}

static bool token_pem_alg(EVP_PKEY *key, enum cairn_token_alg *alg)
{
	char group[32] = "";
	if (EVP_PKEY_is_a(key, "ED25519")) {
		*alg = CAIRN_TOKEN_EDDSA;
		return true;
	}
	if (EVP_PKEY_is_a(key, "RSA")) {
		*alg = CAIRN_TOKEN_RS256;
		return EVP_PKEY_get_bits(key) >= TOKEN_PEM_RSA_BITS_MIN;
	}
	*alg = CAIRN_TOKEN_ES256;
	return EVP_PKEY_is_a(key, "EC") &&
	       EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group), NULL) == 1 &&
	       strcmp(group, "prime256v1") == 0;
}

enum cairn_status cairn_token_pem_parse(struct cairn_token_pem **out, const char *text, size_t len,
					struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(token_pem_freep) struct cairn_token_pem *pem = calloc(1, sizeof(*pem));
	if (!pem)
		return CAIRN_E_NOMEM;
	pem->key = token_pem_read(text, len, true);
	bool private = pem->key != NULL;
	if (!private)
		pem->key = token_pem_read(text, len, false);
	if (!pem->key)
		return cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
				  "not a PEM key that can be read; give a PKCS#8 private key without a passphrase or a "
				  "public key");
	if (!token_pem_alg(pem->key, &pem->alg))
		return cairn_fail(
			diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
			"the key is of a kind that is not supported; give RSA of 2048 bits or more, EC on P-256 "
			"(prime256v1) or Ed25519");
	pem->public_pem = token_pem_write(pem->key, false);
	pem->private_pem = private ? token_pem_write(pem->key, true) : NULL;
	if (!pem->public_pem || (private && !pem->private_pem))
		return CAIRN_E_NOMEM;
	*out = pem;
	pem = NULL;
	return CAIRN_OK;
}

void cairn_token_pem_free(struct cairn_token_pem *pem)
{
	if (!pem)
		return;
	EVP_PKEY_free(pem->key);
	free(pem->public_pem);
	if (pem->private_pem)
		OPENSSL_cleanse(pem->private_pem, strlen(pem->private_pem));
	free(pem->private_pem);
	free(pem);
}

enum cairn_token_alg cairn_token_pem_alg(const struct cairn_token_pem *pem)
{
	return pem->alg;
}

bool cairn_token_pem_is_private(const struct cairn_token_pem *pem)
{
	return pem->private_pem != NULL;
}

const char *cairn_token_pem_public(const struct cairn_token_pem *pem)
{
	return pem->public_pem;
}

const char *cairn_token_pem_private(const struct cairn_token_pem *pem)
{
	return pem->private_pem;
}

enum cairn_status cairn_token_pem_verify(const struct cairn_token_pem *pem, const void *message, size_t len,
					 const uint8_t *signature, size_t signature_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ok = ctx ? EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pem->key) : 0;
	if (ok == 1)
		ok = EVP_DigestVerify(ctx, signature, signature_len, message, len);
	EVP_MD_CTX_free(ctx);
	return ok == 1 ? CAIRN_OK : CAIRN_E_DENIED;
}

enum cairn_status cairn_token_pem_sign(const struct cairn_token_pem *pem, const void *message, size_t len,
				       uint8_t signature[static CAIRN_TOKEN_ED25519_SIGNATURE_BYTES])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t signature_len = CAIRN_TOKEN_ED25519_SIGNATURE_BYTES;
	int ok = ctx ? EVP_DigestSignInit(ctx, NULL, NULL, NULL, pem->key) : 0;
	if (ok == 1)
		ok = EVP_DigestSign(ctx, signature, &signature_len, message, len);
	EVP_MD_CTX_free(ctx);
	return ok == 1 && signature_len == CAIRN_TOKEN_ED25519_SIGNATURE_BYTES ? CAIRN_OK : CAIRN_E_NOMEM;
}
