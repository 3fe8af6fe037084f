/* Walks over the chunks of a serialized xorb in memory. */
#ifndef CAIRN_XORB_READER_H
#define CAIRN_XORB_READER_H

#include "base/cursor.h"
#include "xorb/format.h"

#include <stdbool.h>

struct cairn_xorb_chunk {
	struct cairn_xorb_chunk_header header;
	uint64_t at;         /* offset of the header */
	const uint8_t *data; /* header.compressed_bytes bytes, borrowed from the xorb */
};

/** Borrows the bytes of the xorb. Owned by one thread at a time; no clean-up needed. */
struct cairn_xorb_reader {
	struct cairn_cur cur;
	const uint8_t *footer; /* set at the end: the start of the footer; NULL: no footer */
	size_t footer_bytes;
};

/** Starts before the first chunk. The bytes may be part of a xorb that begins and ends between chunks. */
void cairn_xorb_reader_init(struct cairn_xorb_reader *r, const uint8_t *bytes, size_t len);

/** Steps to the next chunk. Neither unpacks nor hashes the data (cairn_codec_unpack()), and does not check the footer
 * (cairn_xorb_footer_check()).
 * @param[out] out  the chunk, if there is one
 * @param[out] end  true after the last chunk
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT  chunk header, or the data ends early
 *         CAIRN_E_LIMIT   a chunk that claims more compressed data than any compression gives */
CAIRN_MUST_USE enum cairn_status cairn_xorb_reader_next(struct cairn_xorb_reader *r, struct cairn_xorb_chunk *out,
							bool *end, struct cairn_diag *diag);

#endif
