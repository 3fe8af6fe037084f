#include "base/base64.h"
#include "base/json.h"
#include "token/token_claims.h"
#include "token/token_jwt.h"
#include "token/token_keys.h"

#include <stdlib.h>
#include <string.h>

enum {
	TOKEN_BYTES_MAX = 8 * 1024,
	TOKEN_HEADER_BYTES_MAX = 1024,
	TOKEN_SIGNATURE_BYTES_MAX = 1024, /* RSA of 8,192 bits */
};

static const char TOKEN_EDDSA_HEADER[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";

/* The three parts of a token, as text. */
struct token_parts {
	const char *header, *payload, *signature;
	size_t header_len, payload_len, signature_len;
	size_t signed_len; /* length of header, dot and payload */
};

static enum cairn_status token_refuse(struct cairn_diag *diag, const char *rule, const char *text)
{
	return cairn_fail(diag, CAIRN_E_DENIED, rule, CAIRN_NO_OFFSET, "%s; get a new token", text);
}

static bool token_split(struct token_parts *out, const char *token)
{
	size_t len = strnlen(token, TOKEN_BYTES_MAX + 1);
	const char *dot = len > TOKEN_BYTES_MAX ? NULL : strchr(token, '.');
	const char *second = dot ? strchr(dot + 1, '.') : NULL;
	if (!second || strchr(second + 1, '.'))
		return false;
	*out = (struct token_parts){.header = token, .payload = dot + 1, .signature = second + 1};
	out->header_len = (size_t)(dot - token);
	out->payload_len = (size_t)(second - dot - 1);
	out->signature_len = len - (size_t)(second + 1 - token);
	out->signed_len = (size_t)(second - token);
	return out->signature_len > 0;
}

/* @return the algorithm that the header names; NULL: the header is malformed */
static const char *token_header_alg(const struct token_parts *parts, struct cairn_json **header)
{
	uint8_t json[TOKEN_HEADER_BYTES_MAX];
	size_t len = 0;
	if (cairn_base64url_decode(json, sizeof(json), &len, parts->header, parts->header_len) != CAIRN_OK ||
	    cairn_json_parse(header, (const char *)json, len) != CAIRN_OK)
		return NULL;
	/* "crit" lists extensions that a reader must know; this one knows none (RFC 7515, 4.1.11). */
	if (cairn_json_get(*header, "crit"))
		return NULL;
	return cairn_json_text_of(*header, "alg");
}

static enum cairn_status token_check_signature(const struct cairn_token_key *key, const char *token,
					       const struct token_parts *parts)
{
	uint8_t signature[TOKEN_SIGNATURE_BYTES_MAX];
	size_t len = 0;
	if (cairn_base64url_decode(signature, sizeof(signature), &len, parts->signature, parts->signature_len) !=
	    CAIRN_OK)
		return CAIRN_E_DENIED;
	if (key->alg == CAIRN_TOKEN_EDDSA)
		return cairn_token_pem_verify(key->pem, token, parts->signed_len, signature, len);
	if (key->alg == CAIRN_TOKEN_HS256)
		return cairn_token_jwt_verify(key->alg, key->secret, key->secret_len, token);
	const char *pem = cairn_token_pem_public(key->pem);
	return cairn_token_jwt_verify(key->alg, (const uint8_t *)pem, strlen(pem), token);
}

/* Returns CAIRN_OK if one of the keys signed the token, with the key's own algorithm. */
static enum cairn_status token_find_key(const struct cairn_token_keys *keys, const char *alg, const char *token,
					const struct token_parts *parts, struct cairn_diag *diag)
{
	for (size_t i = 0; i < keys->n; i++) {
		const struct cairn_token_key *key = &keys->key[i];
		if (strcmp(cairn_token_alg_name(key->alg), alg) != 0)
			continue;
		enum cairn_status status = token_check_signature(key, token, parts);
		if (status != CAIRN_E_DENIED)
			return status;
	}
	return token_refuse(diag, "token.signature", "the token is not signed by a key of this server");
}

enum cairn_status cairn_token_verify(const struct cairn_token_keys *keys, const struct cairn_token_binding *binding,
				     const char *token, int64_t now_unix_s, struct cairn_token_claims *out,
				     struct cairn_diag *diag)
{
	struct token_parts parts;
	CLEANUP(cairn_json_freep) struct cairn_json *header = NULL;
	uint8_t json[TOKEN_BYTES_MAX];
	size_t len = 0;
	memset(out, 0, sizeof(*out));
	if (!token_split(&parts, token))
		return token_refuse(diag, "token.malformed", "the token is not of the form header.claims.signature");
	const char *alg = token_header_alg(&parts, &header);
	if (!alg)
		return token_refuse(diag, "token.malformed", "the token's header names no algorithm");
	enum cairn_status status = token_find_key(keys, alg, token, &parts, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_base64url_decode(json, sizeof(json), &len, parts.payload, parts.payload_len) != CAIRN_OK)
		return token_refuse(diag, "token.malformed", "the token's claims are not base64url");
	return cairn_token_claims_read(out, binding, (const char *)json, len, now_unix_s, diag);
}

static bool token_can_sign(const struct cairn_token_key *key)
{
	return !key->pem || cairn_token_pem_is_private(key->pem);
}

static void token_add_base64(struct cairn_buf *buf, const void *bytes, size_t len)
{
	char *at = (char *)cairn_buf_extend(buf, CAIRN_BASE64URL_CHARS(len) + 1);
	if (!at)
		return;
	cairn_base64url_encode(at, bytes, len);
	buf->len--; /* the terminating zero */
}

static enum cairn_status token_sign_eddsa(const struct cairn_token_key *key, const char *claims, char **token)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf buf = cairn_buf_init(TOKEN_BYTES_MAX);
	uint8_t signature[CAIRN_TOKEN_ED25519_SIGNATURE_BYTES];
	token_add_base64(&buf, TOKEN_EDDSA_HEADER, strlen(TOKEN_EDDSA_HEADER));
	cairn_buf_add(&buf, ".", 1);
	token_add_base64(&buf, claims, strlen(claims));
	if (buf.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_token_pem_sign(key->pem, buf.bytes, buf.len, signature);
	cairn_buf_add(&buf, ".", 1);
	token_add_base64(&buf, signature, sizeof(signature));
	if (status == CAIRN_OK && buf.status == CAIRN_OK)
		*token = strndup((const char *)buf.bytes, buf.len);
	return *token ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status cairn_token_mint(const struct cairn_token_keys *keys, const struct cairn_token_binding *binding,
				   const struct cairn_token_claims *claims, int64_t now_unix_s, char **token,
				   struct cairn_diag *diag)
{
	const struct cairn_token_key *key = NULL;
	CLEANUP(cairn_buf_fini) struct cairn_buf json = cairn_buf_init(TOKEN_BYTES_MAX / 2);
	*token = NULL;
	for (size_t i = 0; i < keys->n && !key; i++)
		key = token_can_sign(&keys->key[i]) ? &keys->key[i] : NULL;
	if (!key)
		return cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
				  "a public key cannot sign; give the private key");
	enum cairn_status status = cairn_token_claims_write(&json, binding, claims, now_unix_s, diag);
	if (status != CAIRN_OK)
		return status;
	const char *text = (const char *)json.bytes;
	if (key->alg == CAIRN_TOKEN_EDDSA)
		return token_sign_eddsa(key, text, token);
	if (key->alg == CAIRN_TOKEN_HS256)
		return cairn_token_jwt_sign(key->alg, key->secret, key->secret_len, text, token);
	const char *pem = cairn_token_pem_private(key->pem);
	return cairn_token_jwt_sign(key->alg, (const uint8_t *)pem, strlen(pem), text, token);
}
