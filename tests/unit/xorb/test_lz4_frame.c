/* Frames that liblz4 unpacks. Every client unpacks some to the same bytes, and some clients refuse the others. */
#include "support/run.h"
#include "support/vectors.h"
#include "support/xorbs.h"
#include "xorb/codec.h"
#include "xorb/lz4_frame.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(flags, ...) 0x04, 0x22, 0x4d, 0x18, flags, 0x40, __VA_ARGS__
#define STORED_5         0x05, 0x00, 0x00, 0x80, 'a', 'e', 'b', 'c', 'd'
#define END              0x00, 0x00, 0x00, 0x00
#define LITERALS_13      0xd0, '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c'

static const struct {
	const char *why; /* why a client cannot read it; NULL: every client can */
	uint32_t unpacked_bytes;
	size_t len;
	uint8_t bytes[48];
} FRAMES[] = {
	{NULL, 5, 20, {HEAD(0x60, 0x82), STORED_5, END}},
	{NULL, 5, 28, {HEAD(0x68, 5, 0, 0, 0, 0, 0, 0, 0, 0x61), STORED_5, END}},
	{NULL, 5, 24, {HEAD(0x64, 0xa7), STORED_5, END, 0x62, 0x9a, 0xad, 0x17}},
	{NULL, 5, 25, {HEAD(0x40, 0xc0), 2, 0, 0, 0x80, 'a', 'e', 4, 0, 0, 0, 0x30, 'b', 'c', 'd', END}},
	{NULL, 22, 37, {HEAD(0x60, 0x82), 22, 0, 0, 0, 0x50, 'a', 0, 0, 0, 0, 4, 0, LITERALS_13, END}},
	{"a dictionary ID", 5, 24, {HEAD(0x61, 7, 0, 0, 0, 0xe3), STORED_5, END}},
	{"checksums of blocks", 5, 24, {HEAD(0x70, 0xad), STORED_5, 0x62, 0x9a, 0xad, 0x17, END}},
	{"a block without content", 5, 24, {HEAD(0x60, 0x82), 0, 0, 0, 0x80, STORED_5, END}},
	{"a block without content", 5, 25, {HEAD(0x60, 0x82), 1, 0, 0, 0, 0x00, STORED_5, END}},
	{"a block without content", 5, 25, {HEAD(0x60, 0x82), STORED_5, 1, 0, 0, 0, 0x00, END}},
	{"a match at distance 0", 18, 33, {HEAD(0x60, 0x82), 18, 0, 0, 0, 0x10, 'a', 0, 0, LITERALS_13, END}},
};

START_TEST(frames_that_liblz4_unpacks)
{
	CLEANUP(cairn_codec_freep) struct cairn_codec *c = cairn_codec_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes frame = vec_copy(FRAMES[_i].bytes, FRAMES[_i].len);
	struct cairn_xorb_chunk_header header = {(uint32_t)frame.len, FRAMES[_i].unpacked_bytes, CAIRN_SCHEME_LZ4};
	const uint8_t *raw;
	struct cairn_diag diag = {0};
	ck_assert_msg(cairn_codec_unpack(c, &raw, &header, frame.bytes, 8, &diag) == CAIRN_OK, "%s", diag.text);
	enum cairn_status status = cairn_codec_judge(c, &header, frame.bytes, 8, &diag);
	ck_assert_int_eq(status, FRAMES[_i].why ? CAIRN_E_FORMAT : CAIRN_OK);
	if (!FRAMES[_i].why)
		return;
	ck_assert_str_eq(diag.rule, "xorb.chunk_lz4");
	ck_assert_uint_eq(diag.offset, 8);
	ck_assert_msg(strstr(diag.text, FRAMES[_i].why), "%s", diag.text);
}
END_TEST

/* Frames within a xorb, plain and grouped, as in uploads. */
START_TEST(uploads_are_judged)
{
	for (unsigned scheme = CAIRN_SCHEME_LZ4; scheme <= CAIRN_SCHEME_GROUPED_LZ4; scheme++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(4096);
		xorb_add_chunk(&body, (uint32_t)FRAMES[_i].len, FRAMES[_i].unpacked_bytes, scheme, FRAMES[_i].bytes,
			       FRAMES[_i].len);
		CLEANUP(xorb_verdict_fini)
		struct xorb_verdict got = xorb_verify(body.bytes, body.len, body.len, NULL, NULL);
		ck_assert_int_eq(got.status, FRAMES[_i].why ? CAIRN_E_FORMAT : CAIRN_OK);
		if (FRAMES[_i].why)
			ck_assert_str_eq(got.diag.rule, "xorb.chunk_lz4");
	}
}
END_TEST

/* The sequences are read only if there are four zeros in a row, which are found at every position and edge. */
START_TEST(zeros_are_found_anywhere)
{
	enum { LEN = 200 };
	static const uint8_t frame[] = {HEAD(0x60, 0x82), 18, 0, 0, 0, 0x10, 'a', 0, 0, LITERALS_13, END};
	for (size_t len = 0; len <= LEN; len++) {
		uint8_t unpacked[LEN] = {0};
		for (size_t at = 0; at < len; at++)
			unpacked[at] = at % 2 ? 'x' : 0; /* zeros, but never two in a row */
		ck_assert_int_eq(cairn_lz4_frame_judge(frame, sizeof(frame), unpacked, len, 0, NULL), CAIRN_OK);
		for (size_t at = 0; at + 4 <= len; at++) {
			memset(unpacked, 'x', sizeof(unpacked));
			memset(unpacked + at, 0, 4);
			ck_assert_int_eq(cairn_lz4_frame_judge(frame, sizeof(frame), unpacked, len, 0, NULL),
					 CAIRN_E_FORMAT);
		}
	}
}
END_TEST

/* Lengths that take several bytes, before the match and in it. */
START_TEST(distance_0_behind_long_sequences)
{
	enum { LITERALS = 15 + 255 + 3, MATCH_MORE = 255 };
	for (unsigned distance = 0; distance < 0x300; distance += 0x100) {
		uint8_t block[LITERALS + 64] = {0xff, 255, 3}, zeros[8] = {0};
		size_t at = 3 + LITERALS;
		memset(block + 3, 'l', LITERALS);
		block[at++] = 1, block[at++] = 0, block[at++] = MATCH_MORE, block[at++] = 0;
		block[at++] = 0x00, block[at++] = 0, block[at++] = (uint8_t)(distance >> 8);
		block[at++] = 0x10, block[at++] = 'z';
		CLEANUP(cairn_buf_fini) struct cairn_buf frame = cairn_buf_init(1024);
		static const uint8_t head[] = {HEAD(0x60, 0x82)}, end[] = {END};
		uint8_t len[4] = {(uint8_t)at, (uint8_t)(at >> 8), 0, 0};
		cairn_buf_add(&frame, head, sizeof(head));
		cairn_buf_add(&frame, len, sizeof(len));
		cairn_buf_add(&frame, block, at);
		cairn_buf_add(&frame, end, sizeof(end));
		ck_assert_int_eq(cairn_lz4_frame_judge(frame.bytes, frame.len, zeros, sizeof(zeros), 0, NULL),
				 distance == 0 ? CAIRN_E_FORMAT : CAIRN_OK);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lz4_frame");
	TCase *tc = tcase_create("lz4_frame");
	tcase_add_loop_test(tc, frames_that_liblz4_unpacks, 0, (int)(sizeof(FRAMES) / sizeof(*FRAMES)));
	tcase_add_loop_test(tc, uploads_are_judged, 0, (int)(sizeof(FRAMES) / sizeof(*FRAMES)));
	tcase_add_test(tc, zeros_are_found_anywhere);
	tcase_add_test(tc, distance_0_behind_long_sequences);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
