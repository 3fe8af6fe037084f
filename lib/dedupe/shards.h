/* Makes the shards that register the files and xorbs of a placer. */
#ifndef CAIRN_DEDUPE_SHARDS_H
#define CAIRN_DEDUPE_SHARDS_H

#include "dedupe/placer.h"

enum {
	CAIRN_SHARDS_BYTES_MAX = 64 * 1024 * 1024, /* the server's default limit of one shard */
};

/**
 * Writes shards and passes each to emit(). Every distinct file and every xorb of the push is in one of them. A file and
 * its xorbs may be in different shards, so all xorbs must have been stored before.
 * @param bytes_max  limit of one shard; xorbs get at most three quarters, so that files find room
 * @return CAIRN_OK; CAIRN_E_LIMIT a file has too many terms, or a xorb too many chunks, for a shard; CAIRN_E_NOMEM; the
 *         status of emit() */
CAIRN_MUST_USE enum cairn_status cairn_shards_write(const struct cairn_placer *p, size_t bytes_max,
						    enum cairn_status (*emit)(void *ctx, const uint8_t *bytes,
									      size_t len, struct cairn_diag *diag),
						    void *ctx, struct cairn_diag *diag);

#endif
