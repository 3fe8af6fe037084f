/* A copy of a whole index as it was at one moment, made beside a daemon that may be running: for backups. */
#ifndef CAIRN_INDEX_COPY_H
#define CAIRN_INDEX_COPY_H

#include "hash/hash.h"

/**
 * Copy DIR's index to a new file, which is whole and by itself (no log beside it), not fsynced. While it is copied the
 * daemon goes on writing, but its log grows.
 * @param path  replaced when it is there
 * @return CAIRN_OK; CAIRN_E_CONFLICT not an index of Cairn; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_copy(const char *dir, const char *path, struct cairn_diag *diag);

/**
 * Visit all xorbs whose bytes are stored, in the order in which they came, in a copy.
 * @param stored_bytes  length of the object
 * @return CAIRN_OK; CAIRN_E_CONFLICT not an index of Cairn; CAIRN_E_IO; CAIRN_E_NOMEM; what visit answered
 */
CAIRN_MUST_USE enum cairn_status cairn_index_copy_each(
	const char *path, enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb, uint64_t stored_bytes),
	void *ctx, struct cairn_diag *diag);

#endif
