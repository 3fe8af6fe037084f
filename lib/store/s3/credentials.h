/* Reads the access key of an S3 store from a file, the environment, or a service that issues keys. */
#ifndef CAIRN_STORE_S3_CREDENTIALS_H
#define CAIRN_STORE_S3_CREDENTIALS_H

#include "base/status.h"

#include <stdint.h>

enum {
	S3_KEY_TEXT_BYTES = 256,
	S3_TOKEN_TEXT_BYTES = 4096,
	S3_CREDENTIALS_FILE_BYTES_MAX = 16 * 1024,
};

/** Plain value; secret. */
struct s3_credentials {
	char id[S3_KEY_TEXT_BYTES];
	char secret[S3_KEY_TEXT_BYTES];
	char token[S3_TOKEN_TEXT_BYTES]; /* of a session; empty: not needed */
	int64_t ends_unix_s;             /* 0: unknown */
};

/** Reads the credentials. A file has a line "aws_access_key_id = ...", one "aws_secret_access_key = ..." and perhaps
 * one "aws_session_token = ...", as AWS's own tools write them; only the first section counts. Without a file, the
 * environment has AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and perhaps AWS_SESSION_TOKEN, or names a container's
 * service (instance.h).
 * @param from  a file, or a service as s3_instance_is_named(); NULL: the file in the environment's
 *         AWS_SHARED_CREDENTIALS_FILE, or the environment itself
 * @return CAIRN_OK; CAIRN_E_USAGE the pair is incomplete, a value is too long or has characters that no key has, or
 *         the service must not be asked (store.credentials); CAIRN_E_IO the file cannot be read, or the service does
 *         not answer with a key (store.credentials); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status s3_credentials_read(struct s3_credentials *out, const char *from,
						     struct cairn_diag *diag);

#endif
