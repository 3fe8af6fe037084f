#include "xorb/format.h"

#include "base/bytes.h"

#include <inttypes.h>

const char *cairn_scheme_name(enum cairn_scheme scheme)
{
	switch (scheme) {
	case CAIRN_SCHEME_NONE:
		return "none";
	case CAIRN_SCHEME_LZ4:
		return "lz4";
	case CAIRN_SCHEME_GROUPED_LZ4:
		return "grouped-lz4";
	}
	return "unknown";
}

/* An encoder stores a block that does not shrink, and block headers cost less than 1/255. So longer data contain
 * padding. (source: LZ4's own bound for a block, raw / 255 + 16; a frame adds less than 48) */
static uint64_t format_compressed_max(uint32_t unpacked_bytes)
{
	return (uint64_t)unpacked_bytes + unpacked_bytes / 255 + 64;
}

static enum cairn_status format_check_lengths(const struct cairn_xorb_chunk_header *h, uint64_t at,
					      uint32_t unpacked_max, struct cairn_diag *diag)
{
	if (h->unpacked_bytes == 0 || h->compressed_bytes == 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_empty", at,
				  "the chunk header gives %" PRIu32 " compressed and %" PRIu32
				  " raw bytes; leave empty chunks out",
				  h->compressed_bytes, h->unpacked_bytes);
	if (h->unpacked_bytes > unpacked_max) {
		cairn_fail(diag, CAIRN_E_LIMIT, "xorb.chunk_too_large", at + 5,
			   "a chunk of %" PRIu32 " raw bytes is over the limit of %" PRIu32 "; cut chunks at the limit",
			   h->unpacked_bytes, unpacked_max);
		cairn_diag_numbers(diag, unpacked_max, h->unpacked_bytes);
		return CAIRN_E_LIMIT;
	}
	if (h->scheme == CAIRN_SCHEME_NONE && h->compressed_bytes != h->unpacked_bytes) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_length", at + 1,
			   "a chunk that is not compressed has %" PRIu32 " bytes, but its header says %" PRIu32
			   " raw bytes",
			   h->compressed_bytes, h->unpacked_bytes);
		cairn_diag_numbers(diag, h->unpacked_bytes, h->compressed_bytes);
		return CAIRN_E_FORMAT;
	}
	if (h->compressed_bytes > format_compressed_max(h->unpacked_bytes)) {
		cairn_fail(diag, CAIRN_E_LIMIT, "xorb.chunk_padded", at + 1,
			   "%" PRIu32 " compressed bytes are more than any compression of %" PRIu32
			   " raw bytes takes; store the chunk as it is (scheme 0)",
			   h->compressed_bytes, h->unpacked_bytes);
		cairn_diag_numbers(diag, format_compressed_max(h->unpacked_bytes), h->compressed_bytes);
		return CAIRN_E_LIMIT;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_xorb_chunk_header_parse(struct cairn_xorb_chunk_header *out,
						const uint8_t bytes[static CAIRN_XORB_CHUNK_HEADER_BYTES], uint64_t at,
						uint32_t unpacked_max, struct cairn_diag *diag)
{
	uint8_t version = bytes[0], scheme = bytes[4];
	if (version != 0) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_version", at,
			   "a chunk header or a footer must start here; %u is not a known chunk header version",
			   version);
		cairn_diag_numbers(diag, 0, version);
		return CAIRN_E_FORMAT;
	}
	if (scheme > CAIRN_SCHEME_GROUPED_LZ4) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.chunk_scheme", at + 4,
			   "%u is not a known compression scheme; use 0 (none), 1 (LZ4) or 2 (grouped LZ4)", scheme);
		cairn_diag_values(diag, "0, 1 or 2", "");
		return CAIRN_E_FORMAT;
	}
	out->compressed_bytes = cairn_get_u24le(bytes + 1);
	out->scheme = (enum cairn_scheme)scheme;
	out->unpacked_bytes = cairn_get_u24le(bytes + 5);
	return format_check_lengths(out, at, unpacked_max, diag);
}

void cairn_xorb_chunk_header_write(uint8_t out[static CAIRN_XORB_CHUNK_HEADER_BYTES],
				   const struct cairn_xorb_chunk_header *header)
{
	out[0] = 0;
	cairn_put_u24le(out + 1, header->compressed_bytes);
	out[4] = (uint8_t)header->scheme;
	cairn_put_u24le(out + 5, header->unpacked_bytes);
}
