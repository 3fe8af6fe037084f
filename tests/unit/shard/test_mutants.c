/* Damaged shards: each mutant of the reference is refused for its own reason. Truncated shards and those with a flipped
 * bit are refused, too. */
#include "support/captured.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The rule that refuses each mutant, and the offset. Mutants that are not in the table are accepted. */
static const struct {
	const char *name;
	enum cairn_status status;
	const char *rule;
	uint64_t offset;
} REFUSED[] = {
	{"empty_body", CAIRN_E_FORMAT, "shard.truncated", 0},
	{"bad_magic_first_byte", CAIRN_E_FORMAT, "shard.tag", 0},
	{"bad_magic_last_byte", CAIRN_E_FORMAT, "shard.tag", 0},
	{"not_a_shard", CAIRN_E_FORMAT, "shard.tag", 0},
	{"header_version_0", CAIRN_E_FORMAT, "shard.version", 32},
	{"header_version_1", CAIRN_E_FORMAT, "shard.version", 32},
	{"header_version_3", CAIRN_E_FORMAT, "shard.version", 32},
	{"header_version_18446744073709551615", CAIRN_E_FORMAT, "shard.version", 32},
	{"footer_size_200_absent", CAIRN_E_FORMAT, "shard.footer_missing", 5088},
	{"footer_size_7", CAIRN_E_FORMAT, "shard.footer_size", 40},
	{"footer_size_huge", CAIRN_E_FORMAT, "shard.footer_size", 40},
	{"truncated_in_tag", CAIRN_E_FORMAT, "shard.truncated", 20},
	{"truncated_after_tag", CAIRN_E_FORMAT, "shard.truncated", 32},
	{"truncated_in_header", CAIRN_E_FORMAT, "shard.truncated", 44},
	{"truncated_after_header", CAIRN_E_FORMAT, "shard.truncated", 48},
	{"truncated_in_file_header", CAIRN_E_FORMAT, "shard.truncated", 144},
	{"truncated_after_file_header", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"truncated_in_file_entry", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"truncated_in_verification", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"truncated_before_metadata", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"truncated_in_metadata", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"truncated_before_file_bookend", CAIRN_E_FORMAT, "shard.truncated", 1488},
	{"truncated_in_file_bookend", CAIRN_E_FORMAT, "shard.truncated", 1488},
	{"truncated_after_file_bookend", CAIRN_E_FORMAT, "shard.truncated", 1536},
	{"truncated_in_cas_header", CAIRN_E_FORMAT, "shard.truncated", 1536},
	{"truncated_after_cas_header", CAIRN_E_FORMAT, "xorb.num_entries", 1572},
	{"truncated_in_cas_chunk", CAIRN_E_FORMAT, "xorb.num_entries", 1572},
	{"truncated_before_last_cas_chunk", CAIRN_E_FORMAT, "xorb.num_entries", 1572},
	{"truncated_before_cas_bookend", CAIRN_E_FORMAT, "shard.truncated", 5040},
	{"truncated_in_cas_bookend", CAIRN_E_FORMAT, "shard.truncated", 5040},
	{"truncated_one_byte_short", CAIRN_E_FORMAT, "shard.truncated", 5040},
	{"no_file_bookend", CAIRN_E_FORMAT, "shard.truncated", 5040},
	{"no_cas_bookend_but_file", CAIRN_E_FORMAT, "shard.truncated", 5040},
	{"no_bookends", CAIRN_E_FORMAT, "shard.truncated", 4992},
	{"bookend_31_ff", CAIRN_E_FORMAT, "shard.truncated", 5088},
	{"flag_verification_cleared_entries_kept", CAIRN_E_FORMAT, "file.verification_missing", 144},
	{"flag_metadata_cleared_entry_kept", CAIRN_E_FORMAT, "file.no_terms", 480},
	{"flag_metadata_set_entry_missing", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"flag_verification_set_entries_missing", CAIRN_E_FORMAT, "file.num_entries", 756},
	{"mixed_verification", CAIRN_E_FORMAT, "file.verification_missing", 144},
	{"no_verification_at_all", CAIRN_E_FORMAT, "file.verification_missing", 48},
	{"range_hash_wrong", CAIRN_E_MISMATCH, "term.range_hash", 336},
	{"range_hash_zero", CAIRN_E_MISMATCH, "term.range_hash", 336},
	{"range_hashes_swapped", CAIRN_E_MISMATCH, "term.range_hash", 336},
	{"terms_swapped", CAIRN_E_MISMATCH, "file.hash", 144},
	{"term_missing", CAIRN_E_MISMATCH, "file.hash", 144},
	{"file_hash_wrong", CAIRN_E_MISMATCH, "file.hash", 144},
	{"file_hash_is_merkle_root", CAIRN_E_MISMATCH, "file.hash", 144},
	{"file_hash_zero_nonempty", CAIRN_E_MISMATCH, "file.hash", 144},
	{"chunk_hash_wrong", CAIRN_E_MISMATCH, "xorb.hash", 1536},
	{"xorb_hash_wrong", CAIRN_E_MISMATCH, "xorb.hash", 1536},
	{"chunk_length_wrong_consistent", CAIRN_E_MISMATCH, "xorb.hash", 1536},
	{"chunk_hashes_swapped", CAIRN_E_MISMATCH, "xorb.hash", 1536},
	{"cas_chunk_missing", CAIRN_E_MISMATCH, "xorb.hash", 1536},
	{"chunk_offsets_gap", CAIRN_E_MISMATCH, "xorb.chunk_offset", 1664},
	{"chunk_offsets_overlap", CAIRN_E_MISMATCH, "xorb.chunk_offset", 1664},
	{"chunk_offset_first_nonzero", CAIRN_E_MISMATCH, "xorb.chunk_offset", 1616},
	{"num_bytes_in_cas_plus1", CAIRN_E_MISMATCH, "xorb.unpacked_bytes", 1576},
	{"num_bytes_in_cas_zero", CAIRN_E_MISMATCH, "xorb.unpacked_bytes", 1576},
	{"cas_zero_chunks", CAIRN_E_FORMAT, "xorb.empty", 5040},
	{"cas_zero_chunks_named", CAIRN_E_FORMAT, "xorb.empty", 1536},
	{"chunk_length_zero", CAIRN_E_FORMAT, "xorb.chunk_length", 1620},
	{"chunk_length_huge", CAIRN_E_FORMAT, "xorb.chunk_length", 5028},
	{"term_end_out_of_range", CAIRN_E_MISMATCH, "term.range", 232},
	{"term_end_max", CAIRN_E_MISMATCH, "term.range", 232},
	{"term_start_out_of_range", CAIRN_E_MISMATCH, "term.range", 232},
	{"term_start_equals_end", CAIRN_E_MISMATCH, "term.range", 232},
	{"term_start_after_end", CAIRN_E_MISMATCH, "term.range", 232},
	{"term_unpacked_plus1", CAIRN_E_MISMATCH, "term.unpacked_bytes", 228},
	{"term_unpacked_zero", CAIRN_E_MISMATCH, "term.unpacked_bytes", 228},
	{"term_unpacked_max", CAIRN_E_MISMATCH, "term.unpacked_bytes", 228},
	{"term_unknown_xorb", CAIRN_E_NOT_FOUND, "term.unknown_xorb", 192},
	{"cas_only_unknown_xorb", CAIRN_E_MISMATCH, "xorb.hash", 96},
	{"cas_phantom_xorb", CAIRN_E_NOT_FOUND, "xorb.not_stored", 5040},
	{"phantom_file_and_xorb", CAIRN_E_NOT_FOUND, "xorb.not_stored", 5232},
	{"file_zero_entries", CAIRN_E_FORMAT, "file.no_terms", 1488},
	{"file_num_entries_max", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"file_num_entries_2e31", CAIRN_E_FORMAT, "file.num_entries", 180},
	{"file_num_entries_plus1", CAIRN_E_FORMAT, "file.no_terms", 624},
	{"cas_num_entries_max", CAIRN_E_FORMAT, "xorb.num_entries", 1572},
	{"cas_num_entries_plus1", CAIRN_E_FORMAT, "shard.truncated", 5088},
	{"cas_num_entries_minus1", CAIRN_E_FORMAT, "xorb.num_entries", 5028},
	{"trailing_byte", CAIRN_E_FORMAT, "shard.trailing", 5088},
	{"trailing_48_zero", CAIRN_E_FORMAT, "shard.trailing", 5088},
	{"trailing_shard", CAIRN_E_FORMAT, "shard.trailing", 5088},
	{"with_footer_size_zero", CAIRN_E_FORMAT, "shard.trailing", 5088},
	{"with_footer_bad_version", CAIRN_E_FORMAT, "shard.footer_version", 5088},
	{"with_footer_bad_offset", CAIRN_E_FORMAT, "shard.footer_offset", 5104},
	{"dedupe_term_verification_wrong", CAIRN_E_MISMATCH, "term.range_hash", 192},
};
enum { REFUSED_N = sizeof(REFUSED) / sizeof(REFUSED[0]), MUTANTS_N = 108 };

static int refused_find(const char *name)
{
	for (int i = 0; i < REFUSED_N; i++)
		if (strcmp(REFUSED[i].name, name) == 0)
			return i;
	return -1;
}

START_TEST(test_mutant)
{
	CLEANUP(vec_json_freep) json_t *mutants = vec_json_lines("invalid.jsonl");
	ck_assert_uint_eq(json_array_size(mutants), MUTANTS_N);
	const json_t *mutant = json_array_get(mutants, (size_t)_i);
	const char *name = vec_string(mutant, "name");
	CLEANUP(captured_store_fini) struct made_store store = captured_store(vec_get(mutant, "upload_first"));
	struct cairn_verify_resolver resolver = made_resolver(&store);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s", vec_string(mutant, "file"));
	struct cairn_diag diag = {0};
	struct cairn_verify_summary sum;
	enum cairn_status status = cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, &diag);
	int i = refused_find(name);
	ck_assert_msg((i >= 0) == (vec_u64(mutant, "expect") == 400), "%s: the table disagrees with the set", name);
	if (i < 0) {
		ck_assert_msg(status == CAIRN_OK, "%s: %s: %s", name, diag.rule, diag.text);
		ck_assert_ptr_null(diag.rule);
		return;
	}
	ck_assert_msg(status == REFUSED[i].status, "%s: %s", name, cairn_status_name(status));
	ck_assert_str_eq(diag.rule, REFUSED[i].rule);
	ck_assert(diag.has_offset);
	ck_assert_uint_eq(diag.offset, REFUSED[i].offset);
	ck_assert_str_ne(diag.text, "");
	ck_assert_uint_lt(strlen(diag.text), sizeof(diag.text) - 1);
	ck_assert_int_eq(cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, NULL), status);
}
END_TEST

static const char *const VALID[] = {"shards/medium", "shards/dedupe", "shards/empty_only", "js/js_1", "js/js_3"};
enum { VALID_N = sizeof(VALID) / sizeof(VALID[0]) };

START_TEST(test_cut_anywhere)
{
	CLEANUP(captured_store_fini) struct made_store store = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&store);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", VALID[_i]);
	struct cairn_verify_summary sum;
	ck_assert_int_eq(cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, NULL), CAIRN_OK);
	for (size_t len = 0; len < shard.len; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(shard.bytes, len);
		struct cairn_diag diag = {0};
		ck_assert_int_ne(cairn_verify_shard(cut.bytes, cut.len, NULL, &resolver, &sum, &diag), CAIRN_OK);
		ck_assert_ptr_nonnull(diag.rule);
		ck_assert_uint_le(diag.offset, len);
	}
}
END_TEST

static void free_bits(uint8_t *judged, uint64_t at, size_t n)
{
	memset(judged + at, 0, n);
}

/* Marks the bits of a shard that are verified: 1 for each that must not change. */
static uint8_t *judged_bits(const struct vec_bytes *shard)
{
	uint8_t *judged = malloc(shard->len);
	ck_assert_ptr_nonnull(judged);
	memset(judged, 0xff, shard->len);
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more;
	ck_assert_int_eq(cairn_shard_reader_init(&r, shard->bytes, shard->len, NULL), CAIRN_OK);
	while (cairn_shard_next_file(&r, &file, &more, NULL) == CAIRN_OK && more) {
		free_bits(judged, file.offset + 32, 3);
		judged[file.offset + 35] = 0xc0; /* only two flags have a meaning */
		free_bits(judged, file.offset + 40, 8);
		for (uint32_t i = 0; i < file.n_terms; i++) {
			free_bits(judged, cairn_shard_file_term_offset(&file, i) + 32, 4);
			free_bits(judged, cairn_shard_file_verification_offset(&file, i) + 32, 16);
		}
		if (file.metadata)
			free_bits(judged, (uint64_t)(file.metadata - shard->bytes), 48);
	}
	free_bits(judged, r.cas_info_offset - 16, 16);
	while (cairn_shard_next_xorb(&r, &xorb, &more, NULL) == CAIRN_OK && more) {
		free_bits(judged, xorb.offset + 32, 4);
		free_bits(judged, xorb.offset + 44, 4);
		for (uint32_t i = 0; i < xorb.n_chunks; i++)
			free_bits(judged, cairn_shard_xorb_chunk_offset(&xorb, i) + 40, 8);
	}
	free_bits(judged, cairn_cur_offset(&r.cur) - 16, 16);
	if (r.footer_bytes > 0)
		free_bits(judged, shard->len - CAIRN_SHARD_FOOTER_BYTES + 104, 88);
	return judged;
}

/* Makes 20,000 changes of one byte. A shard is accepted if and only if no verified bit changed. */
START_TEST(test_flipped)
{
	CLEANUP(captured_store_fini) struct made_store store = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&store);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", VALID[_i]);
	uint8_t *judged = judged_bits(&shard);
	uint64_t seed = 20000 + (uint64_t)_i;
	unsigned n_accepted = 0;
	for (int i = 0; i < 20000 / VALID_N; i++) {
		size_t at = vec_splitmix64(&seed) % shard.len;
		uint8_t change = (uint8_t)(1 + vec_splitmix64(&seed) % 255);
		shard.bytes[at] ^= change;
		struct cairn_diag diag = {0};
		struct cairn_verify_summary sum;
		enum cairn_status status = cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &sum, &diag);
		bool unjudged = (judged[at] & change) == 0;
		ck_assert_msg((status == CAIRN_OK) == unjudged, "byte %zu, bits %02x: %s", at, change,
			      diag.rule ? diag.rule : "accepted");
		n_accepted += status == CAIRN_OK;
		shard.bytes[at] ^= change;
	}
	ck_assert_uint_gt(n_accepted, 100);
	free(judged);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mutants");
	TCase *c = tcase_create("mutants");
	tcase_add_loop_test(c, test_mutant, 0, MUTANTS_N);
	tcase_add_loop_test(c, test_cut_anywhere, 0, VALID_N);
	tcase_add_loop_test(c, test_flipped, 0, VALID_N);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
