/* Tests every field of every captured shard, and each way in which a shard can be malformed. */
#include "base/bytes.h"
#include "hash/chunk_list.h"
#include "shard/reader.h"
#include "shard/records.h"
#include "support/captured.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect_reserved(const json_t *record, const uint8_t *bytes)
{
	char text[2 * 16 + 1];
	cairn_hex_text(text, bytes + 32, 16);
	ck_assert_str_eq(text, vec_string(record, "_unused"));
}

static void expect_term(const struct cairn_shard_file *file, uint32_t i, const json_t *expected)
{
	struct cairn_shard_term term = cairn_shard_file_term(file, i);
	struct cairn_hash xorb = vec_hash(expected, "cas_hash");
	ck_assert_uint_eq(cairn_shard_file_term_offset(file, i), vec_u64(expected, "offset"));
	ck_assert(cairn_hash_equal(&term.xorb, &xorb));
	ck_assert_uint_eq(term.flags, vec_u64(expected, "cas_flags"));
	ck_assert_uint_eq(term.unpacked_bytes, vec_u64(expected, "unpacked_segment_bytes"));
	ck_assert_uint_eq(term.start, vec_u64(expected, "chunk_index_start"));
	ck_assert_uint_eq(term.end, vec_u64(expected, "chunk_index_end"));
}

static void expect_verification(const struct cairn_shard_file *file, uint32_t i, const json_t *expected)
{
	struct cairn_hash range = cairn_shard_file_range_hash(file, i), wanted = vec_hash(expected, "range_hash");
	ck_assert_uint_eq(cairn_shard_file_verification_offset(file, i), vec_u64(expected, "offset"));
	ck_assert(cairn_hash_equal(&range, &wanted));
	expect_reserved(expected, file->verifications + (size_t)i * CAIRN_SHARD_RECORD_BYTES);
}

static void expect_metadata(const struct cairn_shard_file *file, const json_t *expected)
{
	uint8_t sha256[32];
	ck_assert(cairn_shard_file_sha256(file, sha256) == json_is_object(expected));
	if (!json_is_object(expected))
		return;
	char text[65];
	cairn_hex_text(text, sha256, 32);
	ck_assert_str_eq(text, vec_string(expected, "sha256_u64le_hex"));
	expect_reserved(expected, file->metadata);
}

static void expect_file(const struct cairn_shard_file *file, const json_t *expected)
{
	struct cairn_hash hash = vec_hash(expected, "file_hash");
	ck_assert_uint_eq(file->offset, vec_u64(expected, "offset"));
	ck_assert(cairn_hash_equal(&file->hash, &hash));
	ck_assert_uint_eq(file->flags, vec_u64(expected, "file_flags"));
	ck_assert_uint_eq(file->n_terms, vec_u64(expected, "num_entries"));
	ck_assert_uint_eq(file->reserved, vec_u64(expected, "_unused"));
	const json_t *terms = vec_get(expected, "entries"), *ranges = json_object_get(expected, "verification");
	ck_assert_uint_eq(json_array_size(terms), file->n_terms);
	ck_assert_uint_eq(json_array_size(ranges), file->verifications ? file->n_terms : 0);
	for (uint32_t i = 0; i < file->n_terms; i++)
		expect_term(file, i, json_array_get(terms, i));
	for (uint32_t i = 0; i < json_array_size(ranges); i++)
		expect_verification(file, i, json_array_get(ranges, i));
	expect_metadata(file, json_object_get(expected, "metadata_ext"));
}

static void expect_xorb(const struct cairn_shard_xorb *xorb, const json_t *expected)
{
	struct cairn_hash hash = vec_hash(expected, "cas_hash");
	ck_assert_uint_eq(xorb->offset, vec_u64(expected, "offset"));
	ck_assert(cairn_hash_equal(&xorb->hash, &hash));
	ck_assert_uint_eq(xorb->flags, vec_u64(expected, "cas_flags"));
	ck_assert_uint_eq(xorb->n_chunks, vec_u64(expected, "num_entries"));
	ck_assert_uint_eq(xorb->unpacked_bytes, vec_u64(expected, "num_bytes_in_cas"));
	ck_assert_uint_eq(xorb->bytes_on_disk, vec_u64(expected, "num_bytes_on_disk"));
	const json_t *chunks = vec_get(expected, "chunks");
	ck_assert_uint_eq(json_array_size(chunks), xorb->n_chunks);
	for (uint32_t i = 0; i < xorb->n_chunks; i++) {
		const json_t *wanted = json_array_get(chunks, i);
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		struct cairn_hash chunk_hash = vec_hash(wanted, "chunk_hash");
		ck_assert_uint_eq(cairn_shard_xorb_chunk_offset(xorb, i), vec_u64(wanted, "offset"));
		ck_assert(cairn_hash_equal(&chunk.hash, &chunk_hash));
		ck_assert_uint_eq(chunk.start, vec_u64(wanted, "chunk_byte_range_start"));
		ck_assert_uint_eq(chunk.unpacked_bytes, vec_u64(wanted, "unpacked_segment_bytes"));
		ck_assert_uint_eq(chunk.flags, vec_u64(wanted, "flags"));
		ck_assert_uint_eq(chunk.reserved, vec_u64(wanted, "_unused"));
	}
}

static void expect_footer(const struct cairn_shard_footer *f, const json_t *expected)
{
	struct cairn_hash key = vec_hash(expected, "chunk_hash_hmac_key");
	ck_assert_uint_eq(f->file_info_offset, vec_u64(expected, "file_info_offset"));
	ck_assert_uint_eq(f->cas_info_offset, vec_u64(expected, "cas_info_offset"));
	ck_assert_uint_eq(f->file_lookup_offset, vec_u64(expected, "file_lookup_offset"));
	ck_assert_uint_eq(f->file_lookup_count, vec_u64(expected, "file_lookup_num_entry"));
	ck_assert_uint_eq(f->cas_lookup_offset, vec_u64(expected, "cas_lookup_offset"));
	ck_assert_uint_eq(f->cas_lookup_count, vec_u64(expected, "cas_lookup_num_entry"));
	ck_assert_uint_eq(f->chunk_lookup_offset, vec_u64(expected, "chunk_lookup_offset"));
	ck_assert_uint_eq(f->chunk_lookup_count, vec_u64(expected, "chunk_lookup_num_entry"));
	ck_assert(cairn_hash_equal(&f->chunk_hash_key, &key));
	ck_assert_uint_eq(f->created_unix_s, vec_u64(expected, "shard_creation_timestamp"));
	ck_assert_uint_eq(f->key_expiry_unix_s, vec_u64(expected, "shard_key_expiry"));
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_eq(f->reserved[i],
				  (uint64_t)json_integer_value(json_array_get(vec_get(expected, "_buffer"), i)));
	ck_assert_uint_eq(f->stored_bytes_on_disk, vec_u64(expected, "stored_bytes_on_disk"));
	ck_assert_uint_eq(f->materialized_bytes, vec_u64(expected, "materialized_bytes"));
	ck_assert_uint_eq(f->stored_bytes, vec_u64(expected, "stored_bytes"));
	ck_assert_uint_eq(f->footer_offset, vec_u64(expected, "footer_offset"));
}

static void expect_end(struct cairn_shard_reader *r, const json_t *dump)
{
	struct cairn_shard_footer footer;
	bool has_footer;
	const uint8_t *tables;
	size_t tables_len;
	ck_assert_int_eq(cairn_shard_reader_end(r, &footer, &has_footer, &tables, &tables_len, NULL), CAIRN_OK);
	const json_t *expected = vec_get(dump, "footer");
	ck_assert(has_footer == json_is_object(expected));
	if (!has_footer)
		return;
	expect_footer(&footer, expected);
	ck_assert_uint_eq(tables_len, vec_u64(dump, "lookup_section_bytes"));
	ck_assert_uint_eq((uint64_t)(tables - r->cur.start), vec_u64(dump, "after_cas_bookend"));
}

START_TEST(test_golden)
{
	const char *name = CAPTURED_SHARDS[_i];
	CLEANUP(vec_json_freep) json_t *dump = captured_dump(name);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", name);
	struct cairn_shard_reader r;
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, shard.len, NULL), CAIRN_OK);
	ck_assert_uint_eq(r.footer_bytes, vec_u64(vec_get(dump, "header"), "footer_size"));
	const json_t *files = vec_get(dump, "files"), *xorbs = vec_get(dump, "xorbs");
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more;
	size_t n = 0;
	for (;;) {
		ck_assert_int_eq(cairn_shard_next_file(&r, &file, &more, NULL), CAIRN_OK);
		if (!more)
			break;
		expect_file(&file, json_array_get(files, n++));
	}
	ck_assert_uint_eq(n, json_array_size(files));
	ck_assert_uint_eq(r.cas_info_offset, vec_u64(vec_get(dump, "file_bookend"), "offset") + 48);
	for (n = 0;; n++) {
		ck_assert_int_eq(cairn_shard_next_xorb(&r, &xorb, &more, NULL), CAIRN_OK);
		if (!more)
			break;
		expect_xorb(&xorb, json_array_get(xorbs, n));
	}
	ck_assert_uint_eq(n, json_array_size(xorbs));
	expect_end(&r, dump);
}
END_TEST

/* Reads the whole shard, and every field of every record. */
static enum cairn_status walk(const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more = true;
	uint64_t seen = 0;
	enum cairn_status status = cairn_shard_reader_init(&r, bytes, len, diag);
	while (status == CAIRN_OK && more) {
		status = cairn_shard_next_file(&r, &file, &more, diag);
		for (uint32_t i = 0; status == CAIRN_OK && more && i < file.n_terms; i++) {
			seen += cairn_shard_file_term(&file, i).end;
			if (file.verifications)
				seen += cairn_shard_file_range_hash(&file, i).b[0];
		}
	}
	more = true;
	while (status == CAIRN_OK && more) {
		status = cairn_shard_next_xorb(&r, &xorb, &more, diag);
		for (uint32_t i = 0; status == CAIRN_OK && more && i < xorb.n_chunks; i++)
			seen += cairn_shard_xorb_chunk(&xorb, i).start;
	}
	ck_assert_uint_ne(seen, UINT64_MAX);
	struct cairn_shard_footer footer;
	bool has_footer;
	const uint8_t *tables;
	size_t tables_len;
	return status == CAIRN_OK ? cairn_shard_reader_end(&r, &footer, &has_footer, &tables, &tables_len, diag)
				  : status;
}

START_TEST(test_cut_anywhere)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", CAPTURED_SHARDS[_i]);
	size_t step = shard.len > 8192 ? 7 : 1;
	ck_assert_int_eq(walk(shard.bytes, shard.len, NULL), CAIRN_OK);
	for (size_t len = 0; len < shard.len; len += step) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(shard.bytes, len);
		struct cairn_diag diag = {0};
		ck_assert_int_eq(walk(cut.bytes, cut.len, &diag), CAIRN_E_FORMAT);
		ck_assert_ptr_nonnull(diag.rule);
		ck_assert_uint_le(diag.offset, len);
		ck_assert_str_ne(diag.text, "");
	}
}
END_TEST

/* A change to a shard: a little-endian u64 (or its low bytes) at an offset, from the footer if so marked. */
static const struct {
	const char *shard;
	bool in_footer;
	uint64_t at;
	unsigned n_bytes;
	uint64_t value;
	const char *rule;
	uint64_t offset; /* offset in the diagnosis, which counts alike */
	const char *expected, *actual;
} BROKEN[] = {
	{"shards/small", false, 0, 1, 'h', "shard.tag", 0, "", ""},
	{"shards/small", false, 31, 1, 0, "shard.tag", 0, "", ""},
	{"shards/small", false, 32, 8, 3, "shard.version", 32, "2", "3"},
	{"shards/small", false, 40, 8, 199, "shard.footer_size", 40, NULL, NULL},
	{"shards/small", false, 40, 8, UINT64_C(200) << 32, "shard.footer_size", 40, NULL, NULL},
	{"shards/small", false, 84, 4, UINT32_MAX, "file.num_entries", 84, "412316860368", "336"},
	{"shards/small", false, 84, 4, 4, "file.num_entries", 84, "432", "336"},
	{"shards/small", false, 324, 4, UINT32_MAX, "xorb.num_entries", 324, "206158430160", "96"},
	{"shards/small", false, 324, 4, 3, "xorb.num_entries", 324, "144", "96"},
	{"shards/small", false, 324, 4, 2, "shard.truncated", 432, "48", "0"},
	{"js/js_1", false, 40, 8, 0, "shard.trailing", 432, "0", "200"},
	{"js/js_1", true, 0, 8, 0, "shard.footer_version", 0, "1", "0"},
	{"js/js_1", true, 0, 8, 2, "shard.footer_version", 0, "1", "2"},
	{"js/js_1", true, 8, 8, 0, "shard.footer_offset", 8, "48", "0"},
	{"js/js_1", true, 16, 8, 287, "shard.footer_offset", 16, "288", "287"},
	{"js/js_1", true, 192, 8, 433, "shard.footer_offset", 192, "432", "433"},
	{"js/js_1", true, 24, 8, 431, "shard.footer_lookup", 24, "", ""},
	{"js/js_1", true, 24, 8, 433, "shard.footer_lookup", 24, "", ""},
	{"js/js_1", true, 40, 8, 433, "shard.footer_lookup", 40, "", ""},
	{"js/js_1", true, 56, 8, UINT64_MAX, "shard.footer_lookup", 56, "", ""},
	{"js/js_1", true, 64, 8, 1, "shard.footer_lookup", 56, "", ""},
	{"dedupe/plain", true, 32, 8, 6, "shard.footer_lookup", 24, "1248", "1236"},
	{"dedupe/plain", true, 48, 8, 2, "shard.footer_lookup", 24, "1248", "1260"},
	{"dedupe/plain", true, 64, 8, 73, "shard.footer_lookup", 56, "", ""},
	{"dedupe/plain", true, 64, 8, UINT64_MAX, "shard.footer_lookup", 56, "", ""},
	{"dedupe/plain", true, 56, 8, 5183, "", 0, NULL, NULL}, /* tables are returned, not read */
};

START_TEST(test_broken)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", BROKEN[_i].shard);
	uint64_t base = BROKEN[_i].in_footer ? shard.len - CAIRN_SHARD_FOOTER_BYTES : 0;
	uint8_t value[8];
	cairn_put_u64le(value, BROKEN[_i].value);
	memcpy(shard.bytes + base + BROKEN[_i].at, value, BROKEN[_i].n_bytes);
	struct cairn_diag diag = {0};
	enum cairn_status status = walk(shard.bytes, shard.len, &diag);
	if (*BROKEN[_i].rule == '\0') {
		ck_assert_int_eq(status, CAIRN_OK);
		return;
	}
	ck_assert_int_eq(status, CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, BROKEN[_i].rule);
	ck_assert_uint_eq(diag.offset, base + BROKEN[_i].offset);
	if (BROKEN[_i].expected) {
		ck_assert_str_eq(diag.expected, BROKEN[_i].expected);
		ck_assert_str_eq(diag.actual, BROKEN[_i].actual);
	}
	ck_assert_int_eq(walk(shard.bytes, shard.len, NULL), CAIRN_E_FORMAT);
}
END_TEST

/* Sizes around those of the header and the footer. */
START_TEST(test_short)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("shards/empty_only.shard");
	struct cairn_shard_reader r;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, 47, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "shard.truncated");
	ck_assert_str_eq(diag.actual, "47");
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard.bytes, 48, NULL), CAIRN_OK);
	cairn_put_u64le(shard.bytes + 40, CAIRN_SHARD_FOOTER_BYTES);
	CLEANUP(vec_bytes_fini) struct vec_bytes longer = {.bytes = calloc(1, 440), .len = 440};
	memcpy(longer.bytes, shard.bytes, shard.len);
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(walk(longer.bytes, 240 + 199, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "shard.footer_missing");
	ck_assert_str_eq(diag.actual, "199");
	ck_assert_uint_eq(diag.offset, 240);
}
END_TEST

/* A hash may begin or end like a bookend. */
START_TEST(a_bookend_is_32_bytes_of_ff)
{
	uint8_t rec[CAIRN_SHARD_RECORD_BYTES];
	cairn_shard_bookend_put(rec);
	ck_assert(cairn_shard_is_bookend(rec));
	memset(rec + CAIRN_HASH_BYTES, 0x5a, sizeof(rec) - CAIRN_HASH_BYTES);
	ck_assert(cairn_shard_is_bookend(rec));
	for (size_t i = 0; i < CAIRN_HASH_BYTES; i++) {
		rec[i] = 0xfe;
		ck_assert(!cairn_shard_is_bookend(rec));
		rec[i] = 0xff;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shard_reader");
	TCase *c = tcase_create("read");
	tcase_add_loop_test(c, test_golden, 0, (int)CAPTURED_SHARDS_N);
	tcase_add_loop_test(c, test_cut_anywhere, 0, (int)CAPTURED_SHARDS_N);
	tcase_add_loop_test(c, test_broken, 0, (int)(sizeof(BROKEN) / sizeof(BROKEN[0])));
	tcase_add_test(c, test_short);
	tcase_add_test(c, a_bookend_is_32_bytes_of_ff);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
