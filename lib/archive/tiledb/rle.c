#include "archive/tiledb/rle.h"

#include "base/cursor.h"

#include <string.h>

static enum cairn_status rle_bad(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.compressed", 0, "%s", what);
}

/* Reads a number. It is big-endian, unlike all other numbers of the format. */
static uint64_t rle_number(struct cairn_cur *c, unsigned n_bytes)
{
	uint64_t number = 0;
	while (n_bytes-- > 0)
		number = number << 8 | cairn_cur_u8(c);
	return number;
}

enum cairn_status cairn_tiledb_rle_cells(uint8_t *out, size_t n_out, struct cairn_tiledb_view in, size_t cell_bytes,
					 struct cairn_diag *diag)
{
	struct cairn_cur c = cairn_cur_init(in.bytes, in.len);
	size_t done = 0;
	while (c.left > 0) {
		const uint8_t *cell = cairn_cur_take(&c, cell_bytes);
		size_t n = (size_t)rle_number(&c, 2);
		if (c.bad || n * cell_bytes > n_out - done)
			break;
		for (; n > 0; n--, done += cell_bytes)
			memcpy(out + done, cell, cell_bytes);
	}
	if (c.left == 0 && !c.bad && done == n_out)
		return CAIRN_OK;
	return rle_bad(diag, "runs of equal cells do not give the length that was noted");
}

static bool rle_is_width(uint8_t n_bytes)
{
	return n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8;
}

/* The filter's metadata for a chunk of texts. */
struct rle_notes {
	uint32_t texts_len, starts_len;
	uint8_t run_bytes, length_bytes; /* widths of the two numbers before each text */
};

static bool rle_read_notes(struct rle_notes *out, struct cairn_tiledb_view notes, size_t packed_len)
{
	struct cairn_cur c = cairn_cur_init(notes.bytes, notes.len);
	uint32_t n_meta = cairn_cur_u32le(&c), n_parts = cairn_cur_u32le(&c);
	out->texts_len = cairn_cur_u32le(&c);
	bool whole = cairn_cur_u32le(&c) == packed_len && n_meta == 0 && n_parts == 1;
	out->starts_len = cairn_cur_u32le(&c);
	out->run_bytes = cairn_cur_u8(&c);
	out->length_bytes = cairn_cur_u8(&c);
	return !c.bad && c.left == 0 && whole && out->texts_len <= CAIRN_TILEDB_CHUNK_BYTES_MAX &&
	       rle_is_width(out->run_bytes) && rle_is_width(out->length_bytes);
}

enum cairn_status cairn_tiledb_rle_texts(struct cairn_buf *out, struct cairn_buf *starts, uint64_t before,
					 struct cairn_tiledb_view notes, struct cairn_tiledb_view in,
					 struct cairn_diag *diag)
{
	struct rle_notes n;
	struct cairn_cur c = cairn_cur_init(in.bytes, in.len);
	if (!rle_read_notes(&n, notes, in.len))
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.chunk", 0,
				  "what a filter noted of its runs of texts is not what the chunk has");
	out->len = 0;
	uint64_t n_left = n.starts_len / 8;
	while (c.left > 0) {
		uint64_t run = rle_number(&c, n.run_bytes), len = rle_number(&c, n.length_bytes);
		const uint8_t *text = len <= c.left ? cairn_cur_take(&c, (size_t)len) : NULL;
		if (!text || run > n_left || (len > 0 && run > (n.texts_len - out->len) / len))
			return rle_bad(diag, "runs of equal texts do not give the lengths that were noted");
		for (n_left -= run; run > 0 && starts->status == CAIRN_OK; run--) {
			cairn_buf_u64le(starts, before + out->len);
			cairn_buf_add(out, text, (size_t)len);
		}
		if (starts->status != CAIRN_OK || out->status != CAIRN_OK)
			return starts->status != CAIRN_OK ? starts->status : out->status;
	}
	if (out->len == n.texts_len && n_left == 0 && n.starts_len % 8 == 0)
		return CAIRN_OK;
	return rle_bad(diag, "runs of equal texts do not give the lengths that were noted");
}
