#include "support/run.h"
#include "support/vectors.h"
#include "xorb/codec.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A frame of one stored block with five bytes: magic, flags, size, header checksum, block, end mark. */
static const uint8_t FRAME[] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x05, 0x00, 0x00,
				0x80, 'a',  'e',  'b',  'c',  'd',  0x00, 0x00, 0x00, 0x00};

static enum cairn_status codec_try(const uint8_t *data, size_t len, uint32_t unpacked, enum cairn_scheme scheme,
				   struct cairn_diag *diag)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes copy = vec_copy(data, len);
	const struct cairn_xorb_chunk_header header = {(uint32_t)len, unpacked, scheme};
	const uint8_t *raw = NULL;
	*diag = (struct cairn_diag){0};
	return cairn_codec_unpack(c, &raw, &header, copy.bytes, 0, diag);
}

/* Compresses, then unpacks the result. @return the scheme that was chosen */
static enum cairn_scheme codec_round(struct cairn_codec *c, const uint8_t *raw, size_t len)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(2 * len + 1024);
	enum cairn_scheme scheme = CAIRN_SCHEME_NONE;
	ck_assert_int_eq(cairn_codec_compress(c, &out, raw, len, &scheme), CAIRN_OK);
	ck_assert_uint_le(out.len, len + CAIRN_XORB_CHUNK_HEADER_BYTES);
	struct cairn_xorb_chunk_header header;
	ck_assert_int_eq(cairn_xorb_chunk_header_parse(&header, out.bytes, 0, CAIRN_CHUNK_READ_BYTES_MAX, NULL),
			 CAIRN_OK);
	ck_assert_uint_eq(header.compressed_bytes + CAIRN_XORB_CHUNK_HEADER_BYTES, out.len);
	ck_assert_uint_eq(header.unpacked_bytes, len);
	ck_assert_int_eq(header.scheme, scheme);
	const uint8_t *back = NULL;
	struct cairn_diag diag = {0};
	ck_assert_msg(cairn_codec_unpack(c, &back, &header, out.bytes + CAIRN_XORB_CHUNK_HEADER_BYTES, 0, &diag) ==
			      CAIRN_OK,
		      "%zu bytes: %s", len, diag.text);
	ck_assert_int_eq(memcmp(back, raw, len), 0);
	return scheme;
}

START_TEST(codec_takes_the_shortest_scheme)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	static const struct {
		const char *file;
		enum cairn_scheme scheme;
	} CASES[] = {
		{"rand_1100000", CAIRN_SCHEME_NONE},      {"text_700001", CAIRN_SCHEME_LZ4},
		{"f32_800000", CAIRN_SCHEME_GROUPED_LZ4}, {"fill_400k", CAIRN_SCHEME_LZ4},
		{"one_byte", CAIRN_SCHEME_NONE},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		CLEANUP(vec_bytes_fini)
		struct vec_bytes raw = vec_make(vec_get(vec_find(files, "name", CASES[i].file), "spec"));
		size_t len = raw.len < 131072 ? raw.len : 131072;
		ck_assert_msg(codec_round(c, raw.bytes, len) == CASES[i].scheme, "%s", CASES[i].file);
	}
}
END_TEST

/* Sample pieces decide which scheme is shorter. If they differ from the rest, the result is longer than necessary.
 * It is never longer than the chunk, and still unpacks to it. */
START_TEST(codec_pieces_that_mislead)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	static uint8_t raw[131072];
	uint64_t state = 7;
	for (unsigned kind = 0; kind < 3; kind++) { /* the pieces are random, words, or numbers */
		for (size_t i = 0; i < sizeof(raw); i++) {
			uint8_t random = (uint8_t)vec_splitmix64(&state);
			bool piece = i % (sizeof(raw) / 2) >= sizeof(raw) / 4 &&
				     i % (sizeof(raw) / 2) < sizeof(raw) / 4 + 4096;
			unsigned is = piece ? kind : 2 - kind;
			raw[i] = is == 0 ? random : is == 1 ? (uint8_t) "words and words "[i % 16] : i % 4 ? 7 : random;
		}
		static const enum cairn_scheme SCHEMES[] = {CAIRN_SCHEME_GROUPED_LZ4, CAIRN_SCHEME_LZ4,
							    CAIRN_SCHEME_GROUPED_LZ4};
		ck_assert_int_eq(codec_round(c, raw, sizeof(raw)), SCHEMES[kind]);
	}
}
END_TEST

/* Lengths around the groups of four and the blocks of LZ4. The scratch memory is reused each time. */
START_TEST(codec_round_trips_every_length)
{
	static const size_t LENGTHS[] = {1,      2,      3,      4,       5,      6,       7,      8,
					 9,      15,     16,     17,      63,     1021,    1022,   1023,
					 1024,   65535,  65536,  65537,   131071, 131072,  262143, 262144,
					 262145, 300001, 300002, 1000003, 12,     4194305, 11};
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes raw = vec_copy((const uint8_t *)"", 0);
	vec_bytes_fini(&raw);
	raw = (struct vec_bytes){.bytes = malloc(4194305), .len = 4194305};
	bool seen[3] = {false};
	for (unsigned entropy = 0; entropy < 3; entropy++) {
		uint64_t state = 99 + entropy;
		for (size_t i = 0; i < raw.len; i++) {
			uint64_t z = vec_splitmix64(&state);
			raw.bytes[i] = (uint8_t)(entropy == 0 ? z : entropy == 1 ? z % 3 : i % 4 == 0 ? z : 7);
		}
		for (size_t i = 0; i < sizeof(LENGTHS) / sizeof(*LENGTHS); i++)
			seen[codec_round(c, raw.bytes, LENGTHS[i])] = true;
	}
	ck_assert(seen[0] && seen[1] && seen[2]);
}
END_TEST

START_TEST(codec_longest_chunk)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	uint8_t *raw = calloc(1, CAIRN_CHUNK_READ_BYTES_MAX);
	ck_assert_ptr_nonnull(raw);
	ck_assert_int_eq(codec_round(c, raw, CAIRN_CHUNK_READ_BYTES_MAX), CAIRN_SCHEME_LZ4);
	free(raw);
}
END_TEST

/* Checks grouping as the protocol defines it: abcde becomes a e b c d. */
START_TEST(codec_groups_bytes)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	const struct cairn_xorb_chunk_header header = {sizeof(FRAME), 5, CAIRN_SCHEME_GROUPED_LZ4};
	const uint8_t *raw = NULL;
	ck_assert_int_eq(cairn_codec_unpack(c, &raw, &header, FRAME, 0, NULL), CAIRN_OK);
	ck_assert_int_eq(memcmp(raw, "abcde", 5), 0);
}
END_TEST

START_TEST(codec_refuses_other_lengths)
{
	struct cairn_diag diag;
	ck_assert_int_eq(codec_try(FRAME, sizeof(FRAME), 5, CAIRN_SCHEME_LZ4, &diag), CAIRN_OK);
	ck_assert_int_eq(codec_try(FRAME, sizeof(FRAME), 4, CAIRN_SCHEME_LZ4, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "xorb.chunk_length");
	ck_assert_str_eq(diag.expected, "4");
	ck_assert_str_eq(diag.actual, "5");
	ck_assert_int_eq(codec_try(FRAME, sizeof(FRAME), 6, CAIRN_SCHEME_LZ4, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "xorb.chunk_length");
	ck_assert_int_eq(codec_try(FRAME, sizeof(FRAME), 5, CAIRN_SCHEME_NONE, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "xorb.chunk_length");
}
END_TEST

/* A frame that unpacks to far more than announced must be stopped early, without taking memory. */
START_TEST(codec_stops_at_excess)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	size_t len = 16000000;
	uint8_t *raw = calloc(1, len);
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(1 << 20);
	ck_assert_int_eq(cairn_codec_compress(c, &out, raw, len, NULL), CAIRN_OK);
	free(raw);
	for (uint32_t claimed = 1; claimed < 16000000; claimed = claimed * 40 + 3) {
		struct cairn_diag diag;
		ck_assert_int_eq(codec_try(out.bytes + 8, out.len - 8, claimed, CAIRN_SCHEME_LZ4, &diag),
				 CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "xorb.chunk_length");
		ck_assert_msg(strstr(diag.text, "at least"), "%s", diag.text);
	}
}
END_TEST

START_TEST(codec_refuses_bytes_after_the_frame)
{
	uint8_t data[2 * sizeof(FRAME)];
	memcpy(data, FRAME, sizeof(FRAME));
	memcpy(data + sizeof(FRAME), FRAME, sizeof(FRAME));
	struct cairn_diag diag;
	for (size_t len = sizeof(FRAME) + 1; len <= sizeof(data); len++) {
		ck_assert_int_eq(codec_try(data, len, 5, CAIRN_SCHEME_LZ4, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "xorb.chunk_lz4");
		ck_assert_str_eq(diag.actual, "20");
	}
}
END_TEST

START_TEST(codec_refuses_short_frames)
{
	struct cairn_diag diag;
	for (size_t len = 1; len < sizeof(FRAME); len++) {
		ck_assert_int_eq(codec_try(FRAME, len, 5, CAIRN_SCHEME_LZ4, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "xorb.chunk_lz4");
	}
}
END_TEST

/* A skippable frame is a frame of LZ4, but has no content. */
START_TEST(codec_refuses_skippable_frames)
{
	static const uint8_t SKIPPABLE[] = {0x50, 0x2a, 0x4d, 0x18, 0x02, 0x00, 0x00, 0x00, 'h', 'i'};
	struct cairn_diag diag;
	ck_assert_int_eq(codec_try(SKIPPABLE, sizeof(SKIPPABLE), 2, CAIRN_SCHEME_LZ4, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "xorb.chunk_length");
}
END_TEST

/* A bad chunk must not affect the next one. */
START_TEST(codec_recovers_after_an_error)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	struct cairn_xorb_chunk_header header = {12, 5, CAIRN_SCHEME_LZ4};
	const uint8_t *raw = NULL;
	ck_assert_int_eq(cairn_codec_unpack(c, &raw, &header, FRAME, 0, NULL), CAIRN_E_FORMAT);
	header.compressed_bytes = sizeof(FRAME);
	ck_assert_int_eq(cairn_codec_unpack(c, &raw, &header, FRAME, 0, NULL), CAIRN_OK);
	ck_assert_int_eq(memcmp(raw, "aebcd", 5), 0);
}
END_TEST

START_TEST(codec_full_buffer)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(10);
	ck_assert_int_eq(cairn_codec_compress(c, &out, (const uint8_t *)"ab", 2, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_codec_compress(c, &out, (const uint8_t *)"a", 1, NULL), CAIRN_E_LIMIT);
	ck_assert_uint_eq(out.len, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("codec");
	TCase *tcase = tcase_create("codec");
	tcase_add_test(tcase, codec_takes_the_shortest_scheme);
	tcase_add_test(tcase, codec_pieces_that_mislead);
	tcase_add_test(tcase, codec_round_trips_every_length);
	tcase_add_test(tcase, codec_longest_chunk);
	tcase_add_test(tcase, codec_groups_bytes);
	tcase_add_test(tcase, codec_refuses_other_lengths);
	tcase_add_test(tcase, codec_stops_at_excess);
	tcase_add_test(tcase, codec_refuses_bytes_after_the_frame);
	tcase_add_test(tcase, codec_refuses_short_frames);
	tcase_add_test(tcase, codec_refuses_skippable_frames);
	tcase_add_test(tcase, codec_recovers_after_an_error);
	tcase_add_test(tcase, codec_full_buffer);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
