#include "support/xorbs.h"

#include "base/bytes.h"

#include <check.h>
#include <string.h>

void xorb_verdict_fini(struct xorb_verdict *verdict)
{
	cairn_chunk_list_fini(&verdict->list);
}

static void xorb_check_sticky(struct cairn_xorb_verifier *v, const struct xorb_verdict *verdict)
{
	struct cairn_diag again = {0};
	size_t n_data = 1;
	ck_assert_int_eq(cairn_xorb_verifier_feed(v, (const uint8_t *)"\0", 1, &n_data, &again), verdict->status);
	ck_assert_uint_eq(n_data, 0);
	ck_assert_ptr_eq(again.rule, verdict->diag.rule);
	ck_assert_str_eq(again.text, verdict->diag.text);
}

struct xorb_verdict xorb_verify(const uint8_t *bytes, size_t len, size_t piece_bytes,
				const struct cairn_xorb_verifier_options *options, const struct cairn_hash *expected)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(options ? options : &CAIRN_XORB_UPLOAD_OPTIONS);
	ck_assert_ptr_nonnull(v);
	struct xorb_verdict verdict = {.status = CAIRN_OK};
	for (size_t at = 0; at < len && verdict.status == CAIRN_OK; at += piece_bytes) {
		size_t n = len - at < piece_bytes ? len - at : piece_bytes, n_data = 0;
		verdict.status = cairn_xorb_verifier_feed(v, bytes + at, n, &n_data, &verdict.diag);
		ck_assert_uint_le(n_data, n);
		verdict.n_data += n_data;
	}
	if (verdict.status == CAIRN_OK)
		verdict.status = cairn_xorb_verifier_end(v, expected, &verdict.summary, &verdict.diag);
	if (verdict.status == CAIRN_OK) {
		ck_assert_ptr_null(verdict.diag.rule);
		ck_assert_uint_eq(verdict.n_data, verdict.summary.chunk_data_bytes);
	} else {
		xorb_check_sticky(v, &verdict);
	}
	verdict.list = cairn_xorb_verifier_take_list(v);
	return verdict;
}

void xorb_add_chunk(struct cairn_buf *out, uint32_t compressed_bytes, uint32_t unpacked_bytes, unsigned scheme,
		    const void *data, size_t data_len)
{
	uint8_t *header = cairn_buf_extend(out, CAIRN_XORB_CHUNK_HEADER_BYTES);
	ck_assert_ptr_nonnull(header);
	header[0] = 0;
	cairn_put_u24le(header + 1, compressed_bytes);
	header[4] = (uint8_t)scheme;
	cairn_put_u24le(header + 5, unpacked_bytes);
	cairn_buf_add(out, data, data_len);
	ck_assert_int_eq(out->status, CAIRN_OK);
}

void xorb_add_footer(struct cairn_buf *out, const struct cairn_chunk_list *list)
{
	struct cairn_hash root;
	cairn_chunk_list_root(list, &root);
	cairn_buf_add(out, "XETBLOB\1", 8);
	cairn_buf_add(out, root.b, sizeof(root.b));
	cairn_buf_add(out, "XBLBHSH\0", 8);
	cairn_buf_u32le(out, list->n);
	cairn_buf_add(out, list->hashes, list->n * sizeof(*list->hashes));
	cairn_buf_add(out, "XBLBBND\1", 8);
	cairn_buf_u32le(out, list->n);
	for (uint32_t i = 0; i < list->n; i++)
		cairn_buf_u32le(out, list->spans[i].end);
	uint32_t unpacked = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		unpacked += list->spans[i].unpacked_bytes;
		cairn_buf_u32le(out, unpacked);
	}
	cairn_buf_u32le(out, list->n);
	cairn_buf_u32le(out, 52 + 40 * list->n);
	cairn_buf_u32le(out, 40 + 8 * list->n);
	cairn_buf_fill(out, 0, 16);
	cairn_buf_u32le(out, 92 + 40 * list->n);
	ck_assert_int_eq(out->status, CAIRN_OK);
}
