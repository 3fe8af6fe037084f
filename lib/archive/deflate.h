/* Decompresses whole zlib streams; nothing here writes them. The only file that includes zlib. */
#ifndef CAIRN_ARCHIVE_DEFLATE_H
#define CAIRN_ARCHIVE_DEFLATE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Decompresses one whole zlib stream (RFC 1950) with exactly n_out bytes of content. Any thread.
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  damaged, of another length, or followed by more bytes; diag has the reason, but no offset
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_deflate_unpack(uint8_t *out, size_t n_out, const uint8_t *bytes, size_t len,
						      struct cairn_diag *diag);

#endif
