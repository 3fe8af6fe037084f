/* AWS Signature Version 4, by which S3 services authenticate clients. Uses only the bytes of a request: no clock, no
 * network. Terms are those of the specification. */
#ifndef CAIRN_STORE_S3_SIGV4_H
#define CAIRN_STORE_S3_SIGV4_H

#include "base/buf.h"
#include "hash/hash.h"

enum {
	SIGV4_SIGNATURE_BYTES = 64 + 1,
	SIGV4_REGION_BYTES_MAX = 64,
};

/** The signing key of one day and region. Plain value; secret. */
struct sigv4_key {
	uint8_t bytes[CAIRN_SHA256_BYTES];
	char scope[8 + SIGV4_REGION_BYTES_MAX + 24]; /* "20130524/us-east-1/s3/aws4_request" */
};

struct sigv4_header {
	const char *name; /* lower case */
	const char *value;
};

/** The parts of a request that are signed. All borrowed. */
struct sigv4_request {
	const char *method;
	const char *path;                   /* escaped, as sent */
	const char *query;                  /* escaped and sorted, as sent; "" for none */
	const struct sigv4_header *headers; /* sorted by name; "host" is among them */
	size_t n_headers;
	const char *payload; /* SHA-256 of the body in hexadecimal, or its substitute */
	const char *date;    /* as cairn_time_basic() writes it */
};

/** Makes the signing key. @param date  the key's day. @return CAIRN_OK; CAIRN_E_LIMIT the secret or the region is too
 * long; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status sigv4_key_make(struct sigv4_key *out, const char *secret, const char *region,
						const char *date);

/** @return CAIRN_OK; CAIRN_E_LIMIT the request is too long; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status sigv4_sign(char out[static SIGV4_SIGNATURE_BYTES], const struct sigv4_key *key,
					    const struct sigv4_request *r);

/** Appends the value of the header Authorization. @param id  of the access key. @return as sigv4_sign() */
CAIRN_MUST_USE enum cairn_status sigv4_add_authorization(struct cairn_buf *out, const char *id,
							 const struct sigv4_key *key, const struct sigv4_request *r);

#endif
