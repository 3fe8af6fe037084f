/* The RLE filter undone: runs of cells of one length, or of texts together with where they start. */
#ifndef CAIRN_ARCHIVE_TILEDB_RLE_H
#define CAIRN_ARCHIVE_TILEDB_RLE_H

#include "archive/tiledb/format.h"
#include "base/buf.h"

/** Runs of cells, that give n_out bytes. @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rle_cells(uint8_t *out, size_t n_out, struct cairn_tiledb_view in,
							size_t cell_bytes, struct cairn_diag *diag);

/**
 * Runs of texts: one chunk.
 * @param out     the texts, one behind the other; replaced
 * @param starts  where each starts, 8 bytes; appended to
 * @param before  bytes of texts before this chunk
 * @param notes   the filter's metadata
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT out or starts is full; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rle_texts(struct cairn_buf *out, struct cairn_buf *starts,
							uint64_t before, struct cairn_tiledb_view notes,
							struct cairn_tiledb_view in, struct cairn_diag *diag);

#endif
