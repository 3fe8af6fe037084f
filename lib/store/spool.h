/* A file without a name for a body on its way in: nothing of the size of a body is kept in memory, and nothing is left
 * behind when the process or the client dies. */
#ifndef CAIRN_STORE_SPOOL_H
#define CAIRN_STORE_SPOOL_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Owned by one thread at a time. */
struct cairn_spool;

/**
 * @param dir  folder on the file system that takes the bytes
 * @param bytes_max  more is refused
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_spool_new(struct cairn_spool **out, const char *dir, uint64_t bytes_max);

/** @return CAIRN_OK; CAIRN_E_LIMIT past bytes_max; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_spool_write(struct cairn_spool *s, const uint8_t *bytes, size_t len);

uint64_t cairn_spool_bytes(const struct cairn_spool *s);

/**
 * Map what was written, read-only and file-backed, until the spool is freed. No write may follow.
 * @param[out] bytes  never NULL, also when empty
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_spool_map(struct cairn_spool *s, const uint8_t **bytes, size_t *len);

/** Take the descriptor out, to send the bytes from; the caller closes it. Nothing but cairn_spool_free() may follow. */
int cairn_spool_take_fd(struct cairn_spool *s);

void cairn_spool_free(struct cairn_spool *s);
void cairn_spool_freep(struct cairn_spool **s);

#endif
