#include "support/run.h"
#include "support/vectors.h"
#include "support/xorbs.h"
#include "xorb/footer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_BYTES = 48928, FOOTER_BYTES = 3616, CHUNKS = 88 };
#define FOOTER_XORB_HASH "40dc23e4e7c5709f17d8a426431ba954d49b84c15b2bd75483c327a1d1dc5304"

START_TEST(footer_of_the_reference_is_accepted)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	ck_assert_uint_eq(body.len, DATA_BYTES + FOOTER_BYTES);
	ck_assert_uint_eq(cairn_xorb_footer_bytes(CHUNKS), FOOTER_BYTES);
	struct cairn_hash expected = vec_hash_text(FOOTER_XORB_HASH);
	static const size_t PIECES[] = {1, 7, 4096, DATA_BYTES - 1, DATA_BYTES, DATA_BYTES + 1, 1000000};
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(*PIECES); i++) {
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, PIECES[i], NULL, &expected);
		ck_assert_msg(got.status == CAIRN_OK, "%s", got.diag.text);
		ck_assert(got.summary.has_footer);
		ck_assert_uint_eq(got.n_data, DATA_BYTES);
		ck_assert_uint_eq(got.list.n, CHUNKS);
	}
}
END_TEST

/* The helper of the other tests writes the same footer as the reference. */
START_TEST(footer_made_equals_the_reference)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	CLEANUP(xorb_verdict_fini)
	struct xorb_verdict got = xorb_verify(body.bytes, DATA_BYTES, DATA_BYTES, NULL, NULL);
	CLEANUP(cairn_buf_fini) struct cairn_buf made = cairn_buf_init(1 << 20);
	xorb_add_footer(&made, &got.list);
	ck_assert_uint_eq(made.len, FOOTER_BYTES);
	ck_assert_int_eq(memcmp(made.bytes, body.bytes + DATA_BYTES, FOOTER_BYTES), 0);
}
END_TEST

/* Any changed byte is noticed, except in the 16 reserved bytes, where clients put a nonce. */
START_TEST(footer_every_byte_counts)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	CLEANUP(xorb_verdict_fini)
	struct xorb_verdict good = xorb_verify(body.bytes, DATA_BYTES, DATA_BYTES, NULL, NULL);
	struct cairn_hash root = good.summary.root;
	uint8_t *footer = body.bytes + DATA_BYTES;
	for (size_t i = 0; i < FOOTER_BYTES; i++) {
		footer[i] ^= 1;
		struct cairn_diag diag = {0};
		enum cairn_status status =
			cairn_xorb_footer_check(footer, FOOTER_BYTES, &good.list, &root, DATA_BYTES, &diag);
		bool reserved = i >= FOOTER_BYTES - 20 && i < FOOTER_BYTES - 4;
		ck_assert_msg((status == CAIRN_OK) == reserved, "byte %zu", i);
		if (!reserved) {
			ck_assert_msg(diag.rule && diag.offset <= DATA_BYTES + i && diag.offset + 32 > DATA_BYTES + i,
				      "byte %zu: offset %zu", i, (size_t)diag.offset);
			ck_assert(status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH);
		}
		footer[i] ^= 1;
	}
}
END_TEST

START_TEST(footer_refusals_name_the_rule)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum cairn_status status;
		const char *rule;
		const char *text;
	} CASES[] = {
		{0, 'Y', CAIRN_E_FORMAT, "xorb.chunk_version", "is not a known chunk header version"},
		{3, 'b', CAIRN_E_FORMAT, "xorb.chunk_version", "neither a chunk header"},
		{7, 0, CAIRN_E_FORMAT, "xorb.footer_version", "version 0 of XETBLOB is not supported, only 1"},
		{7, 2, CAIRN_E_FORMAT, "xorb.footer_version", "version 2 of XETBLOB is not supported"},
		{8, 0, CAIRN_E_MISMATCH, "xorb.footer_hash", "another xorb hash"},
		{40, 'Y', CAIRN_E_FORMAT, "xorb.footer_tag", "XBLBHSH"},
		{47, 1, CAIRN_E_FORMAT, "xorb.footer_version", "XBLBHSH"},
		{48, 87, CAIRN_E_FORMAT, "xorb.footer_number", "87 as number of hashes"},
		{52, 0, CAIRN_E_MISMATCH, "xorb.footer_hash", "another chunk hash"},
		{52 + 32 * CHUNKS, 'Y', CAIRN_E_FORMAT, "xorb.footer_tag", "XBLBBND"},
		{59 + 32 * CHUNKS, 0, CAIRN_E_FORMAT, "xorb.footer_version", "version 0 of XBLBBND"},
		{60 + 32 * CHUNKS, 89, CAIRN_E_FORMAT, "xorb.footer_number", "89 as number of boundaries"},
		{64 + 32 * CHUNKS, 0, CAIRN_E_FORMAT, "xorb.footer_number", "as end of a chunk,"},
		{66 + 36 * CHUNKS, 9, CAIRN_E_FORMAT, "xorb.footer_number", "as end of a chunk's raw bytes"},
		{64 + 40 * CHUNKS, 87, CAIRN_E_FORMAT, "xorb.footer_number", "87 as number of chunks"},
		{68 + 40 * CHUNKS, 0, CAIRN_E_FORMAT, "xorb.footer_number", "distance of the hashes"},
		{72 + 40 * CHUNKS, 0, CAIRN_E_FORMAT, "xorb.footer_number", "distance of the boundaries"},
		{92 + 40 * CHUNKS, 0, CAIRN_E_FORMAT, "xorb.footer_number", "as its own length"},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
		body.bytes[DATA_BYTES + CASES[i].at] = CASES[i].value;
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, 5000, NULL, NULL);
		ck_assert_msg(got.status == CASES[i].status, "case %zu: %s", i, got.diag.text);
		ck_assert_str_eq(got.diag.rule, CASES[i].rule);
		ck_assert_msg(strstr(got.diag.text, CASES[i].text), "case %zu: %s", i, got.diag.text);
	}
}
END_TEST

START_TEST(footer_truncated_is_refused)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	CLEANUP(xorb_verdict_fini)
	struct xorb_verdict good = xorb_verify(body.bytes, DATA_BYTES, DATA_BYTES, NULL, NULL);
	for (size_t len = 1; len < FOOTER_BYTES; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(body.bytes + DATA_BYTES, len);
		struct cairn_diag diag = {0};
		ck_assert_int_eq(
			cairn_xorb_footer_check(cut.bytes, cut.len, &good.list, &good.summary.root, DATA_BYTES, &diag),
			CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "xorb.footer_length");
		if (len % 500 == 1) {
			CLEANUP(xorb_verdict_fini)
			struct xorb_verdict got = xorb_verify(body.bytes, DATA_BYTES + len, 100, NULL, NULL);
			ck_assert_str_eq(got.diag.rule, "xorb.footer_length");
		}
	}
}
END_TEST

START_TEST(footer_nothing_may_follow)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	CLEANUP(cairn_buf_fini) struct cairn_buf longer = cairn_buf_init(1 << 20);
	cairn_buf_add(&longer, body.bytes, body.len);
	cairn_buf_fill(&longer, 0, 1);
	for (size_t piece = 1; piece < longer.len + 1; piece = piece * 9 + 1) {
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(longer.bytes, longer.len, piece, NULL, NULL);
		ck_assert_int_eq(got.status, CAIRN_E_FORMAT);
		ck_assert_str_eq(got.diag.rule, "xorb.trailing");
		ck_assert_uint_eq(got.diag.offset, DATA_BYTES + FOOTER_BYTES);
	}
}
END_TEST

/* Tests the check alone, as the reader of whole xorbs calls it. */
START_TEST(footer_check_takes_no_more)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	CLEANUP(xorb_verdict_fini)
	struct xorb_verdict good = xorb_verify(body.bytes, DATA_BYTES, DATA_BYTES, NULL, NULL);
	CLEANUP(cairn_buf_fini) struct cairn_buf footer = cairn_buf_init(1 << 20);
	xorb_add_footer(&footer, &good.list);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_xorb_footer_check(footer.bytes, footer.len, &good.list, &good.summary.root, 0, &diag),
			 CAIRN_OK);
	cairn_buf_fill(&footer, 0, 1);
	ck_assert_int_eq(cairn_xorb_footer_check(footer.bytes, footer.len, &good.list, &good.summary.root, 0, &diag),
			 CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "xorb.footer_length");
	ck_assert_str_eq(diag.actual, "3617");
}
END_TEST

START_TEST(footer_alone_is_refused)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(1 << 20);
	const struct cairn_chunk_list none = {0};
	xorb_add_footer(&body, &none);
	ck_assert_uint_eq(body.len, CAIRN_XORB_FOOTER_FIXED_BYTES);
	CLEANUP(xorb_verdict_fini) struct xorb_verdict got = xorb_verify(body.bytes, body.len, body.len, NULL, NULL);
	ck_assert_int_eq(got.status, CAIRN_E_FORMAT);
	ck_assert_str_eq(got.diag.rule, "xorb.empty");
}
END_TEST

/* The largest footer there can be. */
START_TEST(footer_of_a_full_xorb)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(1 << 20);
	for (int i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++)
		xorb_add_chunk(&body, 1, 1, CAIRN_SCHEME_NONE, "x", 1);
	CLEANUP(xorb_verdict_fini) struct xorb_verdict bare = xorb_verify(body.bytes, body.len, body.len, NULL, NULL);
	xorb_add_footer(&body, &bare.list);
	CLEANUP(xorb_verdict_fini) struct xorb_verdict got = xorb_verify(body.bytes, body.len, 60000, NULL, NULL);
	ck_assert_msg(got.status == CAIRN_OK, "%s", got.diag.text);
	ck_assert(got.summary.has_footer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xorb_footer");
	TCase *tcase = tcase_create("footer");
	tcase_add_test(tcase, footer_of_the_reference_is_accepted);
	tcase_add_test(tcase, footer_made_equals_the_reference);
	tcase_add_test(tcase, footer_every_byte_counts);
	tcase_add_test(tcase, footer_refusals_name_the_rule);
	tcase_add_test(tcase, footer_truncated_is_refused);
	tcase_add_test(tcase, footer_nothing_may_follow);
	tcase_add_test(tcase, footer_check_takes_no_more);
	tcase_add_test(tcase, footer_alone_is_refused);
	tcase_add_test(tcase, footer_of_a_full_xorb);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
