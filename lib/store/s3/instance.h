/* Keys of an S3 store that a service beside this machine hands out, for a while each: that of a container (Amazon's ECS
 * and EKS, and whatever speaks as they do), or that of a machine (version 2 of the instance metadata service). */
#ifndef CAIRN_STORE_S3_INSTANCE_H
#define CAIRN_STORE_S3_INSTANCE_H

#include "store/s3/credentials.h"

enum { S3_INSTANCE_URL_BYTES = 512 };

/** Where they are had. Plain value. */
struct s3_instance {
	char url[S3_INSTANCE_URL_BYTES]; /* of a container's; of a machine's without a path */
	bool is_machine;
	uint16_t port;
};

/** Does this setting name a service, and not a file? NULL does not. */
bool s3_instance_is_named(const char *credentials);

/**
 * Which service is it? Without TLS it must be on this machine, or at an address that such services have and no other
 * machine can: whoever could read what it sends could be the store's owner.
 * @param credentials  "instance": the machine's, at 169.254.169.254 or what the environment's
 *                     AWS_EC2_METADATA_SERVICE_ENDPOINT says; a URL: a container's. NULL: the container's that
 *                     AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI names
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the environment names none; CAIRN_E_USAGE it is no such URL (store.credentials)
 */
CAIRN_MUST_USE enum cairn_status s3_instance_parse(struct s3_instance *out, const char *credentials,
						   struct cairn_diag *diag);

/**
 * Ask it. A container's is shown what is in the file AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, or in
 * AWS_CONTAINER_AUTHORIZATION_TOKEN. Waits for some seconds at most.
 * @return CAIRN_OK; CAIRN_E_IO it does not answer, or not with a key (store.credentials); CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status s3_instance_read(const struct s3_instance *instance, struct s3_credentials *out,
						  struct cairn_diag *diag);

#endif
