/* The encoder divides by the generator polynomial eight bytes at a time, as CRCs are computed by slices: the remainder
 * of eight bytes and the zeros after them is the sum of eight remainders, each looked up by its byte. */
#include "archive/fold/parity.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARITY_SLICES = 8,
	PARITY_FIELD = 256,
	PARITY_POLYNOMIAL = 0x11d,
	PARITY_LANE_BYTES = 32,
	PARITY_LANES_MAX = 8,
	PARITY_AT_ONCE = 4, /* words divided together */
	PARITY_TWO_BYTES = 2 * CAIRN_PARITY_WORD_BYTES,
	PARITY_MANY_BYTES = PARITY_AT_ONCE * CAIRN_PARITY_WORD_BYTES,
	PARITY_ALIGN = 64, /* bytes, so that no row straddles two cache lines */
};

/* A part of a remainder, as wide as a register of AVX2. */
typedef uint64_t parity_lane __attribute__((vector_size(PARITY_LANE_BYTES)));

struct cairn_parity {
	unsigned n;
	unsigned n_lanes;                /* lanes for n bytes */
	uint8_t log[PARITY_FIELD];       /* exponents of the powers of 2; log[0] is not defined */
	uint8_t power[2 * PARITY_FIELD]; /* powers of 2 */
	parity_lane *table; /* [slice][byte][lane]: remainder of byte * x^(n + 7 - slice), highest power first */
};

/* --- the field ---------------------------------------------------------------------------------------------------- */

static void parity_init_field(struct cairn_parity *p)
{
	unsigned v = 1;
	for (unsigned i = 0; i < PARITY_FIELD - 1; i++) {
		p->power[i] = p->power[i + PARITY_FIELD - 1] = (uint8_t)v;
		p->log[v] = (uint8_t)i;
		v <<= 1;
		if (v & PARITY_FIELD)
			v ^= PARITY_POLYNOMIAL;
	}
}

static uint8_t parity_times(const struct cairn_parity *p, uint8_t a, uint8_t b)
{
	return a && b ? p->power[p->log[a] + p->log[b]] : 0;
}

/* b is not 0 */
static uint8_t parity_over(const struct cairn_parity *p, uint8_t a, uint8_t b)
{
	return a ? p->power[p->log[a] + PARITY_FIELD - 1 - p->log[b]] : 0;
}

static uint8_t parity_power(const struct cairn_parity *p, size_t exponent)
{
	return p->power[exponent % (PARITY_FIELD - 1)];
}

/* Returns the value at x of a polynomial, whose coefficients start with the lowest power. */
static uint8_t parity_value(const struct cairn_parity *p, const uint8_t *poly, size_t n, uint8_t x)
{
	uint8_t v = 0;
	while (n > 0)
		v = parity_times(p, v, x) ^ poly[--n];
	return v;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Computes the generator without its leading 1, highest power first: the product of (x - 2^i). */
static void parity_generator(const struct cairn_parity *p, uint8_t g[static PARITY_FIELD])
{
	uint8_t poly[PARITY_FIELD] = {1}; /* lowest power first */
	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned k = i + 1; k > 0; k--)
			poly[k] = poly[k - 1] ^ parity_times(p, poly[k], p->power[i]);
		poly[0] = parity_times(p, poly[0], p->power[i]);
	}
	for (unsigned k = 0; k < p->n; k++)
		g[k] = poly[p->n - 1 - k];
}

static uint8_t *parity_row(struct cairn_parity *p, unsigned slice, unsigned byte)
{
	return (uint8_t *)&p->table[((size_t)slice * PARITY_FIELD + byte) * p->n_lanes];
}

static void parity_init_table(struct cairn_parity *p)
{
	uint8_t g[PARITY_FIELD],
		unit[PARITY_FIELD]; /* unit: the remainder of x^(n + 7 - slice), divided by the generator g */
	parity_generator(p, g);
	memcpy(unit, g, p->n); /* first, the remainder of x^n */
	for (unsigned slice = PARITY_SLICES; slice-- > 0;) {
		for (unsigned byte = 1; byte < PARITY_FIELD; byte++)
			for (unsigned k = 0; k < p->n; k++)
				parity_row(p, slice, byte)[k] = parity_times(p, (uint8_t)byte, unit[k]);
		uint8_t top = unit[0];
		for (unsigned k = 0; k < p->n; k++)
			unit[k] = (k + 1 < p->n ? unit[k + 1] : 0) ^ parity_times(p, top, g[k]);
	}
}

struct cairn_parity *cairn_parity_new(unsigned n)
{
	unsigned n_lanes = (n + PARITY_LANE_BYTES - 1) / PARITY_LANE_BYTES;
	struct cairn_parity *p = calloc(1, sizeof(*p));
	void *table = aligned_alloc(PARITY_ALIGN, (size_t)PARITY_SLICES * PARITY_FIELD * n_lanes * PARITY_LANE_BYTES);
	if (!p || !table) {
		free(table);
		free(p);
		return NULL;
	}
	p->n = n;
	p->n_lanes = n_lanes;
	p->table = table;
	memset(table, 0, (size_t)PARITY_SLICES * PARITY_FIELD * n_lanes * PARITY_LANE_BYTES);
	parity_init_field(p);
	parity_init_table(p);
	return p;
}

void cairn_parity_free(struct cairn_parity *p)
{
	if (p)
		free(p->table);
	free(p);
}

size_t cairn_parity_data_bytes(const struct cairn_parity *p)
{
	return CAIRN_PARITY_WORD_BYTES - p->n;
}

uint64_t cairn_parity_bytes(unsigned n, uint64_t len)
{
	uint64_t data = CAIRN_PARITY_WORD_BYTES - n;
	return (len / data + (len % data > 0)) * n;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

/* Adds rows in the widest registers there are. Chosen before the thread sanitizer has started. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__)
#define PARITY_WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define PARITY_WIDEST
#endif
#define PARITY_INLINE static inline __attribute__((always_inline))

/* Divides eight more bytes. Called with a constant n_lanes, so that the remainder stays in registers. */
PARITY_INLINE void parity_step(const struct cairn_parity *p, parity_lane *rest, unsigned n_lanes, const uint8_t *data)
{
	uint64_t word;
	memcpy(&word, data, sizeof(word));
	word = le64toh(word ^ rest[0][0]);
	for (unsigned k = 0; k + 1 < n_lanes; k++)
		rest[k] = __builtin_shufflevector(rest[k], rest[k + 1], 1, 2, 3, 4);
	rest[n_lanes - 1] = __builtin_shufflevector(rest[n_lanes - 1], (parity_lane){0}, 1, 2, 3, 4);
	const parity_lane *table = p->table;
	for (unsigned slice = 0; slice < PARITY_SLICES; slice++) {
		const parity_lane *row = table + (size_t)(word >> 8 * slice & 0xff) * n_lanes;
		for (unsigned k = 0; k < n_lanes; k++)
			rest[k] ^= row[k];
		table += (size_t)PARITY_FIELD * n_lanes;
	}
}

/* Divides n_words words of len bytes each, one stride apart. While one waits for a table lookup, another is divided. */
PARITY_INLINE void parity_divide(const struct cairn_parity *p, uint8_t *out, unsigned n_words, unsigned n_lanes,
				 const uint8_t *data, size_t len)
{
	parity_lane rest[PARITY_AT_ONCE][PARITY_LANES_MAX];
	size_t n_head = len % PARITY_SLICES;
	size_t stride = len + p->n;
	for (unsigned w = 0; w < n_words; w++) {
		/* Zeros before a word do not change its parity. */
		uint8_t head[PARITY_SLICES] = {0};
		memset(rest[w], 0, n_lanes * sizeof(rest[w][0]));
		memcpy(head + PARITY_SLICES - n_head, data + w * stride, n_head);
		parity_step(p, rest[w], n_lanes, head);
	}
	for (size_t at = n_head; at < len; at += PARITY_SLICES)
		for (unsigned w = 0; w < n_words; w++)
			parity_step(p, rest[w], n_lanes, data + w * stride + at);
	for (unsigned w = 0; w < n_words; w++)
		memcpy(out + w * stride, rest[w], p->n);
}

PARITY_WIDEST void cairn_parity_make(const struct cairn_parity *p, uint8_t *out, const uint8_t *data, size_t len)
{
	switch (p->n_lanes) {
	case 1:
		parity_divide(p, out, 1, 1, data, len);
		break;
	case 2:
		parity_divide(p, out, 1, 2, data, len);
		break;
	default:
		parity_divide(p, out, 1, p->n_lanes, data, len);
		break;
	}
}

/* Computes the parity of PARITY_AT_ONCE consecutive full words, whose remainders fit into registers. */
PARITY_WIDEST static void parity_make_many(const struct cairn_parity *p, uint8_t *words)
{
	size_t len = cairn_parity_data_bytes(p);
	if (p->n_lanes == 1) {
		parity_divide(p, words + len, PARITY_AT_ONCE, 1, words, len);
		return;
	}
	for (unsigned w = 0; w < PARITY_AT_ONCE; w += 2, words += PARITY_TWO_BYTES) {
		if (p->n_lanes == 2)
			parity_divide(p, words + len, 2, 2, words, len);
		else
			parity_divide(p, words + len, 2, p->n_lanes, words, len);
	}
}

size_t cairn_parity_weave(const struct cairn_parity *p, uint8_t *out, const uint8_t *data, size_t len)
{
	size_t n_data = cairn_parity_data_bytes(p), at = 0, n_out = 0;
	for (; len - at >= PARITY_AT_ONCE * n_data; n_out += PARITY_MANY_BYTES) {
		for (size_t w = 0; w < PARITY_AT_ONCE; w++, at += n_data)
			memcpy(out + n_out + w * CAIRN_PARITY_WORD_BYTES, data + at, n_data);
		parity_make_many(p, out + n_out);
	}
	while (at < len) {
		size_t n = len - at < n_data ? len - at : n_data;
		memcpy(out + n_out, data + at, n);
		cairn_parity_make(p, out + n_out + n, data + at, n);
		n_out += n + p->n;
		at += n;
	}
	return n_out;
}

/* --- mending ------------------------------------------------------------------------------------------------------ */

/* The errors of a word. Polynomials start with the lowest power. */
struct parity_error {
	uint8_t syndrome[PARITY_FIELD];
	uint8_t locator[PARITY_FIELD + 1]; /* its roots are the inverses of 2^(power of a wrong byte) */
	unsigned n_wrong;                  /* degree of the locator */
	uint8_t place[PARITY_FIELD];       /* offset of a wrong byte in the word */
	uint8_t off[PARITY_FIELD];         /* difference of that byte */
};

/* Finds the shortest recurrence that yields the syndromes (Berlekamp and Massey). */
static void parity_find_locator(const struct cairn_parity *p, struct parity_error *e)
{
	uint8_t before[PARITY_FIELD + 1] = {1}, keep[PARITY_FIELD + 1];
	uint8_t before_gap = 1;
	unsigned shift = 1;
	e->locator[0] = 1;
	for (unsigned i = 0; i < p->n; i++) {
		uint8_t gap = e->syndrome[i];
		for (unsigned k = 1; k <= e->n_wrong; k++)
			gap ^= parity_times(p, e->locator[k], e->syndrome[i - k]);
		if (gap == 0) {
			shift++;
			continue;
		}
		uint8_t factor = parity_over(p, gap, before_gap);
		memcpy(keep, e->locator, sizeof(keep));
		for (unsigned k = shift; k <= p->n; k++)
			e->locator[k] ^= parity_times(p, factor, before[k - shift]);
		if (2 * e->n_wrong > i) {
			shift++;
			continue;
		}
		e->n_wrong = i + 1 - e->n_wrong;
		memcpy(before, keep, sizeof(before));
		before_gap = gap;
		shift = 1;
	}
}

/* Tries every place (Chien). @return false: the locator has other roots, or too few */
static bool parity_find_places(const struct cairn_parity *p, struct parity_error *e, size_t len)
{
	unsigned found = 0;
	for (size_t power = 0; power < len; power++) {
		uint8_t inverse = parity_power(p, PARITY_FIELD - 1 - power);
		if (parity_value(p, e->locator, e->n_wrong + 1, inverse) != 0)
			continue;
		if (found == e->n_wrong)
			return false;
		e->place[found++] = (uint8_t)(len - 1 - power);
	}
	return found == e->n_wrong;
}

/* Computes the difference of each wrong byte (Forney). */
static bool parity_find_values(const struct cairn_parity *p, struct parity_error *e, size_t len)
{
	uint8_t evaluator[PARITY_FIELD] = {0};
	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; k <= i && k <= e->n_wrong; k++)
			evaluator[i] ^= parity_times(p, e->locator[k], e->syndrome[i - k]);
	for (unsigned i = 0; i < e->n_wrong; i++) {
		size_t power = len - 1 - e->place[i];
		uint8_t inverse = parity_power(p, PARITY_FIELD - 1 - power);
		uint8_t derivative = 0;
		for (unsigned k = 1; k <= e->n_wrong; k += 2) /* even powers vanish in the derivative */
			derivative ^= parity_times(p, e->locator[k],
						   parity_power(p, (size_t)(k - 1) * (PARITY_FIELD - 1 - power)));
		if (derivative == 0)
			return false;
		uint8_t value = parity_value(p, evaluator, p->n, inverse);
		e->off[i] = parity_times(p, parity_power(p, power), parity_over(p, value, derivative));
	}
	return true;
}

static bool parity_is_right(const struct cairn_parity *p, const uint8_t *word, size_t len)
{
	uint8_t parity[PARITY_LANES_MAX * PARITY_LANE_BYTES];
	cairn_parity_make(p, parity, word, len - p->n);
	return memcmp(parity, word + len - p->n, p->n) == 0;
}

enum cairn_status cairn_parity_mend(const struct cairn_parity *p, uint8_t *word, size_t len, unsigned *n_wrong)
{
	*n_wrong = 0;
	if (parity_is_right(p, word, len))
		return CAIRN_OK;
	struct parity_error e = {.n_wrong = 0};
	for (unsigned i = 0; i < p->n; i++)
		for (size_t k = 0; k < len; k++)
			e.syndrome[i] = parity_times(p, e.syndrome[i], p->power[i]) ^ word[k];
	parity_find_locator(p, &e);
	if (2 * e.n_wrong > p->n || !parity_find_places(p, &e, len) || !parity_find_values(p, &e, len))
		return CAIRN_E_MISMATCH;
	for (unsigned i = 0; i < e.n_wrong; i++)
		word[e.place[i]] ^= e.off[i];
	*n_wrong = e.n_wrong;
	if (parity_is_right(p, word, len))
		return CAIRN_OK;
	for (unsigned i = 0; i < e.n_wrong; i++)
		word[e.place[i]] ^= e.off[i];
	*n_wrong = 0;
	return CAIRN_E_MISMATCH;
}
