/* zstd, a whole frame at a time. The only part that knows zstd. */
#ifndef CAIRN_ARCHIVE_ZSTD_H
#define CAIRN_ARCHIVE_ZSTD_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_ZSTD_LEVEL_MIN = 1, CAIRN_ZSTD_LEVEL_MAX = 19 }; /* higher ones take gigabytes to read */

/** Working memory of both directions, kept from frame to frame. Opaque; owned by one thread at a time. */
struct cairn_zstd;

/** @return NULL without memory */
struct cairn_zstd *cairn_zstd_new(void);
void cairn_zstd_free(struct cairn_zstd *z);
void cairn_zstd_freep(struct cairn_zstd **z);

/** The most bytes that a frame of len bytes of content can take. */
size_t cairn_zstd_bound(size_t len);

/**
 * Compress into one frame that states the length of its content.
 * @param cap    bytes at out; with cairn_zstd_bound(len) it always fits
 * @param level  CAIRN_ZSTD_LEVEL_MIN .. CAIRN_ZSTD_LEVEL_MAX
 * @return CAIRN_OK; CAIRN_E_LIMIT does not fit into cap; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_zstd_compress(struct cairn_zstd *z, uint8_t *out, size_t cap, size_t *n_out,
						     const uint8_t *bytes, size_t len, int level);

/**
 * Decompress what must be one whole frame with exactly n_out bytes of content. Nothing is allocated by what the frame
 * says of itself. Of a refused frame, out may hold a part.
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  not a frame, not the only one, damaged, or of another length; the reason is in diag, without
 *                         an offset: the caller knows where the frame lies
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_zstd_decompress(struct cairn_zstd *z, uint8_t *out, size_t n_out,
						       const uint8_t *bytes, size_t len, struct cairn_diag *diag);

#endif
