/* Terms on stored xorbs that the shard does not describe. The sender may not have these xorbs, and must learn nothing
 * that it could not compute itself. */
#include "base/bytes.h"
#include "support/verify_fixture.h"

#include <string.h>

enum { AT_TERM = 48 + 48, AT_RANGE_HASH = AT_TERM + 48 };

/* Verifies a shard of one file with one term and no description. @param how  falsifies the shard */
static enum cairn_status verify_stranger(const struct made_xorb *xorb, uint32_t start, uint32_t end,
					 void (*how)(uint8_t *shard))
{
	struct made_term honest = {xorb, 0, 1};
	if (start < end && start < xorb->list.n)
		honest = (struct made_term){xorb, start, end < xorb->list.n ? end : xorb->list.n};
	begin_again();
	made_write_file(&v.w, &honest, 1, WITH_ALL);
	ck_assert_int_eq(cairn_shard_writer_end(&v.w), CAIRN_OK);
	cairn_put_u32le(v.w.buf.bytes + AT_TERM + 40, start);
	cairn_put_u32le(v.w.buf.bytes + AT_TERM + 44, end);
	if (how)
		how(v.w.buf.bytes);
	return verify_with(NULL);
}

static void falsify_range_hash(uint8_t *shard)
{
	shard[AT_RANGE_HASH] ^= 1;
}

static void falsify_length(uint8_t *shard)
{
	shard[AT_TERM + 36] ^= 1;
}

static void falsify_both(uint8_t *shard)
{
	falsify_range_hash(shard);
	falsify_length(shard);
}

static void falsify_file_hash(uint8_t *shard)
{
	shard[48] ^= 1;
}

/* Claims a range hash of missing chunks, computed over nothing. */
static void claim_nothing(uint8_t *shard)
{
	struct cairn_range_hasher hasher;
	struct cairn_hash hash;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_end(&hasher, &hash);
	memcpy(shard + AT_RANGE_HASH, hash.b, sizeof(hash.b));
}

static void claim_zeros(uint8_t *shard)
{
	static const struct cairn_hash zeros[100];
	struct cairn_range_hasher hasher;
	struct cairn_hash hash;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_add(&hasher, zeros, 100);
	cairn_range_hash_end(&hasher, &hash);
	memcpy(shard + AT_RANGE_HASH, hash.b, sizeof(hash.b));
}

START_TEST(test_stranger_is_told_nothing)
{
	static const struct {
		uint32_t start, end; /* chunks of a xorb of 20 chunks */
		void (*how)(uint8_t *shard);
		const char *rule;
		uint64_t offset;
	} FALSE[] = {
		{0, 20, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{19, 20, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{0, 20, falsify_both, "term.range_hash", AT_RANGE_HASH},
		{0, 20, falsify_length, "term.unpacked_bytes", AT_TERM + 36},
		{0, 20, falsify_file_hash, "file.hash", 48},
		/* guesses of how many chunks there are */
		{0, 21, NULL, "term.range_hash", AT_RANGE_HASH},
		{0, 21, falsify_range_hash, "term.range_hash", AT_RANGE_HASH},
		{19, 8192, falsify_both, "term.range_hash", AT_RANGE_HASH},
		{20, 21, claim_nothing, "term.range_hash", AT_RANGE_HASH},
		{20, 120, claim_zeros, "term.range_hash", AT_RANGE_HASH},
		{8092, 8192, claim_zeros, "term.range_hash", AT_RANGE_HASH},
	};
	for (size_t i = 0; i < sizeof(FALSE) / sizeof(FALSE[0]); i++)
		expect_told_nothing(verify_stranger(&v.xorbs[0], FALSE[i].start, FALSE[i].end, FALSE[i].how),
				    CAIRN_E_MISMATCH, FALSE[i].rule, FALSE[i].offset);
}
END_TEST

/* The message is the same, whether the chunks exist or not. */
START_TEST(test_stranger_cannot_count)
{
	expect_told_nothing(verify_stranger(&v.xorbs[2], 0, 30, falsify_both), CAIRN_E_MISMATCH, "term.range_hash",
			    AT_RANGE_HASH);
	const struct cairn_diag inside = v.diag;
	verify_stranger(&v.xorbs[0], 0, 30, falsify_both);
	ck_assert_str_eq(v.diag.text, inside.text);
}
END_TEST

/* A range that no xorb can have is refused because of the sender's data alone, before any stored data is read. */
START_TEST(test_stranger_names_no_range)
{
	static const uint32_t RANGES[][2] = {{5, 5}, {6, 5}, {0, 0}, {0, 8193}, {8192, UINT32_MAX}, {UINT32_MAX, 1}};
	for (size_t i = 0; i < sizeof(RANGES) / sizeof(RANGES[0]); i++) {
		verify_stranger(&v.xorbs[0], RANGES[i][0], RANGES[i][1], NULL);
		const struct cairn_diag of_20 = v.diag;
		ck_assert_str_eq(v.diag.rule, "term.range");
		ck_assert_ptr_null(strstr(v.diag.actual, "20"));
		verify_stranger(&v.xorbs[2], RANGES[i][0], RANGES[i][1], NULL);
		ck_assert_str_eq(v.diag.text, of_20.text);
		ck_assert_str_eq(v.diag.expected, of_20.expected);
		ck_assert_str_eq(v.diag.actual, of_20.actual);
	}
}
END_TEST

/* A single term on an undescribed xorb is enough for this: the file hash covers all terms. */
START_TEST(test_file_hash_with_a_stranger)
{
	struct made_term terms[] = {{&v.xorbs[0], 0, 20}, {&v.xorbs[2], 0, 1}, {&v.xorbs[0], 0, 2}};
	made_write_file(&v.w, terms, 3, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	falsify_file_hash(v.w.buf.bytes);
	expect_told_nothing(verify_made(NULL), CAIRN_E_MISMATCH, "file.hash", 48);
	/* if all xorbs are described, the refusal names both values */
	begin_again();
	made_write_file(&v.w, terms + 1, 1, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[2]);
	falsify_file_hash(v.w.buf.bytes);
	expect_refused(verify_made(NULL), CAIRN_E_MISMATCH, "file.hash", 48);
	ck_assert_uint_eq(strlen(v.diag.expected), 64);
}
END_TEST

int main(void)
{
	TCase *c = verify_tests("verify_strangers");
	tcase_add_test(c, test_stranger_is_told_nothing);
	tcase_add_test(c, test_stranger_cannot_count);
	tcase_add_test(c, test_stranger_names_no_range);
	tcase_add_test(c, test_file_hash_with_a_stranger);
	return verify_run("verify_strangers", c, NULL);
}
