/* The verifier with uploads of the stock clients, with damaged copies of these, and at its limits. */
#include "base/bytes.h"
#include "support/captured.h"
#include "support/run.h"
#include "support/vectors.h"
#include "support/xorbs.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Compares the chunk list with the xorb's description. */
static void xorb_check_list(const struct cairn_chunk_list *list, const json_t *described)
{
	const json_t *chunks = vec_get(described, "chunks");
	ck_assert_uint_eq(list->n, json_array_size(chunks));
	for (uint32_t i = 0; i < list->n; i++) {
		const json_t *chunk = json_array_get(chunks, i);
		struct cairn_hash hash = vec_hash(chunk, "hash");
		ck_assert(cairn_hash_equal(&list->hashes[i], &hash));
		ck_assert_uint_eq(list->spans[i].unpacked_bytes, vec_u64(chunk, "uncompressed_length"));
		ck_assert_uint_eq(list->spans[i].end,
				  vec_u64(chunk, "header_offset") + 8 + vec_u64(chunk, "compressed_length"));
	}
}

/* Every captured xorb is accepted, whole and in pieces: it must not matter how a body is cut. */
START_TEST(xorb_captured_are_accepted)
{
	const char *name = CAPTURED_XORBS[_i];
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", name);
	CLEANUP(vec_json_freep) json_t *described = vec_json("%s.json", name);
	struct cairn_hash expected = vec_hash_text(strrchr(name, '/') + 1);
	const size_t pieces[] = {body.len, 4096, 7, 1};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		if (body.len / pieces[i] > 500000)
			break; /* the shorter xorbs are enough */
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, pieces[i], NULL, &expected);
		ck_assert_msg(got.status == CAIRN_OK, "%s: %s", name, got.diag.text);
		ck_assert(cairn_hash_equal(&got.summary.root, &expected));
		ck_assert_uint_eq(got.summary.chunk_data_bytes, body.len);
		ck_assert_uint_eq(got.summary.unpacked_bytes, vec_u64(described, "unpacked_length"));
		ck_assert(!got.summary.has_footer);
		xorb_check_list(&got.list, described);
	}
}
END_TEST

START_TEST(xorb_captured_have_every_scheme)
{
	uint32_t seen[3] = {0};
	for (size_t i = 0; i < CAPTURED_XORBS_N; i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", CAPTURED_XORBS[i]);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, body.len, NULL, NULL);
		ck_assert_int_eq(got.status, CAIRN_OK);
		uint32_t n = 0;
		for (size_t s = 0; s < 3; s++) {
			seen[s] += got.summary.chunks_of_scheme[s];
			n += got.summary.chunks_of_scheme[s];
		}
		ck_assert_uint_eq(n, got.list.n);
	}
	for (size_t s = 0; s < 3; s++)
		ck_assert_uint_gt(seen[s], 0);
}
END_TEST

/* The rule by which each mutant is refused. */
static const struct {
	const char *name;
	enum cairn_status status;
	const char *rule; /* NULL: accepted */
	const char *text; /* part of the message */
} MUTANTS[] = {
	{"good_one_chunk", CAIRN_OK, NULL, NULL},
	{"empty_body", CAIRN_E_FORMAT, "xorb.empty", "holds no chunk"},
	{"hash_mismatch", CAIRN_E_MISMATCH, "xorb.hash", "do not have the hash"},
	{"path_hash_upper", CAIRN_OK, NULL, NULL},
	{"truncated_header", CAIRN_E_FORMAT, "xorb.truncated", "in the header of chunk 1, 3 bytes short"},
	{"truncated_body", CAIRN_E_FORMAT, "xorb.truncated", "in the data of chunk 0, 1 bytes short"},
	{"chunk_version_1", CAIRN_E_FORMAT, "xorb.chunk_version", "1 is not a known chunk header version"},
	{"scheme_3", CAIRN_E_FORMAT, "xorb.chunk_scheme", "3 is not a known compression scheme"},
	{"scheme_99", CAIRN_E_FORMAT, "xorb.chunk_scheme", "99 is not a known compression scheme"},
	{"ulen_plus1", CAIRN_E_LIMIT, "xorb.chunk_too_large", "131073 raw bytes is over the limit of 131072"},
	{"ulen_over_max", CAIRN_E_LIMIT, "xorb.chunk_too_large", "131073 raw bytes is over the limit of 131072"},
	{"body_flipped", CAIRN_E_FORMAT, "xorb.chunk_lz4", "not a valid LZ4 frame"},
	{"ulen_zero_chunk", CAIRN_E_FORMAT, "xorb.chunk_empty", "leave empty chunks out"},
	{"with_footer", CAIRN_OK, NULL, NULL},
};

START_TEST(xorb_mutants_are_refused_for_their_cause)
{
	CLEANUP(vec_json_freep) json_t *lines = vec_json_lines("invalid_xorbs.jsonl");
	ck_assert_uint_eq(json_array_size(lines), sizeof(MUTANTS) / sizeof(*MUTANTS) + 2);
	/* two lines have a path hash that is not a hash */
	struct cairn_hash hash;
	const char *short_hash = vec_string(vec_find(lines, "name", "path_hash_short"), "path_hash");
	const char *no_hash = vec_string(vec_find(lines, "name", "path_hash_nonhex"), "path_hash");
	ck_assert_int_eq(cairn_hash_parse(&hash, short_hash, strlen(short_hash)), CAIRN_E_FORMAT);
	ck_assert_int_eq(cairn_hash_parse(&hash, no_hash, strlen(no_hash)), CAIRN_E_FORMAT);

	for (size_t i = 0; i < sizeof(MUTANTS) / sizeof(*MUTANTS); i++) {
		const json_t *line = vec_find(lines, "name", MUTANTS[i].name);
		CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", vec_string(line, "file"));
		struct cairn_hash expected = vec_hash(line, "path_hash");
		const size_t pieces[] = {body.len + 1, 1, 7, 4096};
		for (size_t p = 0; p < sizeof(pieces) / sizeof(*pieces); p++) {
			CLEANUP(xorb_verdict_fini)
			struct xorb_verdict got = xorb_verify(body.bytes, body.len, pieces[p], NULL, &expected);
			ck_assert_msg(got.status == MUTANTS[i].status, "%s: %s", MUTANTS[i].name, got.diag.text);
			ck_assert_int_eq(got.status == CAIRN_OK ? 200 : 400, (int)vec_u64(line, "expect"));
			if (MUTANTS[i].rule) {
				ck_assert_str_eq(got.diag.rule, MUTANTS[i].rule);
				ck_assert_msg(strstr(got.diag.text, MUTANTS[i].text), "%s", got.diag.text);
			}
		}
	}
}
END_TEST

/* The second path hash differs in one digit. The refusal names both values. */
START_TEST(xorb_hash_mismatch_names_both)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("invalid/x_hash_mismatch.xorb");
	const char *wrong = "23ef36d5163ea516d32032b0e77668e182a9cfc43d377f97d8a196865057e620";
	struct cairn_hash expected = vec_hash_text(wrong);
	struct xorb_verdict got = xorb_verify(body.bytes, body.len, body.len, NULL, &expected);
	ck_assert_str_eq(got.diag.expected, wrong);
	ck_assert_str_eq(got.diag.actual, "23ef36d5163ea516d32032b0e77668e182a9cfc43d377f97d8a196865057e626");
	xorb_verdict_fini(&got);
}
END_TEST

/* Cuts a xorb at every byte. Only a cut at the end of a chunk leaves a xorb, and its hash is another one. */
static void xorb_truncate_everywhere(const char *name, size_t step)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes whole = vec_read("%s", name);
	struct cairn_hash expected = vec_hash_text(strrchr(name, '/') + 1);
	CLEANUP(xorb_verdict_fini)
	struct xorb_verdict good = xorb_verify(whole.bytes, whole.len, whole.len, NULL, &expected);
	ck_assert_int_eq(good.status, CAIRN_OK);
	size_t n_whole_chunks = 0;
	for (size_t len = 0; len < whole.len; len += step) {
		bool at_end = false;
		for (uint32_t i = 0; i < good.list.n; i++)
			at_end |= good.list.spans[i].end == len;
		n_whole_chunks += at_end;
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(whole.bytes, len);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(cut.bytes, cut.len, cut.len + 1, NULL, &expected);
		ck_assert_int_eq(got.status, at_end ? CAIRN_E_MISMATCH : CAIRN_E_FORMAT);
		const char *rule = len == 0 ? "xorb.empty" : at_end ? "xorb.hash" : "xorb.truncated";
		ck_assert_str_eq(got.diag.rule, rule);
	}
	if (step == 1)
		ck_assert_uint_eq(n_whole_chunks, good.list.n - 1);
}

START_TEST(xorb_truncated_is_refused)
{
	xorb_truncate_everywhere("js/xorbs/248b075b1d18ec7788d3d4fa0b80f749f6fdded07317fd375d7d9df8383955de", 1);
	xorb_truncate_everywhere("xorbs/7ebdf5546bf761e3d39c4894c50cf36287ff73231d6e699360569b0fb09fc951", 1);
	xorb_truncate_everywhere("xorbs/d777518d006a393f4aaa20ce7ef51fde16d4426777f49b751f26fd45e2fb3238", 1);
	xorb_truncate_everywhere("xorbs/40dc23e4e7c5709f17d8a426431ba954d49b84c15b2bd75483c327a1d1dc5304", 41);
}
END_TEST

/* Makes a small xorb with all three schemes, so that many changes can be tried. */
static struct cairn_hash xorb_make_small(struct cairn_buf *out)
{
	static const char text[] =
		"the quick brown fox jumps over the lazy dog, the quick brown fox jumps over the dog";
	/* an LZ4 frame of stored blocks, made by hand: magic, flags, size, header checksum, block, end mark */
	static const uint8_t frame[] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x05, 0x00, 0x00,
					0x80, 'a',  'e',  'b',  'c',  'd',  0x00, 0x00, 0x00, 0x00};
	xorb_add_chunk(out, sizeof(text), sizeof(text), CAIRN_SCHEME_NONE, text, sizeof(text));
	xorb_add_chunk(out, sizeof(frame), 5, CAIRN_SCHEME_LZ4, frame, sizeof(frame));
	xorb_add_chunk(out, sizeof(frame), 5, CAIRN_SCHEME_GROUPED_LZ4, frame, sizeof(frame));
	struct cairn_chunk_list list = {0};
	struct cairn_hash hash, root;
	cairn_hash_chunk(&hash, text, sizeof(text));
	ck_assert_int_eq(cairn_chunk_list_add(&list, &hash, (struct cairn_span){sizeof(text), 0}), CAIRN_OK);
	cairn_hash_chunk(&hash, "aebcd", 5);
	ck_assert_int_eq(cairn_chunk_list_add(&list, &hash, (struct cairn_span){5, 0}), CAIRN_OK);
	cairn_hash_chunk(&hash, "abcde", 5);
	ck_assert_int_eq(cairn_chunk_list_add(&list, &hash, (struct cairn_span){5, 0}), CAIRN_OK);
	cairn_chunk_list_root(&list, &root);
	cairn_chunk_list_fini(&list);
	return root;
}

static void xorb_change_bytes(struct vec_bytes *body, const struct cairn_hash *expected, int n_changes, uint64_t seed)
{
	int n_accepted = 0;
	for (int i = 0; i < n_changes; i++) {
		uint64_t z = vec_splitmix64(&seed);
		size_t at = (z >> 8) % body->len;
		uint8_t was = body->bytes[at];
		body->bytes[at] ^= (uint8_t)(z | 1);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body->bytes, body->len, body->len, NULL, expected);
		/* bytes without meaning may change; the root shows that all chunks are still the same */
		if (got.status == CAIRN_OK) {
			ck_assert(cairn_hash_equal(&got.summary.root, expected));
			n_accepted++;
		} else {
			ck_assert_msg(got.diag.rule, "byte %zu: refused without a rule", at);
		}
		body->bytes[at] = was;
	}
	ck_assert_int_lt(n_accepted, n_changes / 20);
}

START_TEST(xorb_changed_bytes_are_found)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf small = cairn_buf_init(4096);
	struct cairn_hash root = xorb_make_small(&small);
	CLEANUP(vec_bytes_fini) struct vec_bytes made = vec_copy(small.bytes, small.len);
	xorb_change_bytes(&made, &root, 18000, 4711);
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", CAPTURED_XORBS[0]);
	struct cairn_hash expected = vec_hash_text(strrchr(CAPTURED_XORBS[0], '/') + 1);
	xorb_change_bytes(&body, &expected, 500, 4712);
	CLEANUP(vec_bytes_fini) struct vec_bytes one = vec_read("invalid/x_good_one_chunk.xorb");
	expected = vec_hash_text("23ef36d5163ea516d32032b0e77668e182a9cfc43d377f97d8a196865057e626");
	xorb_change_bytes(&one, &expected, 1500, 4713);
}
END_TEST

START_TEST(xorb_made_by_hand_is_accepted)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf small = cairn_buf_init(4096);
	struct cairn_hash root = xorb_make_small(&small);
	for (size_t piece = 1; piece <= small.len; piece++) {
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(small.bytes, small.len, piece, NULL, &root);
		ck_assert_msg(got.status == CAIRN_OK, "%s", got.diag.text);
		for (size_t s = 0; s < 3; s++)
			ck_assert_uint_eq(got.summary.chunks_of_scheme[s], 1);
	}
}
END_TEST

/* A chunk of 128 KiB is accepted. A longer chunk is refused, unless the options allow it. */
START_TEST(xorb_chunk_size_limit)
{
	static const uint8_t raw[CAIRN_CHUNK_BYTES_MAX + 1];
	for (uint32_t over = 0; over <= 1; over++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(1 << 20);
		uint32_t n = CAIRN_CHUNK_BYTES_MAX + over;
		xorb_add_chunk(&body, n, n, CAIRN_SCHEME_NONE, raw, n);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, 65536, NULL, NULL);
		ck_assert_int_eq(got.status, over ? CAIRN_E_LIMIT : CAIRN_OK);
		if (over)
			ck_assert_str_eq(got.diag.rule, "xorb.chunk_too_large");
		struct cairn_xorb_verifier_options options = CAIRN_XORB_UPLOAD_OPTIONS;
		options.chunk_bytes_max = CAIRN_CHUNK_READ_BYTES_MAX;
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict wide = xorb_verify(body.bytes, body.len, 65536, &options, NULL);
		ck_assert_int_eq(wide.status, CAIRN_OK);
	}
}
END_TEST

START_TEST(xorb_chunk_count_limit)
{
	for (uint32_t over = 0; over <= 1; over++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(1 << 20);
		for (uint32_t i = 0; i < CAIRN_XORB_CHUNKS_MAX + over; i++)
			xorb_add_chunk(&body, 1, 1, CAIRN_SCHEME_NONE, "x", 1);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, 4096, NULL, NULL);
		ck_assert_int_eq(got.status, over ? CAIRN_E_LIMIT : CAIRN_OK);
		ck_assert_uint_eq(got.list.n, CAIRN_XORB_CHUNKS_MAX);
		if (over) {
			ck_assert_str_eq(got.diag.rule, "xorb.too_many_chunks");
			ck_assert_uint_eq(got.diag.offset, 9 * CAIRN_XORB_CHUNKS_MAX);
			ck_assert_str_eq(got.diag.actual, "8193");
		}
	}
}
END_TEST

/* The footer does not count towards the length. */
START_TEST(xorb_length_limit)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("variants/xorb_with_footer.xorb");
	const uint64_t n_data = 48928;
	for (uint64_t short_by = 0; short_by <= 1; short_by++) {
		struct cairn_xorb_verifier_options options = CAIRN_XORB_UPLOAD_OPTIONS;
		options.bytes_max = n_data - short_by;
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, 1000, &options, NULL);
		ck_assert_int_eq(got.status, short_by ? CAIRN_E_LIMIT : CAIRN_OK);
		if (short_by) {
			ck_assert_str_eq(got.diag.rule, "xorb.too_long");
			ck_assert_str_eq(got.diag.expected, "48927");
			ck_assert_str_eq(got.diag.actual, "48928");
		}
	}
}
END_TEST

/* A full xorb of the reference client: 64 MiB of chunks that do not compress, with a header each. */
START_TEST(xorb_full_upload_is_accepted)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	enum { CHUNK = CAIRN_XORB_BYTES_MAX / CAIRN_XORB_CHUNKS_MAX };
	CLEANUP(cairn_buf_fini) struct cairn_buf chunk = cairn_buf_init(1 << 20);
	static const uint8_t raw[CHUNK];
	xorb_add_chunk(&chunk, CHUNK, CHUNK, CAIRN_SCHEME_NONE, raw, CHUNK);
	struct cairn_diag diag = {0};
	size_t n_data = 0;
	for (int i = 0; i < CAIRN_XORB_CHUNKS_MAX; i++) {
		ck_assert_int_eq(cairn_xorb_verifier_feed(v, chunk.bytes, chunk.len, &n_data, &diag), CAIRN_OK);
		ck_assert_uint_eq(n_data, chunk.len);
	}
	struct cairn_xorb_summary summary;
	ck_assert_int_eq(cairn_xorb_verifier_end(v, NULL, &summary, &diag), CAIRN_OK);
	ck_assert_uint_eq(summary.chunk_data_bytes, CAIRN_XORB_SERIALIZED_BYTES_MAX);
	ck_assert_uint_eq(summary.unpacked_bytes, CAIRN_XORB_BYTES_MAX);
	ck_assert_uint_eq(cairn_xorb_verifier_list(v)->n, CAIRN_XORB_CHUNKS_MAX);
}
END_TEST

START_TEST(xorb_header_reads_back_its_bytes)
{
	const struct cairn_xorb_chunk_header headers[] = {
		{1, 1, CAIRN_SCHEME_NONE},
		{CAIRN_CHUNK_READ_BYTES_MAX, CAIRN_CHUNK_READ_BYTES_MAX, CAIRN_SCHEME_NONE},
		{0x123456, 0x654321, CAIRN_SCHEME_LZ4},
		{65, 1, CAIRN_SCHEME_GROUPED_LZ4},
	};
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		uint8_t bytes[CAIRN_XORB_CHUNK_HEADER_BYTES];
		struct cairn_xorb_chunk_header back;
		cairn_xorb_chunk_header_write(bytes, &headers[i]);
		ck_assert_int_eq(cairn_xorb_chunk_header_parse(&back, bytes, 0, CAIRN_CHUNK_READ_BYTES_MAX, NULL),
				 CAIRN_OK);
		ck_assert_uint_eq(back.compressed_bytes, headers[i].compressed_bytes);
		ck_assert_uint_eq(back.unpacked_bytes, headers[i].unpacked_bytes);
		ck_assert_int_eq(back.scheme, headers[i].scheme);
	}
	ck_assert_str_eq(cairn_scheme_name(CAIRN_SCHEME_NONE), "none");
	ck_assert_str_eq(cairn_scheme_name(CAIRN_SCHEME_LZ4), "lz4");
	ck_assert_str_eq(cairn_scheme_name(CAIRN_SCHEME_GROUPED_LZ4), "grouped-lz4");
}
END_TEST

START_TEST(xorb_header_refusals)
{
	static const struct {
		uint8_t bytes[CAIRN_XORB_CHUNK_HEADER_BYTES];
		enum cairn_status status;
		const char *rule;
		uint64_t offset;
	} CASES[] = {
		{{1, 1, 0, 0, 0, 1, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_version", 100},
		{{0, 1, 0, 0, 3, 1, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_scheme", 104},
		{{0, 0, 0, 0, 0, 0, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_empty", 100},
		{{0, 1, 0, 0, 1, 0, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_empty", 100},
		{{0, 0, 0, 0, 1, 1, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_empty", 100},
		{{0, 1, 0, 0, 0, 2, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_length", 101},
		{{0, 2, 0, 0, 0, 1, 0, 0}, CAIRN_E_FORMAT, "xorb.chunk_length", 101},
		{{0, 66, 0, 0, 1, 1, 0, 0}, CAIRN_E_LIMIT, "xorb.chunk_padded", 101},
		{{0, 1, 0, 2, 0, 1, 0, 2}, CAIRN_E_LIMIT, "xorb.chunk_too_large", 105},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		struct cairn_xorb_chunk_header h;
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_xorb_chunk_header_parse(&h, CASES[i].bytes, 100, 0x20000, &diag),
				 CASES[i].status);
		ck_assert_str_eq(diag.rule, CASES[i].rule);
		ck_assert_uint_eq(diag.offset, CASES[i].offset);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xorb");
	TCase *tcase = tcase_create("verifier");
	tcase_add_loop_test(tcase, xorb_captured_are_accepted, 0, (int)CAPTURED_XORBS_N);
	tcase_add_test(tcase, xorb_captured_have_every_scheme);
	tcase_add_test(tcase, xorb_mutants_are_refused_for_their_cause);
	tcase_add_test(tcase, xorb_hash_mismatch_names_both);
	tcase_add_test(tcase, xorb_truncated_is_refused);
	tcase_add_test(tcase, xorb_changed_bytes_are_found);
	tcase_add_test(tcase, xorb_made_by_hand_is_accepted);
	tcase_add_test(tcase, xorb_chunk_size_limit);
	tcase_add_test(tcase, xorb_chunk_count_limit);
	tcase_add_test(tcase, xorb_length_limit);
	tcase_add_test(tcase, xorb_full_upload_is_accepted);
	tcase_add_test(tcase, xorb_header_reads_back_its_bytes);
	tcase_add_test(tcase, xorb_header_refusals);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
