/* Parses the URL of an S3 store. */
#ifndef CAIRN_STORE_S3_PLACE_H
#define CAIRN_STORE_S3_PLACE_H

#include "base/status.h"

enum { S3_PLACE_TEXT_BYTES = 256 };

/** "s3://BUCKET/PREFIX?endpoint=URL&region=NAME&ca=FILE" in its parts. Plain value. */
struct s3_place {
	char bucket[64];
	char prefix[S3_PLACE_TEXT_BYTES];   /* "" or ends in "/" */
	char endpoint[S3_PLACE_TEXT_BYTES]; /* "https://host:port", without a path */
	char host[S3_PLACE_TEXT_BYTES];     /* as the header Host has it: "host", or "host:port" */
	char region[64];
	char ca[S3_PLACE_TEXT_BYTES]; /* file of the authorities for the server's certificate; "": the system's */
	uint16_t port;
};

/** Parses a URL. Nothing in it needs escaping: the bucket has lower case letters, digits, "-" and ".", the prefix
 * letters, digits and "-_./". The region defaults to us-east-1, and the endpoint to that of AWS for the region. http
 * is only for an endpoint on this machine, because nothing but TLS protects what is sent. ca is an absolute path of
 * letters, digits and "-_./".
 * @param rest  the URL after "s3:"
 * @return CAIRN_OK; CAIRN_E_USAGE (store.url, store.insecure) */
CAIRN_MUST_USE enum cairn_status s3_place_parse(struct s3_place *out, const char *rest, struct cairn_diag *diag);

#endif
