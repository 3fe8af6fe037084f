/* The server's secret, and the keys that come from it. */
#ifndef CAIRN_CAS_SECRET_H
#define CAIRN_CAS_SECRET_H

#include "hash/hash.h"

enum {
	CAIRN_SECRET_BYTES_MIN = 32,
	CAIRN_SECRET_BYTES_MAX = 4096,
};

struct cairn_secret {
	uint8_t bytes[CAIRN_SECRET_BYTES_MAX];
	size_t len;
};

/**
 * Read the secret, or make one of 32 random bytes (mode 0600, durable) when make is set and there is none.
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  shorter than CAIRN_SECRET_BYTES_MIN, longer than the maximum, or open to group or others
 *         CAIRN_E_IO
 */
CAIRN_MUST_USE enum cairn_status cairn_secret_load(struct cairn_secret *out, const char *path, bool make,
						   struct cairn_diag *diag);

/** The key of a dedupe scope in an epoch (HKDF): two scopes cannot compare their answers, nor can two epochs. Never
 * zero.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_secret_dedupe_key(const struct cairn_secret *secret, const char *scope,
							 uint64_t epoch, struct cairn_hash *out);

#endif
