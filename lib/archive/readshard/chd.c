#include "archive/readshard/chd.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHD_STATE_BYTES = 12, /* bytes of a state: "jenkins", a zero, the seed */
	CHD_SEQUENCE_HEAD_BYTES = 16,
	CHD_TAIL_BYTES = 8, /* bytes of the end: the numbers of slots and of buckets, repeated */
	CHD_SELECT_HEAD_BYTES = 8,
	CHD_SELECT_STEP = 128,    /* The select table has an entry for every 128th 1-bit. */
	CHD_BITS_MAX = 31,        /* most bits of a displacement */
	CHD_BITS_SPARE_BYTES = 8, /* zeros after the packed displacements */
};

static const char CHD_NAME[] = "chd_ph", CHD_HASH[] = "jenkins";

static inline void chd_mix(uint32_t w[static 3])
{
	uint32_t a = w[0], b = w[1], c = w[2];
	a = (a - b - c) ^ c >> 13;
	b = (b - c - a) ^ a << 8;
	c = (c - a - b) ^ b >> 13;
	a = (a - b - c) ^ c >> 12;
	b = (b - c - a) ^ a << 16;
	c = (c - a - b) ^ b >> 5;
	a = (a - b - c) ^ c >> 3;
	b = (b - c - a) ^ a << 10;
	c = (c - a - b) ^ b >> 15;
	w[0] = a;
	w[1] = b;
	w[2] = c;
}

struct cairn_chd_hashes cairn_chd_hash(uint32_t seed, uint32_t n_slots, uint32_t n_buckets,
				       const uint8_t key[static CAIRN_READSHARD_KEY_BYTES])
{
	uint32_t w[3] = {0x9e3779b9, 0x9e3779b9, seed};
	for (size_t at = 0; at < 24; at += 12) {
		for (size_t i = 0; i < 3; i++)
			w[i] += cairn_get_u32le(key + at + 4 * i);
		chd_mix(w);
	}
	w[0] += cairn_get_u32le(key + 24);
	w[1] += cairn_get_u32le(key + 28);
	w[2] += CAIRN_READSHARD_KEY_BYTES;
	chd_mix(w);
	return (struct cairn_chd_hashes){
		.bucket = w[0] % n_buckets, .first = w[1] % n_slots, .step = w[2] % (n_slots - 1) + 1};
}

/* Returns n bits from bit `at` on, lowest first. Five bytes must be readable there. */
static uint32_t chd_bits(const uint8_t *bits, uint32_t at, uint32_t n)
{
	const uint8_t *p = bits + at / 8;
	uint64_t five = cairn_get_u32le(p) | (uint64_t)p[4] << 32;
	return (uint32_t)(five >> at % 8) & ((UINT32_C(1) << n) - 1);
}

uint32_t cairn_chd_search(const struct cairn_chd *chd, const uint8_t key[static CAIRN_READSHARD_KEY_BYTES])
{
	struct cairn_chd_hashes h = cairn_chd_hash(chd->seed, chd->n_slots, chd->n_buckets, key);
	uint32_t start = chd->starts[h.bucket], n = chd->starts[h.bucket + 1] - start;
	uint32_t displacement = n == 0 ? 0 : chd_bits(chd->bits, start, n) + ((UINT32_C(1) << n) - 1);
	return cairn_chd_slot(&h, displacement, chd->n_slots);
}

void cairn_chd_fini(struct cairn_chd *chd)
{
	free(chd->starts);
	free(chd->bits);
	*chd = (struct cairn_chd){0};
}

/* A dump being read. Offsets count from the cursor's start. */
struct chd_dump {
	struct cairn_cur *cur;
	struct cairn_diag *diag;
	uint32_t rem_bits, total_bits;
	uint64_t select_bits; /* rounded up to words */
	uint64_t sequence_at;
	const uint8_t *select, *rems, *store; /* tables of these lengths, all within the dump: */
	uint64_t rems_bytes, store_bytes;
};

static uint64_t chd_words_bytes(uint64_t bits)
{
	return (bits + 31) / 32 * 4;
}

static enum cairn_status chd_short(const struct chd_dump *d)
{
	return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", cairn_cur_offset(d->cur),
			  "the file ends in the hash function; it was cut off");
}

/* Checks that the next field has this value. */
static enum cairn_status chd_expect(struct chd_dump *d, uint64_t expected, const char *what)
{
	uint64_t at = cairn_cur_offset(d->cur);
	uint32_t actual = cairn_cur_u32le(d->cur);
	if (d->cur->bad)
		return chd_short(d);
	if (actual == expected)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", at, "%s of the hash function is wrong", what);
	cairn_diag_numbers(d->diag, expected, actual);
	return status;
}

static enum cairn_status chd_expect_name(struct chd_dump *d, const char *name, size_t name_bytes)
{
	uint64_t at = cairn_cur_offset(d->cur);
	const uint8_t *bytes = cairn_cur_take(d->cur, name_bytes);
	if (!bytes)
		return chd_short(d);
	if (memcmp(bytes, name, name_bytes) == 0)
		return CAIRN_OK;
	return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", at,
			  "the hash function is of another kind than %s; only that one is known", name);
}

static enum cairn_status chd_parse_head(struct cairn_chd *chd, struct chd_dump *d)
{
	enum cairn_status status = chd_expect_name(d, CHD_NAME, sizeof(CHD_NAME));
	if (status != CAIRN_OK)
		return status;
	uint64_t at = cairn_cur_offset(d->cur);
	chd->n_slots = cairn_cur_u32le(d->cur);
	if (!d->cur->bad && chd->n_slots < 2)
		return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", at,
				  "the hash function has %" PRIu32 " slots, and needs at least 2", chd->n_slots);
	status = chd_expect(d, CHD_STATE_BYTES, "the length of the state");
	if (status == CAIRN_OK)
		status = chd_expect_name(d, CHD_HASH, sizeof(CHD_HASH));
	chd->seed = cairn_cur_u32le(d->cur);
	return status;
}

/* Parses the compressed sequence: the number of bits of each bucket's displacement. */
static enum cairn_status chd_parse_sequence(struct cairn_chd *chd, struct chd_dump *d)
{
	uint32_t sequence_bytes = cairn_cur_u32le(d->cur);
	d->sequence_at = cairn_cur_offset(d->cur);
	chd->n_buckets = cairn_cur_u32le(d->cur);
	d->rem_bits = cairn_cur_u32le(d->cur);
	d->total_bits = cairn_cur_u32le(d->cur);
	if (d->cur->bad)
		return chd_short(d);
	if (chd->n_buckets == 0)
		return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", d->sequence_at,
				  "the hash function has no buckets");
	if (d->rem_bits < 1 || d->rem_bits > CHD_BITS_MAX)
		return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", d->sequence_at + 4,
				  "the remainders of the hash function have %" PRIu32 " bits; 1 to %d are possible",
				  d->rem_bits, CHD_BITS_MAX);
	uint64_t n_zeros = d->total_bits >> d->rem_bits;
	uint64_t select_bytes = chd_words_bytes(chd->n_buckets + n_zeros);
	uint64_t table_bytes = ((uint64_t)chd->n_buckets / CHD_SELECT_STEP + 1) * 4;
	d->select_bits = select_bytes * 8;
	d->rems_bytes = chd_words_bytes((uint64_t)chd->n_buckets * d->rem_bits);
	d->store_bytes = chd_words_bytes(d->total_bits);
	uint64_t bytes = CHD_SEQUENCE_HEAD_BYTES + CHD_SELECT_HEAD_BYTES + select_bytes + table_bytes + d->rems_bytes +
			 d->store_bytes;
	if (bytes != sequence_bytes) {
		enum cairn_status status = cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", d->sequence_at - 4,
						      "the length of the hash function's sequence is wrong");
		cairn_diag_numbers(d->diag, bytes, sequence_bytes);
		return status;
	}
	enum cairn_status status =
		chd_expect(d, CHD_SELECT_HEAD_BYTES + select_bytes + table_bytes, "the length of the selection");
	if (status == CAIRN_OK)
		status = chd_expect(d, chd->n_buckets, "the number of ones in the selection");
	if (status == CAIRN_OK)
		status = chd_expect(d, n_zeros, "the number of zeros in the selection");
	if (status != CAIRN_OK)
		return status;
	d->select = cairn_cur_take(d->cur, select_bytes);
	(void)cairn_cur_take(d->cur, table_bytes);
	d->rems = cairn_cur_take(d->cur, d->rems_bytes);
	d->store = cairn_cur_take(d->cur, d->store_bytes);
	return d->cur->bad ? chd_short(d) : CAIRN_OK;
}

/* Returns the remainder of a bucket. Unlike chd_bits(), reads no byte after the table. */
static uint32_t chd_rem(const struct chd_dump *d, uint32_t bucket)
{
	uint64_t at = (uint64_t)bucket * d->rem_bits, five = 0;
	for (uint64_t i = 0; i < 5 && at / 8 + i < d->rems_bytes; i++)
		five |= (uint64_t)d->rems[at / 8 + i] << 8 * i;
	return (uint32_t)(five >> at % 8) & ((UINT32_C(1) << d->rem_bits) - 1);
}

static enum cairn_status chd_bad_bucket(const struct chd_dump *d, uint32_t bucket, const char *what)
{
	return cairn_fail(d->diag, CAIRN_E_FORMAT, "readshard.function", d->sequence_at, "bucket %" PRIu32 " %s",
			  bucket, what);
}

/* Computes where each bucket's displacement ends: upper bits from the selection, lower bits from the remainders. */
static enum cairn_status chd_expand(struct cairn_chd *chd, const struct chd_dump *d)
{
	uint32_t bucket = 0;
	chd->starts[0] = 0;
	for (uint64_t at = 0; at < d->select_bits && bucket < chd->n_buckets; at++) {
		if (!(d->select[at / 8] & 1U << at % 8))
			continue;
		uint64_t end = ((at - bucket) << d->rem_bits) + chd_rem(d, bucket);
		if (end > d->total_bits || end < chd->starts[bucket])
			return chd_bad_bucket(d, bucket, "ends before it begins, or behind the last one");
		if (end - chd->starts[bucket] > CHD_BITS_MAX)
			return chd_bad_bucket(d, bucket, "has a displacement of more than 31 bits");
		chd->starts[++bucket] = (uint32_t)end;
	}
	return bucket == chd->n_buckets ? CAIRN_OK : chd_bad_bucket(d, bucket, "is missing from the selection");
}

uint64_t cairn_chd_dump_bytes(const uint8_t head[static CAIRN_CHD_HEAD_BYTES])
{
	return (uint64_t)CAIRN_CHD_HEAD_BYTES + cairn_get_u32le(head + CAIRN_CHD_HEAD_BYTES - 4) + CHD_TAIL_BYTES;
}

enum cairn_status cairn_chd_parse(struct cairn_chd *out, struct cairn_cur *cur, struct cairn_diag *diag)
{
	struct chd_dump d = {.cur = cur, .diag = diag};
	*out = (struct cairn_chd){0};
	enum cairn_status status = chd_parse_head(out, &d);
	if (status == CAIRN_OK)
		status = chd_parse_sequence(out, &d);
	if (status == CAIRN_OK)
		status = chd_expect(&d, out->n_slots, "the second number of slots");
	if (status == CAIRN_OK)
		status = chd_expect(&d, out->n_buckets, "the second number of buckets");
	if (status != CAIRN_OK || !d.store)
		return status;
	/* The file has at least one bit for each bucket, so its length bounds these allocations. */
	out->starts = malloc(((size_t)out->n_buckets + 1) * sizeof(*out->starts));
	out->bits = calloc(1, d.store_bytes + CHD_BITS_SPARE_BYTES);
	if (!out->starts || !out->bits) {
		cairn_chd_fini(out);
		return CAIRN_E_NOMEM;
	}
	memcpy(out->bits, d.store, d.store_bytes);
	status = chd_expand(out, &d);
	if (status != CAIRN_OK)
		cairn_chd_fini(out);
	return status;
}
