#include "store/s3/sigv4.h"

#include "hash/crypto.h"
#include "hash/hash.h"

#include <stdio.h>
#include <string.h>

enum {
	SIGV4_SECRET_BYTES_MAX = 256,
	SIGV4_CANONICAL_BYTES_MAX = 16 * 1024, /* session tokens take some thousands */
};

/* key = HMAC(key, text) */
static enum cairn_status sigv4_step(uint8_t key[static CAIRN_SHA256_BYTES], const char *text)
{
	uint8_t next[CAIRN_SHA256_BYTES];
	enum cairn_status status = cairn_hmac_sha256(next, key, sizeof(next), text, strlen(text));
	memcpy(key, next, sizeof(next));
	explicit_bzero(next, sizeof(next));
	return status;
}

enum cairn_status sigv4_key_make(struct sigv4_key *out, const char *secret, const char *region, const char *date)
{
	char first[4 + SIGV4_SECRET_BYTES_MAX + 1], day[8 + 1];
	int n = snprintf(first, sizeof(first), "AWS4%s", secret);
	if (n >= (int)sizeof(first) || strlen(region) > SIGV4_REGION_BYTES_MAX)
		return CAIRN_E_LIMIT;
	(void)snprintf(day, sizeof(day), "%.8s", date);
	(void)snprintf(out->scope, sizeof(out->scope), "%s/%s/s3/aws4_request", day, region);
	enum cairn_status status = cairn_hmac_sha256(out->bytes, first, (size_t)n, day, strlen(day));
	explicit_bzero(first, sizeof(first));
	const char *const steps[] = {region, "s3", "aws4_request"};
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == CAIRN_OK; i++)
		status = sigv4_step(out->bytes, steps[i]);
	return status;
}

/* Appends the names of the signed headers: "host;x-amz-date". */
static void sigv4_add_signed_headers(struct cairn_buf *out, const struct sigv4_request *r)
{
	for (size_t i = 0; i < r->n_headers; i++)
		cairn_buf_printf(out, "%s%s", i > 0 ? ";" : "", r->headers[i].name);
}

static void sigv4_add_canonical(struct cairn_buf *out, const struct sigv4_request *r)
{
	cairn_buf_printf(out, "%s\n%s\n%s\n", r->method, r->path, r->query);
	for (size_t i = 0; i < r->n_headers; i++)
		cairn_buf_printf(out, "%s:%s\n", r->headers[i].name, r->headers[i].value);
	cairn_buf_add(out, "\n", 1);
	sigv4_add_signed_headers(out, r);
	cairn_buf_printf(out, "\n%s", r->payload);
}

enum cairn_status sigv4_sign(char out[static SIGV4_SIGNATURE_BYTES], const struct sigv4_key *key,
			     const struct sigv4_request *r)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf canonical = cairn_buf_init(SIGV4_CANONICAL_BYTES_MAX);
	uint8_t digest[CAIRN_SHA256_BYTES];
	char digest_text[2 * CAIRN_SHA256_BYTES + 1], text[sizeof(key->scope) + 128];
	sigv4_add_canonical(&canonical, r);
	enum cairn_status status = canonical.status;
	if (status == CAIRN_OK)
		status = cairn_sha256_of(digest, canonical.bytes, canonical.len);
	if (status != CAIRN_OK)
		return status;
	cairn_hex_text(digest_text, digest, sizeof(digest));
	int n = snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", r->date, key->scope, digest_text);
	status = cairn_hmac_sha256(digest, key->bytes, sizeof(key->bytes), text, (size_t)n);
	cairn_hex_text(out, digest, sizeof(digest));
	return status;
}

enum cairn_status sigv4_add_authorization(struct cairn_buf *out, const char *id, const struct sigv4_key *key,
					  const struct sigv4_request *r)
{
	char signature[SIGV4_SIGNATURE_BYTES];
	enum cairn_status status = sigv4_sign(signature, key, r);
	if (status != CAIRN_OK)
		return status;
	cairn_buf_printf(out, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=", id, key->scope);
	sigv4_add_signed_headers(out, r);
	cairn_buf_printf(out, ",Signature=%s", signature);
	return out->status;
}
