/* Compresses and decompresses whole zstd frames. The only file that includes zstd. */
#ifndef CAIRN_ARCHIVE_ZSTD_H
#define CAIRN_ARCHIVE_ZSTD_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_ZSTD_LEVEL_MIN = 1, CAIRN_ZSTD_LEVEL_MAX = 19 }; /* reading frames of higher levels takes gigabytes */

/** Working memory of both directions, reused from frame to frame. For one thread at a time. */
struct cairn_zstd;

/** Makes working memory. @return NULL without memory */
struct cairn_zstd *cairn_zstd_new(void);
void cairn_zstd_free(struct cairn_zstd *z);
void cairn_zstd_freep(struct cairn_zstd **z);

/** Returns the maximum length of a frame with len bytes of content. */
size_t cairn_zstd_bound(size_t len);

/** Compresses into one frame that states the length of its content.
 * @param cap    bytes at out; cairn_zstd_bound(len) is always enough
 * @param level  CAIRN_ZSTD_LEVEL_MIN .. CAIRN_ZSTD_LEVEL_MAX
 * @return CAIRN_OK; CAIRN_E_LIMIT does not fit into cap; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_zstd_compress(struct cairn_zstd *z, uint8_t *out, size_t cap, size_t *n_out,
						     const uint8_t *bytes, size_t len, int level);

/** Decompresses one whole frame with exactly n_out bytes of content. Never allocates memory by a length that the frame
 * states. After a failure, out may have a part of the content.
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  not a frame, not the only one, damaged, or of another length; diag has the reason, but no
 *                         offset, which the caller knows
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_zstd_decompress(struct cairn_zstd *z, uint8_t *out, size_t n_out,
						       const uint8_t *bytes, size_t len, struct cairn_diag *diag);

#endif
