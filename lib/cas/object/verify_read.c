#include "cas/object/verify_read.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "cas/internal.h"
#include "cas/object/stored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	VERIFY_AGAIN_MS = 24 * 3600 * 1000,
	VERIFY_BLOCK_BYTES = 32 * 1024, /* bytes of the object that one mark covers */
	VERIFY_GROUP_BLOCKS = 16,       /* marks in one word of the table */
};

/* --- marks: each word of the table has 48 bits that identify a group of blocks, and a bit for each block ------- */

/* No group of blocks has this number. A word with this number means that the object is damaged. */
#define VERIFY_GROUP_DAMAGED UINT64_MAX

struct verify_word {
	_Atomic uint64_t *at;
	uint64_t tag; /* the low 16 bits are zero */
};

/* Returns the word of a group. Place and tag are derived from the xorb, the opened object, the group and the day. A
 * word of another group with the same 66 bits would be mistaken for it: a chance of 1 in 2^48 for each word. */
static struct verify_word verify_word(const struct cairn_cas *cas, const struct cairn_hash *xorb,
				      const struct cairn_store_object *object, uint64_t group)
{
	const uint64_t words[] = {cairn_store_object_identity(object), group,
				  (uint64_t)(cairn_clock_mono_ms() / VERIFY_AGAIN_MS), cairn_get_u64le(xorb->b),
				  cairn_get_u64le(xorb->b + 8)};
	uint64_t mixed = cairn_get_u64le(cas->fetch_key), place = cairn_get_u64le(cas->fetch_key + 8);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		mixed = (mixed ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 32;
		place = (place ^ words[i]) * UINT64_C(0xd6e8feb86659fd93);
		place ^= place >> 29;
	}
	return (struct verify_word){.at = &cas->verified[place % CAS_VERIFIED_MAX], .tag = mixed & ~UINT64_C(0xffff)};
}

static uint16_t verify_marks(const struct verify_word *w)
{
	uint64_t word = atomic_load(w->at);
	return (word & ~UINT64_C(0xffff)) == w->tag ? (uint16_t)word : 0;
}

/* Sets marks. @return the marks that were already set */
static uint16_t verify_add_marks(const struct verify_word *w, uint16_t marks)
{
	uint64_t old = atomic_load(w->at), new;
	uint16_t before;
	do {
		before = (old & ~UINT64_C(0xffff)) == w->tag ? (uint16_t)old : 0;
		new = w->tag | before | marks;
	} while (!atomic_compare_exchange_weak(w->at, &old, new));
	return before;
}

/* Returns the bits of those blocks [first, end) that lie in the group. */
static uint16_t verify_bits(uint64_t group, uint64_t first, uint64_t end)
{
	uint64_t base = group * VERIFY_GROUP_BLOCKS;
	uint64_t from = first > base ? first - base : 0, to = end - base;
	uint32_t below_to = to < VERIFY_GROUP_BLOCKS ? (UINT32_C(1) << to) - 1 : 0xffff;
	return (uint16_t)(below_to & ~((UINT32_C(1) << from) - 1));
}

/* Calls each(ctx, word, bits) for the groups of blocks [first, end). @return false if a call returned false */
static bool verify_each_group(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			      const struct cairn_store_object *object, uint64_t first, uint64_t end,
			      bool (*each)(const struct verify_word *word, uint16_t bits))
{
	for (uint64_t group = first / VERIFY_GROUP_BLOCKS; group * VERIFY_GROUP_BLOCKS < end; group++) {
		struct verify_word word = verify_word(cas, xorb, object, group);
		if (!each(&word, verify_bits(group, first, end)))
			return false;
	}
	return true;
}

static bool verify_has_all(const struct verify_word *word, uint16_t bits)
{
	return (verify_marks(word) & bits) == bits;
}

static bool verify_add_all(const struct verify_word *word, uint16_t bits)
{
	if (bits != 0)
		(void)verify_add_marks(word, bits);
	return true;
}

bool cairn_cas_is_verified(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object, const struct cairn_fetch_range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!verify_each_group(cas, xorb, object, ranges[i].first / VERIFY_BLOCK_BYTES,
				       ranges[i].last / VERIFY_BLOCK_BYTES + 1, verify_has_all))
			return false;
	return true;
}

/* Marks all blocks wholly in bytes [first, end). The last block is whole if the bytes reach the object's end. */
static void verify_mark_bytes(struct cairn_cas *cas, const struct cairn_hash *xorb,
			      const struct cairn_store_object *object, uint64_t first, uint64_t end)
{
	uint64_t up = end == cairn_store_object_bytes(object) ? VERIFY_BLOCK_BYTES - 1 : 0;
	(void)verify_each_group(cas, xorb, object, (first + VERIFY_BLOCK_BYTES - 1) / VERIFY_BLOCK_BYTES,
				(end + up) / VERIFY_BLOCK_BYTES, verify_add_all);
}

void cas_mark_verified(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object)
{
	verify_mark_bytes(cas, xorb, object, 0, cairn_store_object_bytes(object));
}

bool cas_mark_damaged(struct cairn_cas *cas, const struct cairn_hash *xorb, const struct cairn_store_object *object)
{
	struct verify_word word = verify_word(cas, xorb, object, VERIFY_GROUP_DAMAGED);
	return verify_add_marks(&word, 1) == 0;
}

bool cas_is_marked_damaged(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_store_object *object)
{
	struct verify_word word = verify_word(cas, xorb, object, VERIFY_GROUP_DAMAGED);
	return verify_marks(&word) != 0;
}

struct verify_run {
	struct cairn_cas *cas;
	const struct cairn_hash *xorb;
	const struct cairn_chunk_list *list;
	struct cairn_store_object *object;
	struct cairn_codec *codec;
	uint8_t *block;
	bool list_verified;
	bool damage; /* chunks outside the range were found damaged */
	bool (*stop)(void *ctx);
	void *stop_ctx;
	struct cairn_diag *diag;
};

static enum cairn_status verify_damaged(const struct verify_run *run, uint64_t at)
{
	return cairn_fail(run->diag, CAIRN_E_DAMAGED, "object.damaged", at,
			  "the stored bytes are not what was uploaded; upload the file again");
}

static enum cairn_status verify_chunk(const struct verify_run *run, uint32_t i)
{
	uint64_t at = cas_chunk_begin(run->list, i);
	enum cairn_status status = cas_read_chunk(run->object, run->codec, run->list, i, run->block, NULL);
	if (status == CAIRN_E_IO)
		return cairn_fail(run->diag, status, "object.unreadable", at, "the disk cannot read it");
	return status == CAIRN_E_DAMAGED ? verify_damaged(run, at) : status;
}

/* Bytes are compared with this list, so it must yield the xorb's hash and have the object's length. */
static enum cairn_status verify_list(struct verify_run *run)
{
	struct cairn_hash root;
	const struct cairn_chunk_list *list = run->list;
	if (run->list_verified)
		return CAIRN_OK;
	if (list->n == 0 || list->spans[list->n - 1].end != cairn_store_object_bytes(run->object))
		return verify_damaged(run, cairn_store_object_bytes(run->object));
	cairn_chunk_list_root(list, &root);
	if (!cairn_hash_equal(&root, run->xorb))
		return cairn_fail(run->diag, CAIRN_E_DAMAGED, "xorb.list", CAIRN_NO_OFFSET,
				  "the index's chunk list of a xorb does not give its hash; run cairn fsck");
	run->list_verified = true;
	cas_verified_lists_put(run->cas->verified_lists, run->xorb, cairn_store_object_identity(run->object), list);
	return CAIRN_OK;
}

static uint32_t verify_find_chunk(const struct cairn_chunk_list *list, uint64_t byte)
{
	uint32_t from = 0, to = list->n - 1;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (list->spans[middle].end > byte)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

static void verify_mark_chunks(const struct verify_run *run, uint32_t from, uint32_t to)
{
	if (from < to)
		verify_mark_bytes(run->cas, run->xorb, run->object, cas_chunk_begin(run->list, from),
				  cas_chunk_begin(run->list, to));
}

/* Verifies the chunks that touch blocks [first, end). Blocks of damaged chunks outside the range get no mark. */
static enum cairn_status verify_blocks(struct verify_run *run, uint64_t first, uint64_t end,
				       const struct cairn_fetch_range *range)
{
	enum cairn_status status = verify_list(run);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_chunk_list *list = run->list;
	uint32_t from = verify_find_chunk(list, first * VERIFY_BLOCK_BYTES), i = from;
	for (; i < list->n && cas_chunk_begin(list, i) < end * VERIFY_BLOCK_BYTES; i++) {
		if (run->stop && run->stop(run->stop_ctx))
			return cairn_fail(run->diag, CAIRN_E_BUSY, "verify.stopped", CAIRN_NO_OFFSET,
					  "the stored bytes were not checked to their end; try again");
		status = verify_chunk(run, i);
		if (status == CAIRN_OK)
			continue;
		if (status == CAIRN_E_NOMEM ||
		    (cas_chunk_begin(list, i) <= range->last && list->spans[i].end > range->first))
			return status;
		run->damage = run->damage || status == CAIRN_E_DAMAGED;
		verify_mark_chunks(run, from, i);
		from = i + 1;
	}
	verify_mark_chunks(run, from, i);
	return CAIRN_OK;
}

static bool verify_block_is_verified(const struct verify_run *run, uint64_t block)
{
	return verify_each_group(run->cas, run->xorb, run->object, block, block + 1, verify_has_all);
}

static enum cairn_status verify_range(struct verify_run *run, const struct cairn_fetch_range *range)
{
	uint64_t block = range->first / VERIFY_BLOCK_BYTES, end = range->last / VERIFY_BLOCK_BYTES + 1;
	while (block < end) {
		uint64_t first = block++;
		if (verify_block_is_verified(run, first))
			continue;
		while (block < end && !verify_block_is_verified(run, block))
			block++;
		enum cairn_status status = verify_blocks(run, first, block, range);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static void verify_freep(uint8_t **bytes)
{
	free(*bytes);
}

enum cairn_status cairn_cas_verify_read(struct cairn_cas *cas, const struct cairn_hash *xorb,
					struct cairn_store_object *object, const struct cairn_chunk_list *list,
					const struct cairn_fetch_range *ranges, size_t n, bool (*stop)(void *ctx),
					void *stop_ctx, bool *damaged, struct cairn_diag *diag)
{
	CLEANUP(cas_verified_list_unrefp) const struct cairn_chunk_list *kept = NULL;
	*damaged = false;
	if (!list)
		kept = cas_verified_lists_get(cas->verified_lists, xorb, cairn_store_object_identity(object));
	if (!list && !kept)
		return CAIRN_E_NOT_FOUND;
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	CLEANUP(verify_freep) uint8_t *block = malloc(CAS_BLOCK_BYTES);
	if (!codec || !block)
		return CAIRN_E_NOMEM;
	struct verify_run run = {.cas = cas,
				 .xorb = xorb,
				 .list = kept ? kept : list,
				 .list_verified = kept != NULL,
				 .object = object,
				 .codec = codec,
				 .block = block,
				 .stop = stop,
				 .stop_ctx = stop_ctx,
				 .diag = diag};
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = verify_range(&run, &ranges[i]);
	*damaged = run.damage || status == CAIRN_E_DAMAGED;
	return status;
}
