/* Gets temporary keys of an S3 store from a local service: that of a container (Amazon's ECS and EKS, and compatible
 * ones), or of a machine (version 2 of the instance metadata service). */
#ifndef CAIRN_STORE_S3_INSTANCE_H
#define CAIRN_STORE_S3_INSTANCE_H

#include "store/s3/credentials.h"

enum { S3_INSTANCE_URL_BYTES = 512 };

/** The address of a service that hands out access keys. Plain value. */
struct s3_instance {
	char url[S3_INSTANCE_URL_BYTES]; /* of a container's service; of a machine's without a path */
	bool is_machine;
	uint16_t port;
};

/** Returns whether a setting names a service instead of a file; false for NULL. */
bool s3_instance_is_named(const char *credentials);

/** Reads the address of a service. Without TLS the service must be on this machine, or at an address that only such
 * services can have: an eavesdropper on its answers would get full access to the store.
 * @param credentials  "instance": the machine's, at 169.254.169.254 or the environment's
 *         AWS_EC2_METADATA_SERVICE_ENDPOINT; a URL: a container's. NULL: the container's in
 *         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the environment names none; CAIRN_E_USAGE not a valid URL (store.credentials) */
CAIRN_MUST_USE enum cairn_status s3_instance_parse(struct s3_instance *out, const char *credentials,
						   struct cairn_diag *diag);

/** Asks the service for a key. A container's service gets the token in the file AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
 * or in AWS_CONTAINER_AUTHORIZATION_TOKEN. Waits at most some seconds.
 * @return CAIRN_OK; CAIRN_E_IO the service does not answer with a key (store.credentials); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status s3_instance_read(const struct s3_instance *instance, struct s3_credentials *out,
						  struct cairn_diag *diag);

#endif
