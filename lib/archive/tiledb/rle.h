/* Undoes the RLE filter: runs of cells of one length, or of texts with their starts. */
#ifndef CAIRN_ARCHIVE_TILEDB_RLE_H
#define CAIRN_ARCHIVE_TILEDB_RLE_H

#include "archive/tiledb/format.h"
#include "base/buf.h"

/** Unpacks runs of cells to n_out bytes. @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rle_cells(uint8_t *out, size_t n_out, struct cairn_tiledb_view in,
							size_t cell_bytes, struct cairn_diag *diag);

/** Unpacks one chunk with runs of texts.
 * @param out     the texts, one after the other; replaced
 * @param starts  start of each text, 8 bytes; appended
 * @param before  bytes of texts in earlier chunks
 * @param notes   metadata of the filter
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT out or starts is full; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rle_texts(struct cairn_buf *out, struct cairn_buf *starts,
							uint64_t before, struct cairn_tiledb_view notes,
							struct cairn_tiledb_view in, struct cairn_diag *diag);

#endif
