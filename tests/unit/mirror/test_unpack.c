/* How ranges of xorbs are unpacked to their places in a stretch of a file. */
#include "mirror/unpack.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 6, CHUNK_BYTES = 1000, STRETCH_MAX = 10 * CHUNK_BYTES };

static struct cairn_codec *codec;
static struct cairn_buf xorb;        /* a xorb with chunks of bytes 'a', 'b' and so on */
static uint64_t ends[CHUNKS + 1];    /* where the chunks end in it */
static uint8_t stretch[STRETCH_MAX]; /* the unpacked bytes */
static unsigned n_written[STRETCH_MAX];
static bool refuses;
static struct mirror_packed plan;
static struct mirror_unpack unpack;

static void make_xorb(void)
{
	codec = cairn_codec_new();
	xorb = cairn_buf_init(1 << 20);
	for (int i = 0; i < CHUNKS; i++) {
		uint8_t chunk[CHUNK_BYTES];
		memset(chunk, 'a' + i, sizeof(chunk));
		ck_assert_int_eq(cairn_codec_compress(codec, &xorb, chunk, sizeof(chunk), NULL), CAIRN_OK);
		ends[i + 1] = xorb.len;
	}
}

static void free_xorb(void)
{
	cairn_codec_free(codec);
	cairn_buf_fini(&xorb);
}

static bool write_stretch(void *ctx, uint64_t at, const uint8_t *bytes, size_t len)
{
	ck_assert_ptr_eq(ctx, &plan);
	ck_assert_uint_le(at + len, plan.bytes);
	memcpy(stretch + at, bytes, len);
	for (size_t i = 0; i < len; i++)
		n_written[at + i]++;
	return !refuses;
}

static void begin(uint64_t skip, uint64_t bytes)
{
	memset(n_written, 0, sizeof(n_written));
	plan = (struct mirror_packed){.skip = skip, .bytes = bytes};
	unpack = (struct mirror_unpack){.packed = &plan, .codec = codec, .write = write_stretch, .ctx = &plan};
	refuses = false;
}

static void add_range(uint32_t first, uint32_t past)
{
	plan.ranges[plan.n_ranges++] =
		(struct mirror_packed_range){.first = first, .past = past, .at = ends[first], .end = ends[past]};
}

static void add_term(uint32_t range, uint32_t first, uint32_t past)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < plan.n_terms; i++)
		at += plan.terms[i].bytes;
	plan.terms[plan.n_terms++] = (struct mirror_packed_term){
		.range = range, .first = first, .past = past, .bytes = (past - first) * CHUNK_BYTES, .at = at};
}

/* Unpacks a range, which comes in pieces of so many bytes. */
static enum cairn_status take(uint32_t range, size_t piece)
{
	mirror_unpack_begin(&unpack, range);
	for (uint64_t at = plan.ranges[range].at; at < plan.ranges[range].end; at += piece) {
		uint64_t left = plan.ranges[range].end - at;
		enum cairn_status status =
			mirror_unpack_take(&unpack, xorb.bytes + at, left < piece ? (size_t)left : piece);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static void check_stretch(const char *chunks)
{
	for (uint64_t i = 0; i < plan.bytes; i++) {
		ck_assert_uint_eq(n_written[i], 1);
		ck_assert_int_eq(stretch[i], chunks[(plan.skip + i) / CHUNK_BYTES]);
	}
	ck_assert_uint_eq(mirror_unpack_reach(&unpack), plan.bytes);
}

START_TEST(pieces_of_any_length)
{
	for (size_t piece = 1; piece < 3000; piece += piece < 40 ? 1 : 97) {
		begin(0, CHUNKS * CHUNK_BYTES);
		add_range(0, CHUNKS);
		add_term(0, 0, 2);
		add_term(0, 2, CHUNKS);
		ck_assert_int_eq(take(0, piece), CAIRN_OK);
		ck_assert(mirror_unpack_is_whole(&unpack));
		check_stretch("abcdef");
	}
}
END_TEST

START_TEST(a_stretch_within_chunks)
{
	begin(300, 3 * CHUNK_BYTES - 700);
	add_range(1, 4);
	add_term(0, 1, 4);
	ck_assert_int_eq(take(0, 100), CAIRN_OK);
	check_stretch("bcd");
}
END_TEST

START_TEST(chunks_that_repeat)
{
	begin(0, 7 * CHUNK_BYTES);
	add_range(0, 3);
	add_range(4, 5);
	add_term(0, 0, 2);
	add_term(1, 4, 5);
	add_term(0, 1, 3);
	add_term(0, 0, 1);
	add_term(1, 4, 5);
	ck_assert_int_eq(take(0, 100), CAIRN_OK);
	ck_assert_uint_eq(mirror_unpack_reach(&unpack), 2 * CHUNK_BYTES);
	ck_assert_int_eq(take(1, 100), CAIRN_OK);
	check_stretch("abebcae");
}
END_TEST

START_TEST(how_far_it_is)
{
	begin(300, 2 * CHUNK_BYTES);
	add_range(0, 3);
	add_term(0, 0, 3);
	mirror_unpack_begin(&unpack, 0);
	ck_assert_int_eq(mirror_unpack_take(&unpack, xorb.bytes, ends[1] - 1), CAIRN_OK);
	ck_assert_uint_eq(mirror_unpack_reach(&unpack), 0);
	ck_assert_int_eq(mirror_unpack_take(&unpack, xorb.bytes + ends[1] - 1, 1), CAIRN_OK);
	ck_assert_uint_eq(mirror_unpack_reach(&unpack), CHUNK_BYTES - 300);
	ck_assert(!mirror_unpack_is_whole(&unpack));
}
END_TEST

/* Each plan is wrong about a range with chunks 0 to 3, whose terms have all of them. */
START_TEST(false_plans)
{
	for (int how = 0; how < 6; how++) {
		begin(0, 2 * CHUNK_BYTES);
		add_range(0, 3);
		add_term(0, 0, 3);
		switch (how) {
		case 0:
			plan.terms[0].bytes -= 1;
			break;
		case 1:
			plan.terms[0].bytes += 1;
			break;
		case 2:
			plan.terms[0].bytes = CHUNK_BYTES;
			break;
		case 3:
			plan.ranges[0].past = 2;
			break;
		case 4:
			plan.ranges[0].past = 4;
			break;
		default:
			plan.ranges[0].end -= 1;
			break;
		}
		ck_assert_int_eq(take(0, 100), CAIRN_E_FORMAT);
		ck_assert(!mirror_unpack_is_whole(&unpack));
	}
}
END_TEST

START_TEST(more_than_the_range)
{
	begin(0, CHUNK_BYTES);
	add_range(0, 1);
	add_term(0, 0, 1);
	mirror_unpack_begin(&unpack, 0);
	ck_assert_int_eq(mirror_unpack_take(&unpack, xorb.bytes, ends[1] + 1), CAIRN_E_FORMAT);
}
END_TEST

START_TEST(nobody_takes_it)
{
	begin(0, CHUNK_BYTES);
	add_range(0, 1);
	add_term(0, 0, 1);
	refuses = true;
	ck_assert_int_eq(take(0, 100), CAIRN_E_BUSY);
}
END_TEST

/* The longest chunk fits, even if it comes in pieces. A longer chunk is refused because of its header. */
START_TEST(the_longest_chunk)
{
	static uint8_t chunk[CAIRN_XORB_CHUNK_HEADER_BYTES + CAIRN_CHUNK_BYTES_MAX + 1];
	for (uint32_t more = 0; more < 2; more++) {
		uint32_t bytes = CAIRN_CHUNK_BYTES_MAX + more;
		const struct cairn_xorb_chunk_header header = {bytes, bytes, CAIRN_SCHEME_NONE};
		cairn_xorb_chunk_header_write(chunk, &header);
		begin(0, 100);
		plan.ranges[plan.n_ranges++] =
			(struct mirror_packed_range){.past = 1, .end = CAIRN_XORB_CHUNK_HEADER_BYTES + (uint64_t)bytes};
		plan.terms[plan.n_terms++] = (struct mirror_packed_term){.past = 1, .bytes = bytes};
		mirror_unpack_begin(&unpack, 0);
		ck_assert_int_eq(mirror_unpack_take(&unpack, chunk, 10), more ? CAIRN_E_LIMIT : CAIRN_OK);
		if (!more)
			ck_assert_int_eq(mirror_unpack_take(&unpack, chunk + 10, bytes - 2), CAIRN_OK);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unpack");
	TCase *tcase = tcase_create("ranges");
	tcase_add_unchecked_fixture(tcase, make_xorb, free_xorb);
	tcase_add_test(tcase, pieces_of_any_length);
	tcase_add_test(tcase, a_stretch_within_chunks);
	tcase_add_test(tcase, chunks_that_repeat);
	tcase_add_test(tcase, how_far_it_is);
	tcase_add_test(tcase, false_plans);
	tcase_add_test(tcase, more_than_the_range);
	tcase_add_test(tcase, nobody_takes_it);
	tcase_add_test(tcase, the_longest_chunk);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
