#include "xorb/reader.h"

#include "xorb/footer.h"

#include <inttypes.h>

void cairn_xorb_reader_init(struct cairn_xorb_reader *r, const uint8_t *bytes, size_t len)
{
	*r = (struct cairn_xorb_reader){.cur = cairn_cur_init(bytes, len)};
}

enum cairn_status cairn_xorb_reader_next(struct cairn_xorb_reader *r, struct cairn_xorb_chunk *out, bool *end,
					 struct cairn_diag *diag)
{
	if (r->cur.left >= CAIRN_XORB_FOOTER_IDENT_BYTES &&
	    cairn_xorb_footer_begins(r->cur.p, CAIRN_XORB_FOOTER_IDENT_BYTES)) {
		r->footer_bytes = r->cur.left;
		r->footer = cairn_cur_take(&r->cur, r->cur.left);
	}
	*end = r->cur.left == 0;
	if (*end)
		return CAIRN_OK;
	out->at = cairn_cur_offset(&r->cur);
	const uint8_t *header = cairn_cur_take(&r->cur, CAIRN_XORB_CHUNK_HEADER_BYTES);
	if (!header)
		return cairn_fail(diag, CAIRN_E_FORMAT, "xorb.truncated", out->at,
				  "the xorb ends in a chunk header, after %zu bytes of it", r->cur.left);
	enum cairn_status status =
		cairn_xorb_chunk_header_parse(&out->header, header, out->at, CAIRN_CHUNK_READ_BYTES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	out->data = cairn_cur_take(&r->cur, out->header.compressed_bytes);
	if (!out->data) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.truncated", out->at,
			   "the xorb ends in the data of a chunk: %" PRIu32 " bytes announced, %zu there",
			   out->header.compressed_bytes, r->cur.left);
		cairn_diag_numbers(diag, out->header.compressed_bytes, r->cur.left);
		return CAIRN_E_FORMAT;
	}
	return CAIRN_OK;
}
