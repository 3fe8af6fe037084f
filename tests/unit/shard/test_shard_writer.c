/* Captured shards are written again byte for byte. Tests limits, order, and the footer of an answer, too. */
#include "base/bytes.h"
#include "shard/reader.h"
#include "shard/writer.h"
#include "support/captured.h"
#include "support/run.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Copies both sections from a reader to a writer. */
static void copy_sections(struct cairn_shard_reader *r, struct cairn_shard_writer *w)
{
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more;
	while (cairn_shard_next_file(r, &file, &more, NULL) == CAIRN_OK && more) {
		cairn_shard_write_file(w, &file.hash, file.flags);
		for (uint32_t i = 0; i < file.n_terms; i++) {
			struct cairn_shard_term term = cairn_shard_file_term(&file, i);
			cairn_shard_write_term(w, &term);
		}
		for (uint32_t i = 0; file.verifications && i < file.n_terms; i++) {
			struct cairn_hash range = cairn_shard_file_range_hash(&file, i);
			cairn_shard_write_range_hash(w, &range);
		}
		uint8_t sha256[32];
		if (cairn_shard_file_sha256(&file, sha256))
			cairn_shard_write_sha256(w, sha256);
	}
	while (cairn_shard_next_xorb(r, &xorb, &more, NULL) == CAIRN_OK && more) {
		cairn_shard_write_xorb(w, &xorb.hash, xorb.bytes_on_disk);
		for (uint32_t i = 0; i < xorb.n_chunks; i++) {
			struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(&xorb, i);
			cairn_shard_write_chunk(w, &chunk.hash, chunk.unpacked_bytes, chunk.flags);
		}
	}
}

START_TEST(test_written_back)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", CAPTURED_SHARDS[_i]);
	struct cairn_shard_reader r;
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, shard.len, NULL), CAIRN_OK);
	CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
	cairn_shard_writer_init(&w, shard.len);
	copy_sections(&r, &w);
	struct cairn_shard_footer footer;
	bool has_footer;
	const uint8_t *tables;
	size_t tables_len;
	ck_assert_int_eq(cairn_shard_reader_end(&r, &footer, &has_footer, &tables, &tables_len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	if (has_footer) {
		cairn_put_u64le(w.buf.bytes + 40, CAIRN_SHARD_FOOTER_BYTES);
		cairn_buf_add(&w.buf, tables, tables_len);
		cairn_shard_footer_write(&w.buf, &footer);
	}
	ck_assert_int_eq(w.buf.status, CAIRN_OK);
	ck_assert_uint_eq(w.buf.len, shard.len);
	ck_assert_mem_eq(w.buf.bytes, shard.bytes, shard.len);
}
END_TEST

/* Answers without lookup tables: the writer's footer equals the reference's. */
START_TEST(test_keyed_as_reference)
{
	static const char *const NAMES[] = {"dedupe/expiring", "dedupe/keyed", "dedupe/keyed_from_expiring"};
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", NAMES[_i]);
	CLEANUP(vec_json_freep) json_t *dump = captured_dump(NAMES[_i]);
	const json_t *footer = vec_get(dump, "footer");
	struct cairn_hash key = vec_hash(footer, "chunk_hash_hmac_key");
	struct cairn_shard_reader r;
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, shard.len, NULL), CAIRN_OK);
	CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
	cairn_shard_writer_init(&w, shard.len);
	copy_sections(&r, &w);
	ck_assert_int_eq(cairn_shard_writer_end_keyed(&w, &key, vec_u64(footer, "shard_creation_timestamp"),
						      vec_u64(footer, "shard_key_expiry")),
			 CAIRN_OK);
	ck_assert_uint_eq(w.buf.len, shard.len);
	ck_assert_mem_eq(w.buf.bytes, shard.bytes, shard.len);
}
END_TEST

START_TEST(test_keyed_sums)
{
	CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
	struct cairn_hash hash = {.b = {1}}, key = {.b = {9}};
	struct cairn_shard_term term = {.xorb = hash, .unpacked_bytes = 70, .end = 2};
	cairn_shard_writer_init(&w, 4096);
	cairn_shard_write_file(&w, &hash, 0);
	cairn_shard_write_term(&w, &term);
	cairn_shard_write_term(&w, &term);
	cairn_shard_write_xorb(&w, &hash, 33);
	cairn_shard_write_chunk(&w, &hash, 30, 0);
	cairn_shard_write_chunk(&w, &hash, 40, CAIRN_SHARD_CHUNK_ELIGIBLE);
	cairn_shard_write_xorb(&w, &key, 5);
	cairn_shard_write_chunk(&w, &hash, 7, 0);
	ck_assert_int_eq(cairn_shard_writer_end_keyed(&w, &key, 1000, 2000), CAIRN_OK);

	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more, has_footer;
	ck_assert_int_eq(cairn_shard_reader_init(&r, w.buf.bytes, w.buf.len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
	ck_assert_uint_eq(file.n_terms, 2);
	ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
	ck_assert(!more);
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
	ck_assert_uint_eq(xorb.n_chunks, 2);
	ck_assert_uint_eq(xorb.unpacked_bytes, 70);
	struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(&xorb, 1);
	ck_assert_uint_eq(chunk.start, 30);
	ck_assert_uint_eq(chunk.flags, CAIRN_SHARD_CHUNK_ELIGIBLE);
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
	ck_assert_uint_eq(xorb.n_chunks, 1);
	ck_assert_uint_eq(cairn_shard_xorb_chunk(&xorb, 0).start, 0);
	ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
	ck_assert(!more);
	struct cairn_shard_footer footer;
	const uint8_t *tables;
	size_t tables_len;
	ck_assert_int_eq(cairn_shard_reader_end(&r, &footer, &has_footer, &tables, &tables_len, NULL), CAIRN_OK);
	ck_assert(has_footer);
	ck_assert_uint_eq(tables_len, 0);
	ck_assert_uint_eq(footer.file_lookup_offset, footer.footer_offset);
	ck_assert_uint_eq(footer.cas_lookup_offset, footer.footer_offset);
	ck_assert_uint_eq(footer.chunk_lookup_offset, footer.footer_offset);
	ck_assert_uint_eq(footer.materialized_bytes, 140);
	ck_assert_uint_eq(footer.stored_bytes, 77);
	ck_assert_uint_eq(footer.stored_bytes_on_disk, 38);
	ck_assert_uint_eq(footer.created_unix_s, 1000);
	ck_assert_uint_eq(footer.key_expiry_unix_s, 2000);
	ck_assert(cairn_hash_equal(&footer.chunk_hash_key, &key));
}
END_TEST

/* Writes a whole shard into every smaller buffer. It is refused at the end, without writing past the limit. */
START_TEST(test_bound)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("shards/small.shard");
	for (size_t max = 0; max <= shard.len; max++) {
		struct cairn_shard_reader r;
		ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, shard.len, NULL), CAIRN_OK);
		CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
		cairn_shard_writer_init(&w, max);
		copy_sections(&r, &w);
		ck_assert_int_eq(cairn_shard_writer_end(&w), max < shard.len ? CAIRN_E_LIMIT : CAIRN_OK);
		ck_assert_uint_le(w.buf.cap, max);
	}
	struct cairn_hash key = {0};
	for (size_t max = 144; max <= 144 + 200; max++) {
		CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
		cairn_shard_writer_init(&w, max);
		ck_assert_int_eq(cairn_shard_writer_end_keyed(&w, &key, 0, 0),
				 max < 144 + 200 ? CAIRN_E_LIMIT : CAIRN_OK);
	}
}
END_TEST

/* An empty shard, and files without xorbs: both bookends are there. */
START_TEST(test_empty_sections)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes nothing = vec_read("variants/103_nothing.shard");
	CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
	cairn_shard_writer_init(&w, 4096);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	ck_assert_uint_eq(w.buf.len, nothing.len);
	ck_assert_mem_eq(w.buf.bytes, nothing.bytes, nothing.len);
}
END_TEST

#ifndef NDEBUG
static void misuse(int which)
{
	CLEANUP(cairn_shard_writer_fini) struct cairn_shard_writer w;
	struct cairn_hash hash = {.b = {1}};
	struct cairn_shard_term term = {.xorb = hash, .unpacked_bytes = 1, .end = 1};
	cairn_shard_writer_init(&w, 4096);
	if (which == 0) /* a term without a file */
		cairn_shard_write_term(&w, &term);
	if (which == 1) /* a chunk without a xorb */
		cairn_shard_write_chunk(&w, &hash, 1, 0);
	cairn_shard_write_file(&w, &hash, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	cairn_shard_write_term(&w, &term);
	if (which == 2) /* a range hash is missing */
		cairn_shard_write_file(&w, &hash, 0);
	cairn_shard_write_range_hash(&w, &hash);
	if (which == 3) /* one range hash too many */
		cairn_shard_write_range_hash(&w, &hash);
	if (which == 4) /* a term after the range hashes */
		cairn_shard_write_term(&w, &term);
	if (which == 5) /* metadata without its flag */
		cairn_shard_write_sha256(&w, hash.b);
	if (which == 9) /* metadata is missing */
		cairn_shard_write_file(&w, &hash, CAIRN_SHARD_FILE_WITH_METADATA);
	cairn_shard_write_xorb(&w, &hash, 0);
	if (which == 6) /* a file after the xorbs */
		cairn_shard_write_file(&w, &hash, 0);
	cairn_shard_write_chunk(&w, &hash, UINT32_MAX, 0);
	if (which == 7) /* more bytes than a u32 counts */
		cairn_shard_write_chunk(&w, &hash, 1, 0);
	enum cairn_status status = cairn_shard_writer_end(&w);
	if (which == 8 && status == CAIRN_OK) /* ended twice */
		status = cairn_shard_writer_end(&w);
}

START_TEST(test_misuse)
{
	misuse(_i);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("shard_writer");
	TCase *c = tcase_create("write");
	tcase_add_loop_test(c, test_written_back, 0, (int)CAPTURED_SHARDS_N);
	tcase_add_loop_test(c, test_keyed_as_reference, 0, 3);
	tcase_add_test(c, test_keyed_sums);
	tcase_add_test(c, test_bound);
	tcase_add_test(c, test_empty_sections);
#ifndef NDEBUG
	tcase_add_loop_test_raise_signal(c, test_misuse, SIGABRT, 0, 10);
#endif
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
