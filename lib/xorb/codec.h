/* Compresses and unpacks the data of one chunk. The only includer of LZ4. */
#ifndef CAIRN_XORB_CODEC_H
#define CAIRN_XORB_CODEC_H

#include "base/buf.h"
#include "xorb/format.h"

/** Scratch memory of the codec, reused from chunk to chunk. Opaque; owned by one thread at a time. */
struct cairn_codec;

/** @return NULL without memory */
struct cairn_codec *cairn_codec_new(void);
void cairn_codec_free(struct cairn_codec *c);
void cairn_codec_freep(struct cairn_codec **c);

/** Unpacks one chunk. The data must unpack to exactly header->unpacked_bytes, with nothing left over.
 * @param[out] raw  the raw bytes; borrowed from data (scheme none), or from c until the next call
 * @param data  header->compressed_bytes of them
 * @param at    offset of the chunk's header in the xorb, for the message
 * @return CAIRN_OK; CAIRN_E_FORMAT not an LZ4 frame, or of another length; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_codec_unpack(struct cairn_codec *c, const uint8_t **raw,
						    const struct cairn_xorb_chunk_header *header, const uint8_t *data,
						    uint64_t at, struct cairn_diag *diag);

/** Checks that every client unpacks the chunk that c unpacked last to the same bytes (lz4_frame.h).
 * @param header, data, at  as for cairn_codec_unpack()
 * @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_codec_judge(const struct cairn_codec *c,
						   const struct cairn_xorb_chunk_header *header, const uint8_t *data,
						   uint64_t at, struct cairn_diag *diag);

/**
 * Compresses one chunk and appends header and data to out. Takes the scheme that gives the fewest bytes; for a chunk of
 * 16 KiB or more, a sample decides. Never writes more data than raw bytes.
 * @param len  1 .. CAIRN_CHUNK_READ_BYTES_MAX
 * @param[out] scheme  the scheme chosen; may be NULL
 * @return CAIRN_OK; CAIRN_E_LIMIT out is full; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_codec_compress(struct cairn_codec *c, struct cairn_buf *out, const uint8_t *raw,
						      size_t len, enum cairn_scheme *scheme);

#endif
