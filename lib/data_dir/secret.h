/* The server's secret: a file of random bytes, from which all keys are derived. */
#ifndef CAIRN_DATA_DIR_SECRET_H
#define CAIRN_DATA_DIR_SECRET_H

#include "hash/hash.h"

enum {
	CAIRN_SECRET_BYTES_MIN = 32,
	CAIRN_SECRET_BYTES_MAX = 4096,
};

struct cairn_secret {
	uint8_t bytes[CAIRN_SECRET_BYTES_MAX];
	size_t len;
};

/** Reads the secret, or creates one of 32 random bytes (mode 0600, durable) if make is set and none exists.
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  shorter than CAIRN_SECRET_BYTES_MIN, longer than the maximum, or accessible to group or
 *         others
 *         CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_secret_load(struct cairn_secret *out, const char *path, bool make,
						   struct cairn_diag *diag);

/** Writes a secret if none exists (mode 0600, durable). @return CAIRN_OK, also if one exists, which stays;
 * CAIRN_E_USAGE the path is too long; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_secret_keep(const struct cairn_secret *secret, const char *path,
						   struct cairn_diag *diag);

#endif
