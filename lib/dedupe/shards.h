/* The shards that register what a placer has placed. */
#ifndef CAIRN_DEDUPE_SHARDS_H
#define CAIRN_DEDUPE_SHARDS_H

#include "dedupe/placer.h"

enum {
	CAIRN_SHARDS_BYTES_MAX = 64 * 1024 * 1024, /* the server's default limit of one shard */
};

/**
 * Write shards and hand each to emit: every file once (files of the same content once), every xorb of the push once. A
 * file's xorbs may be described in another shard than the file, so all xorbs must have been stored before.
 * @param bytes_max  of one shard; at most three quarters of it go to xorbs, so that files find room
 * @return CAIRN_OK; CAIRN_E_LIMIT a file has too many terms, or a xorb too many chunks, for a shard; CAIRN_E_NOMEM;
 *         what emit answers
 */
CAIRN_MUST_USE enum cairn_status cairn_shards_write(const struct cairn_placer *p, size_t bytes_max,
						    enum cairn_status (*emit)(void *ctx, const uint8_t *bytes,
									      size_t len, struct cairn_diag *diag),
						    void *ctx, struct cairn_diag *diag);

#endif
