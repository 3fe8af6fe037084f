#include "xorb/footer.h"

#include "base/cursor.h"

#include <inttypes.h>
#include <string.h>

#define FOOTER_TAG     "XETBLOB"
#define HASHES_TAG     "XBLBHSH"
#define BOUNDARIES_TAG "XBLBBND"

enum {
	FOOTER_VERSION = 1,
	HASHES_VERSION = 0,
	BOUNDARIES_VERSION = 1,
	SECTION_HEAD_BYTES = CAIRN_XORB_FOOTER_IDENT_BYTES + 1 + 4,
	RESERVED_BYTES = 16,
	INFO_LENGTH_BYTES = 4,
	TAIL_BYTES = 4 + 4 + 4 + RESERVED_BYTES, /* count and distances after the sections */
};

struct footer_reader {
	struct cairn_cur cur;
	uint64_t at; /* offset of the footer in the xorb */
	struct cairn_diag *diag;
};

size_t cairn_xorb_footer_bytes(uint32_t n_chunks)
{
	return CAIRN_XORB_FOOTER_FIXED_BYTES + (size_t)n_chunks * CAIRN_XORB_FOOTER_CHUNK_BYTES;
}

bool cairn_xorb_footer_begins(const uint8_t *bytes, size_t len)
{
	return memcmp(bytes, FOOTER_TAG,
		      len < CAIRN_XORB_FOOTER_IDENT_BYTES ? len : (size_t)CAIRN_XORB_FOOTER_IDENT_BYTES) == 0;
}

static uint64_t footer_offset(const struct footer_reader *r)
{
	return r->at + cairn_cur_offset(&r->cur);
}

static enum cairn_status footer_number(struct footer_reader *r, uint32_t expected, const char *what)
{
	uint64_t offset = footer_offset(r);
	uint32_t actual = cairn_cur_u32le(&r->cur);
	if (r->cur.bad || actual == expected)
		return CAIRN_OK; /* a footer that is cut short is refused once, at the end */
	cairn_fail(r->diag, CAIRN_E_FORMAT, "xorb.footer_number", offset,
		   "the footer says %" PRIu32 " as %s, but the chunks make it %" PRIu32
		   "; footers are optional, leave it out",
		   actual, what, expected);
	cairn_diag_numbers(r->diag, expected, actual);
	return CAIRN_E_FORMAT;
}

static enum cairn_status footer_tag(struct footer_reader *r, const char *tag, uint8_t version)
{
	uint64_t offset = footer_offset(r);
	const uint8_t *ident = cairn_cur_take(&r->cur, CAIRN_XORB_FOOTER_IDENT_BYTES);
	uint8_t actual = cairn_cur_u8(&r->cur);
	if (r->cur.bad)
		return CAIRN_OK;
	if (memcmp(ident, tag, CAIRN_XORB_FOOTER_IDENT_BYTES) != 0)
		return cairn_fail(r->diag, CAIRN_E_FORMAT, "xorb.footer_tag", offset,
				  "the tag %s is expected here; footers are optional, leave it out", tag);
	if (actual != version) {
		cairn_fail(r->diag, CAIRN_E_FORMAT, "xorb.footer_version", offset + CAIRN_XORB_FOOTER_IDENT_BYTES,
			   "version %u of %s is not supported, only %u; footers are optional, leave it out", actual,
			   tag, version);
		cairn_diag_numbers(r->diag, version, actual);
		return CAIRN_E_FORMAT;
	}
	return CAIRN_OK;
}

static enum cairn_status footer_hash(struct footer_reader *r, const struct cairn_hash *expected, const char *what)
{
	uint64_t offset = footer_offset(r);
	const uint8_t *bytes = cairn_cur_take(&r->cur, CAIRN_HASH_BYTES);
	if (!bytes || memcmp(bytes, expected->b, CAIRN_HASH_BYTES) == 0)
		return CAIRN_OK;
	struct cairn_hash actual;
	char expected_text[CAIRN_HASH_TEXT_BYTES], actual_text[CAIRN_HASH_TEXT_BYTES];
	memcpy(actual.b, bytes, CAIRN_HASH_BYTES);
	cairn_hash_text(expected_text, expected);
	cairn_hash_text(actual_text, &actual);
	cairn_fail(r->diag, CAIRN_E_MISMATCH, "xorb.footer_hash", offset,
		   "the footer gives another %s than the data has; footers are optional, leave it out", what);
	cairn_diag_values(r->diag, expected_text, actual_text);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status footer_hashes(struct footer_reader *r, const struct cairn_chunk_list *list)
{
	enum cairn_status status = footer_tag(r, HASHES_TAG, HASHES_VERSION);
	if (status == CAIRN_OK)
		status = footer_number(r, list->n, "number of hashes");
	for (uint32_t i = 0; status == CAIRN_OK && i < list->n; i++)
		status = footer_hash(r, &list->hashes[i], "chunk hash");
	return status;
}

static enum cairn_status footer_boundaries(struct footer_reader *r, const struct cairn_chunk_list *list)
{
	enum cairn_status status = footer_tag(r, BOUNDARIES_TAG, BOUNDARIES_VERSION);
	if (status == CAIRN_OK)
		status = footer_number(r, list->n, "number of boundaries");
	for (uint32_t i = 0; status == CAIRN_OK && i < list->n; i++)
		status = footer_number(r, list->spans[i].end, "end of a chunk");
	uint32_t unpacked = 0; /* 8,192 chunks of less than 16 MiB could pass 2^32; then the field wraps, too */
	for (uint32_t i = 0; status == CAIRN_OK && i < list->n; i++) {
		unpacked += list->spans[i].unpacked_bytes;
		status = footer_number(r, unpacked, "end of a chunk's raw bytes");
	}
	return status;
}

static enum cairn_status footer_tail(struct footer_reader *r, uint32_t n)
{
	uint32_t boundaries_distance = SECTION_HEAD_BYTES + 8 * n + TAIL_BYTES;
	uint32_t hashes_distance = SECTION_HEAD_BYTES + CAIRN_HASH_BYTES * n + boundaries_distance;
	enum cairn_status status = footer_number(r, n, "number of chunks");
	if (status == CAIRN_OK)
		status = footer_number(r, hashes_distance, "distance of the hashes");
	if (status == CAIRN_OK)
		status = footer_number(r, boundaries_distance, "distance of the boundaries");
	if (status != CAIRN_OK)
		return status;
	(void)cairn_cur_take(&r->cur, RESERVED_BYTES); /* clients put a nonce here; any value is valid */
	return footer_number(r, (uint32_t)cairn_xorb_footer_bytes(n) - INFO_LENGTH_BYTES, "its own length");
}

enum cairn_status cairn_xorb_footer_check(const uint8_t *bytes, size_t len, const struct cairn_chunk_list *list,
					  const struct cairn_hash *root, uint64_t at, struct cairn_diag *diag)
{
	struct footer_reader r = {cairn_cur_init(bytes, len), at, diag};
	enum cairn_status status = footer_tag(&r, FOOTER_TAG, FOOTER_VERSION);
	if (status == CAIRN_OK)
		status = footer_hash(&r, root, "xorb hash");
	if (status == CAIRN_OK)
		status = footer_hashes(&r, list);
	if (status == CAIRN_OK)
		status = footer_boundaries(&r, list);
	if (status == CAIRN_OK)
		status = footer_tail(&r, list->n);
	if (status == CAIRN_OK && (r.cur.bad || r.cur.left > 0)) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.footer_length", at,
			   "the footer of %" PRIu32 " chunks has %zu bytes, not %zu, and nothing follows it", list->n,
			   cairn_xorb_footer_bytes(list->n), len);
		cairn_diag_numbers(diag, cairn_xorb_footer_bytes(list->n), len);
		return CAIRN_E_FORMAT;
	}
	return status;
}
