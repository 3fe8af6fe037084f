/* Reading whole xorbs chunk by chunk, and writing them. */
#include "support/captured.h"
#include "support/run.h"
#include "support/vectors.h"
#include "support/xorbs.h"
#include "xorb/codec.h"
#include "xorb/reader.h"
#include "xorb/writer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(reader_rewrites_byte_for_byte)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", CAPTURED_XORBS[_i]);
	CLEANUP(vec_json_freep) json_t *described = vec_json("%s.json", CAPTURED_XORBS[_i]);
	const json_t *chunks = vec_get(described, "chunks");
	CLEANUP(cairn_buf_fini) struct cairn_buf again = cairn_buf_init(body.len);
	struct cairn_xorb_reader r;
	cairn_xorb_reader_init(&r, body.bytes, body.len);
	size_t n = 0;
	for (;;) {
		struct cairn_xorb_chunk chunk;
		bool end;
		ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, NULL), CAIRN_OK);
		if (end)
			break;
		const json_t *expected = json_array_get(chunks, n++);
		ck_assert_uint_eq(chunk.at, vec_u64(expected, "header_offset"));
		ck_assert_uint_eq(chunk.header.compressed_bytes, vec_u64(expected, "compressed_length"));
		ck_assert_uint_eq(chunk.header.unpacked_bytes, vec_u64(expected, "uncompressed_length"));
		ck_assert_uint_eq(chunk.header.scheme, vec_u64(expected, "scheme"));
		uint8_t header[CAIRN_XORB_CHUNK_HEADER_BYTES];
		cairn_xorb_chunk_header_write(header, &chunk.header);
		cairn_buf_add(&again, header, sizeof(header));
		cairn_buf_add(&again, chunk.data, chunk.header.compressed_bytes);
	}
	ck_assert_uint_eq(n, json_array_size(chunks));
	ck_assert_ptr_null(r.footer);
	ck_assert_uint_eq(again.len, body.len);
	ck_assert_int_eq(memcmp(again.bytes, body.bytes, body.len), 0);
}
END_TEST

START_TEST(reader_finds_the_footer)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	struct cairn_xorb_reader r;
	cairn_xorb_reader_init(&r, body.bytes, body.len);
	struct cairn_xorb_chunk chunk;
	bool end = false;
	while (!end)
		ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, NULL), CAIRN_OK);
	ck_assert_ptr_eq(r.footer, body.bytes + 48928);
	ck_assert_uint_eq(r.footer_bytes, 3616);
	ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, NULL), CAIRN_OK);
	ck_assert(end);
}
END_TEST

START_TEST(reader_refuses_truncation)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", CAPTURED_XORBS[2]);
	for (size_t len = 1; len < body.len; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(body.bytes, len);
		struct cairn_xorb_reader r;
		cairn_xorb_reader_init(&r, cut.bytes, cut.len);
		struct cairn_xorb_chunk chunk;
		struct cairn_diag diag = {0};
		bool end = false;
		ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "xorb.truncated");
	}
}
END_TEST

/* Chunks that no upload may contain can be read, but a chunk with false lengths cannot. */
START_TEST(reader_limits)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(CAIRN_CHUNK_READ_BYTES_MAX + 8u);
	xorb_add_chunk(&body, CAIRN_CHUNK_READ_BYTES_MAX, CAIRN_CHUNK_READ_BYTES_MAX, CAIRN_SCHEME_NONE, NULL, 0);
	cairn_buf_fill(&body, 'x', CAIRN_CHUNK_READ_BYTES_MAX);
	struct cairn_xorb_reader r;
	struct cairn_xorb_chunk chunk;
	struct cairn_diag diag = {0};
	bool end = true;
	cairn_xorb_reader_init(&r, body.bytes, body.len);
	ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, NULL), CAIRN_OK);
	ck_assert(!end);
	ck_assert_uint_eq(chunk.header.unpacked_bytes, CAIRN_CHUNK_READ_BYTES_MAX);
	body.len = 0;
	xorb_add_chunk(&body, 200, 1, CAIRN_SCHEME_LZ4, NULL, 0);
	cairn_buf_fill(&body, 'x', 200);
	cairn_xorb_reader_init(&r, body.bytes, body.len);
	ck_assert_int_eq(cairn_xorb_reader_next(&r, &chunk, &end, &diag), CAIRN_E_LIMIT);
	ck_assert_str_eq(diag.rule, "xorb.chunk_padded");
}
END_TEST

static void writer_add(struct cairn_xorb_writer *w, const uint8_t *raw, size_t len)
{
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, raw, len);
	ck_assert(cairn_xorb_writer_fits(w, len));
	ck_assert_int_eq(cairn_xorb_writer_add(w, raw, len, &hash), CAIRN_OK);
}

/* The verifier accepts the writer's output, and both list the same chunks. The writer is used twice. */
START_TEST(writer_output_verifies)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	for (size_t i = 0; i < CAPTURED_XORBS_N; i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", CAPTURED_XORBS[i]);
		struct cairn_xorb_reader r;
		cairn_xorb_reader_init(&r, body.bytes, body.len);
		struct cairn_xorb_chunk chunk;
		bool end = false;
		cairn_xorb_writer_reset(w);
		while (cairn_xorb_reader_next(&r, &chunk, &end, NULL) == CAIRN_OK && !end) {
			const uint8_t *raw = NULL;
			ck_assert_int_eq(cairn_codec_unpack(codec, &raw, &chunk.header, chunk.data, 0, NULL), CAIRN_OK);
			writer_add(w, raw, chunk.header.unpacked_bytes);
		}
		struct cairn_hash expected = vec_hash_text(strrchr(CAPTURED_XORBS[i], '/') + 1), root;
		cairn_chunk_list_root(cairn_xorb_writer_list(w), &root);
		ck_assert(cairn_hash_equal(&root, &expected));
		size_t len = 0;
		const uint8_t *bytes = cairn_xorb_writer_bytes(w, &len);
		CLEANUP(xorb_verdict_fini) struct xorb_verdict got = xorb_verify(bytes, len, len, NULL, &expected);
		ck_assert_msg(got.status == CAIRN_OK, "%s", got.diag.text);
		ck_assert_uint_eq(got.summary.unpacked_bytes, cairn_xorb_writer_unpacked_bytes(w));
		const struct cairn_chunk_list *list = cairn_xorb_writer_list(w);
		ck_assert_uint_eq(got.list.n, list->n);
		ck_assert_int_eq(memcmp(got.list.spans, list->spans, list->n * sizeof(*list->spans)), 0);
		/* Two LZ4 encoders differ by a few percent; a wrong choice of scheme by far more. */
		ck_assert_uint_le(len, body.len + body.len / 20 + 64u * list->n);
	}
}
END_TEST

START_TEST(writer_chunk_count_limit)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	struct cairn_hash hash = {0};
	for (int i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++)
		writer_add(w, (const uint8_t *)"x", 1);
	ck_assert(!cairn_xorb_writer_fits(w, 1));
	ck_assert_int_eq(cairn_xorb_writer_add(w, (const uint8_t *)"x", 1, &hash), CAIRN_E_LIMIT);
	cairn_xorb_writer_reset(w);
	ck_assert(cairn_xorb_writer_fits(w, 1));
	ck_assert_uint_eq(cairn_xorb_writer_list(w)->n, 0);
}
END_TEST

START_TEST(writer_raw_bytes_limit)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	static const uint8_t raw[CAIRN_CHUNK_BYTES_MAX];
	for (int i = 0; i < CAIRN_XORB_BYTES_MAX / CAIRN_CHUNK_BYTES_MAX - 1; i++)
		writer_add(w, raw, CAIRN_CHUNK_BYTES_MAX);
	writer_add(w, raw, CAIRN_CHUNK_BYTES_MAX - 1);
	ck_assert(!cairn_xorb_writer_fits(w, 2));
	writer_add(w, raw, 1);
	ck_assert_uint_eq(cairn_xorb_writer_unpacked_bytes(w), CAIRN_XORB_BYTES_MAX);
	struct cairn_hash hash = {0};
	size_t before, after;
	(void)cairn_xorb_writer_bytes(w, &before);
	ck_assert_int_eq(cairn_xorb_writer_add(w, raw, 1, &hash), CAIRN_E_LIMIT);
	(void)cairn_xorb_writer_bytes(w, &after);
	ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(writer_chunk_length_limits)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	static const uint8_t raw[CAIRN_CHUNK_BYTES_MAX + 1];
	struct cairn_hash hash = {0};
	ck_assert_int_eq(cairn_xorb_writer_add(w, raw, 0, &hash), CAIRN_E_USAGE);
	ck_assert_int_eq(cairn_xorb_writer_add(w, raw, sizeof(raw), &hash), CAIRN_E_USAGE);
	ck_assert_int_eq(cairn_xorb_writer_add(w, raw, sizeof(raw) - 1, &hash), CAIRN_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xorb_writer");
	TCase *tcase = tcase_create("reader and writer");
	tcase_add_loop_test(tcase, reader_rewrites_byte_for_byte, 0, (int)CAPTURED_XORBS_N);
	tcase_add_test(tcase, reader_finds_the_footer);
	tcase_add_test(tcase, reader_refuses_truncation);
	tcase_add_test(tcase, reader_limits);
	tcase_add_test(tcase, writer_output_verifies);
	tcase_add_test(tcase, writer_chunk_count_limit);
	tcase_add_test(tcase, writer_raw_bytes_limit);
	tcase_add_test(tcase, writer_chunk_length_limits);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
