/* Builds the function. Keys fall into buckets. The largest bucket comes first, and each gets the least displacement
 * that puts all its keys on free slots. A slot in a hundred stays free, so a last bucket of one key tries a hundred
 * slots on average, and never more than all: steps are prime to the number of slots. */
#include "archive/readshard/chd.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHD_SEEDS_MAX = 64,
	CHD_KEYS_A_BUCKET = 4,
	CHD_SLOTS_MIN = 11,
	CHD_BUCKET_KEYS_MAX = 64, /* a larger bucket means a bad seed: sizes are Poisson around 4 */
	CHD_ROUNDS_MAX = 4096,    /* rounds through all slots that a displacement may take */
};

/* A key in its bucket. */
struct chd_item {
	uint32_t first, step, key;
};

struct chd_build {
	const struct cairn_chd_keys *keys;
	uint32_t n_slots, n_buckets, seed;
	struct chd_item *items;  /* sorted by bucket */
	uint32_t *starts;        /* n_buckets + 1 offsets into items */
	uint32_t *order;         /* buckets, largest first; of equal size in their order */
	uint32_t *displacements; /* of each bucket */
	uint8_t *taken;          /* a bit for each slot */
};

static const uint8_t *build_key(const struct chd_build *b, uint32_t i)
{
	return b->keys->keys + b->keys->stride_bytes * i;
}

static bool build_is_prime(uint32_t n)
{
	for (uint32_t i = 2; (uint64_t)i * i <= n; i++)
		if (n % i == 0)
			return false;
	return n > 1;
}

/* Returns the number of slots for n keys: a prime that leaves one slot in a hundred free. */
static uint32_t build_slots(uint32_t n_keys)
{
	uint32_t n = (uint32_t)((uint64_t)(n_keys ? n_keys : 1) * 100 / 99) + 1;
	if (n < CHD_SLOTS_MIN)
		n = CHD_SLOTS_MIN;
	while (!build_is_prime(n))
		n++;
	return n;
}

static void build_fini(struct chd_build *b)
{
	free(b->items);
	free(b->starts);
	free(b->order);
	free(b->displacements);
	free(b->taken);
}

static enum cairn_status build_init(struct chd_build *b, const struct cairn_chd_keys *keys)
{
	b->keys = keys;
	b->n_slots = build_slots(keys->n);
	b->n_buckets = (keys->n ? keys->n : 1) / CHD_KEYS_A_BUCKET + 1;
	b->items = malloc(((size_t)keys->n + 1) * sizeof(*b->items));
	b->starts = malloc(((size_t)b->n_buckets + 1) * sizeof(*b->starts));
	b->order = malloc((size_t)b->n_buckets * sizeof(*b->order));
	b->displacements = malloc((size_t)b->n_buckets * sizeof(*b->displacements));
	b->taken = malloc((size_t)b->n_slots / 8 + 1);
	return b->items && b->starts && b->order && b->displacements && b->taken ? CAIRN_OK : CAIRN_E_NOMEM;
}

static uint32_t build_size(const struct chd_build *b, uint32_t bucket)
{
	return b->starts[bucket + 1] - b->starts[bucket];
}

/* Sorts keys into buckets, and buckets by size, by counting. @return false: a bucket is too large for this seed */
static bool build_deal(struct chd_build *b)
{
	bool fits = true;
	memset(b->starts, 0, ((size_t)b->n_buckets + 1) * sizeof(*b->starts));
	for (uint32_t i = 0; i < b->keys->n; i++)
		b->starts[cairn_chd_hash(b->seed, b->n_slots, b->n_buckets, build_key(b, i)).bucket + 1]++;
	uint32_t of_size[CHD_BUCKET_KEYS_MAX + 1] = {0};
	for (uint32_t g = 0; g < b->n_buckets; g++) {
		fits = fits && b->starts[g + 1] <= CHD_BUCKET_KEYS_MAX;
		of_size[fits ? b->starts[g + 1] : 0]++;
		b->starts[g + 1] += b->starts[g];
	}
	uint32_t place[CHD_BUCKET_KEYS_MAX + 1] = {0};
	for (uint32_t size = CHD_BUCKET_KEYS_MAX; size > 0; size--)
		place[size - 1] = place[size] + of_size[size];
	for (uint32_t g = 0; g < b->n_buckets && fits; g++)
		b->order[place[build_size(b, g)]++] = g;
	/* Starts move to their buckets' ends while these fill; move them back. */
	for (uint32_t i = 0; i < b->keys->n; i++) {
		struct cairn_chd_hashes h = cairn_chd_hash(b->seed, b->n_slots, b->n_buckets, build_key(b, i));
		b->items[b->starts[h.bucket]++] = (struct chd_item){.first = h.first, .step = h.step, .key = i};
	}
	memmove(b->starts + 1, b->starts, b->n_buckets * sizeof(*b->starts));
	b->starts[0] = 0;
	return fits;
}

/* Looks for two keys in one bucket that no displacement can separate. Another seed separates them unless they are
 * equal. @return CAIRN_OK: no such keys; CAIRN_E_MISMATCH another seed may help; CAIRN_E_CONFLICT they are equal */
static enum cairn_status build_part(const struct chd_build *b, uint32_t *first, uint32_t *second)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t g = 0; g < b->n_buckets; g++) {
		for (uint32_t i = b->starts[g]; i < b->starts[g + 1]; i++) {
			for (uint32_t j = b->starts[g]; j < i; j++) {
				const struct chd_item *x = &b->items[j], *y = &b->items[i];
				if (x->first != y->first || x->step != y->step)
					continue;
				status = CAIRN_E_MISMATCH;
				*first = x->key;
				*second = y->key;
				if (memcmp(build_key(b, x->key), build_key(b, y->key), CAIRN_READSHARD_KEY_BYTES) == 0)
					return CAIRN_E_CONFLICT;
			}
		}
	}
	return status;
}

/* Takes the slots of a bucket under a displacement. @return false: a slot is occupied, and none was taken */
static bool build_take(struct chd_build *b, uint32_t bucket, uint32_t displacement)
{
	for (uint32_t i = b->starts[bucket]; i < b->starts[bucket + 1]; i++) {
		struct cairn_chd_hashes h = {.first = b->items[i].first, .step = b->items[i].step};
		uint32_t slot = cairn_chd_slot(&h, displacement, b->n_slots);
		if (b->taken[slot / 8] & 1U << slot % 8) {
			while (i-- > b->starts[bucket]) {
				h = (struct cairn_chd_hashes){.first = b->items[i].first, .step = b->items[i].step};
				slot = cairn_chd_slot(&h, displacement, b->n_slots);
				b->taken[slot / 8] = (uint8_t)(b->taken[slot / 8] & ~(1U << slot % 8));
			}
			return false;
		}
		b->taken[slot / 8] = (uint8_t)(b->taken[slot / 8] | 1U << slot % 8);
	}
	return true;
}

static bool build_displace(struct chd_build *b)
{
	uint64_t rounds = b->n_slots < CHD_ROUNDS_MAX ? b->n_slots : CHD_ROUNDS_MAX, n_max = b->n_slots * rounds;
	if (n_max > UINT32_MAX - 1)
		n_max = UINT32_MAX - 1; /* so that it fits into 31 bits as the format writes it */
	memset(b->taken, 0, (size_t)b->n_slots / 8 + 1);
	memset(b->displacements, 0, (size_t)b->n_buckets * sizeof(*b->displacements));
	for (uint32_t i = 0; i < b->n_buckets; i++) {
		uint32_t bucket = b->order[i], d = 0;
		while (!build_take(b, bucket, d))
			if (++d >= n_max)
				return false;
		b->displacements[bucket] = d;
	}
	return true;
}

/* Returns the bits of a displacement. Numbers of n bits encode values from 2^n - 1 on, so that no code is wasted. */
static uint32_t dump_bits(uint32_t displacement)
{
	return 31 - (uint32_t)__builtin_clz(displacement + 1);
}

/* Puts n bits of value at bit `at` of zeroed bytes. */
static void dump_put(uint8_t *bytes, uint64_t at, uint32_t value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, at++)
		if (value >> i & 1)
			bytes[at / 8] = (uint8_t)(bytes[at / 8] | 1U << at % 8);
}

static uint8_t *dump_zeros(struct cairn_buf *dump, uint64_t bits)
{
	size_t bytes = (size_t)((bits + 31) / 32 * 4);
	uint8_t *at = cairn_buf_extend(dump, bytes);
	if (at)
		memset(at, 0, bytes);
	return at;
}

/* Writes the select bits, and the positions of every 128th 1-bit. */
static void dump_select(const struct chd_build *b, struct cairn_buf *dump, uint32_t rem_bits, uint32_t n_zeros)
{
	enum { STEP = 128 };
	uint32_t n_table = b->n_buckets / STEP + 1;
	size_t at = dump->len + 8;
	cairn_buf_u32le(dump, b->n_buckets);
	cairn_buf_u32le(dump, n_zeros);
	(void)dump_zeros(dump, (uint64_t)b->n_buckets + n_zeros);
	size_t table_at = dump->len;
	(void)dump_zeros(dump, (uint64_t)n_table * 32);
	if (dump->status != CAIRN_OK)
		return;
	uint32_t end = 0;
	for (uint32_t i = 0; i < b->n_buckets; i++) {
		end += dump_bits(b->displacements[i]);
		uint32_t one = (end >> rem_bits) + i;
		dump_put(dump->bytes + at, one, 1, 1);
		if (i % STEP == 0)
			cairn_put_u32le(dump->bytes + table_at + (size_t)i / STEP * 4, one);
	}
}

static void dump_sequence(const struct chd_build *b, struct cairn_buf *dump, uint32_t total_bits)
{
	assert(b->n_buckets > 0);
	uint32_t rem_bits = total_bits / b->n_buckets < 4 ? 1 : dump_bits(total_bits / b->n_buckets - 1);
	size_t length_at = dump->len;
	cairn_buf_u32le(dump, 0);
	cairn_buf_u32le(dump, b->n_buckets);
	cairn_buf_u32le(dump, rem_bits);
	cairn_buf_u32le(dump, total_bits);
	cairn_buf_u32le(dump, 0);
	size_t select_at = dump->len;
	dump_select(b, dump, rem_bits, total_bits >> rem_bits);
	size_t select_bytes = dump->len - select_at;
	size_t rems_at = dump->len;
	(void)dump_zeros(dump, (uint64_t)b->n_buckets * rem_bits);
	uint8_t *store = dump_zeros(dump, total_bits);
	if (!store)
		return;
	uint32_t end = 0;
	for (uint32_t i = 0; i < b->n_buckets; i++) {
		uint32_t n = dump_bits(b->displacements[i]);
		dump_put(store, end, b->displacements[i] - ((UINT32_C(1) << n) - 1), n);
		end += n;
		dump_put(dump->bytes + rems_at, (uint64_t)i * rem_bits, end & ((UINT32_C(1) << rem_bits) - 1),
			 rem_bits);
	}
	cairn_put_u32le(dump->bytes + length_at, (uint32_t)(dump->len - length_at - 4));
	cairn_put_u32le(dump->bytes + select_at - 4, (uint32_t)select_bytes);
}

static enum cairn_status build_dump(const struct chd_build *b, struct cairn_buf *dump)
{
	uint64_t total_bits = 0;
	for (uint32_t i = 0; i < b->n_buckets; i++)
		total_bits += dump_bits(b->displacements[i]);
	if (total_bits > UINT32_MAX / 2)
		return CAIRN_E_LIMIT;
	cairn_buf_add(dump, "chd_ph", sizeof("chd_ph"));
	cairn_buf_u32le(dump, b->n_slots);
	cairn_buf_u32le(dump, sizeof("jenkins") + 4);
	cairn_buf_add(dump, "jenkins", sizeof("jenkins"));
	cairn_buf_u32le(dump, b->seed);
	dump_sequence(b, dump, (uint32_t)total_bits);
	cairn_buf_u32le(dump, b->n_slots);
	cairn_buf_u32le(dump, b->n_buckets);
	return dump->status;
}

enum cairn_status cairn_chd_build(struct cairn_buf *dump, const struct cairn_chd_keys *keys, uint32_t *first,
				  uint32_t *second)
{
	CLEANUP(build_fini) struct chd_build b = {0};
	if (keys->n > CAIRN_READSHARD_OBJECTS_MAX)
		return CAIRN_E_LIMIT;
	enum cairn_status status = build_init(&b, keys);
	for (; status == CAIRN_OK && b.seed < CHD_SEEDS_MAX; b.seed++) {
		bool fits = build_deal(&b);
		status = build_part(&b, first, second);
		if (status == CAIRN_OK && fits && build_displace(&b))
			return build_dump(&b, dump);
		if (status == CAIRN_E_MISMATCH)
			status = CAIRN_OK;
	}
	return status == CAIRN_OK ? CAIRN_E_LIMIT : status;
}
