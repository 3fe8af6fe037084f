#include "cas/prove.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "cas/internal.h"
#include "xorb/codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROVE_AGAIN_MS = 24 * 3600 * 1000,
	PROVE_PACKED_MAX = 2 * CAIRN_CHUNK_BYTES_MAX, /* of a chunk; no packing takes that much */
};

struct prove_run {
	const struct cairn_chunk_list *list;
	struct cairn_store_object *object;
	struct cairn_codec *codec;
	uint8_t *packed;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	struct cairn_diag *diag;
};

/* A place in the table, and what stands there when the range was found right: both follow from the range, and the
 * latter from the day too. Another range with the same 64 bits would be sent unproved, once in 2^48. */
static uint64_t prove_mark(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			   const struct cairn_fetch_range *range, size_t *place)
{
	uint64_t words[5] = {range->first, range->last, (uint64_t)(cairn_clock_mono_ms() / PROVE_AGAIN_MS),
			     cairn_get_u64le(xorb->b), cairn_get_u64le(xorb->b + 8)};
	uint64_t mark = cairn_get_u64le(cas->fetch_key);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		mark = (mark ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		mark ^= mark >> 32;
	}
	*place = (size_t)(mark % CAS_PROVED_MAX);
	return mark | 1; /* zero: nothing stands there */
}

bool cairn_cas_is_proved(const struct cairn_cas *cas, const struct cairn_hash *xorb,
			 const struct cairn_fetch_range *range)
{
	size_t place;
	uint64_t mark = prove_mark(cas, xorb, range, &place);
	return atomic_load(&cas->proved[place]) == mark;
}

static enum cairn_status prove_damaged(const struct prove_run *run, uint64_t at)
{
	return cairn_fail(
		run->diag, CAIRN_E_IO, "object.damaged", at,
		"the stored bytes are not what was uploaded; run cairn fsck --repair and upload the file again");
}

static uint64_t prove_begin_of(const struct cairn_chunk_list *list, uint32_t i)
{
	return i == 0 ? 0 : list->spans[i - 1].end;
}

static enum cairn_status prove_chunk(const struct prove_run *run, uint32_t i)
{
	uint64_t at = prove_begin_of(run->list, i), end = run->list->spans[i].end;
	if (end < at + CAIRN_XORB_CHUNK_HEADER_BYTES || end - at > PROVE_PACKED_MAX)
		return prove_damaged(run, at);
	if (cairn_store_object_read(run->object, at, run->packed, (size_t)(end - at)) != CAIRN_OK)
		return cairn_fail(run->diag, CAIRN_E_IO, "object.unreadable", at, "the disk cannot read it");
	struct cairn_xorb_chunk_header header;
	const uint8_t *raw;
	enum cairn_status status =
		cairn_xorb_chunk_header_parse(&header, run->packed, at, CAIRN_CHUNK_READ_BYTES_MAX, NULL);
	if (status != CAIRN_OK || header.packed_bytes != end - at - CAIRN_XORB_CHUNK_HEADER_BYTES ||
	    header.unpacked_bytes != run->list->spans[i].unpacked_bytes)
		return prove_damaged(run, at);
	status = cairn_codec_unpack(run->codec, &raw, &header, run->packed + CAIRN_XORB_CHUNK_HEADER_BYTES, at, NULL);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOMEM ? status : prove_damaged(run, at);
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, raw, header.unpacked_bytes);
	return cairn_hash_equal(&hash, &run->list->hashes[i]) ? CAIRN_OK : prove_damaged(run, at);
}

/* The list says what the bytes must give, so it must itself give the xorb's hash. */
static enum cairn_status prove_list(const struct prove_run *run, const struct cairn_hash *xorb)
{
	struct cairn_hash root;
	cairn_chunk_list_root(run->list, &root);
	if (cairn_hash_equal(&root, xorb))
		return CAIRN_OK;
	return cairn_fail(run->diag, CAIRN_E_IO, "xorb.list", CAIRN_NO_OFFSET,
			  "the index's chunk list of a xorb does not give its hash; run cairn fsck");
}

static enum cairn_status prove_range(const struct prove_run *run, const struct cairn_fetch_range *range)
{
	for (uint32_t i = 0; i < run->list->n && prove_begin_of(run->list, i) <= range->last; i++) {
		if (run->list->spans[i].end <= range->first)
			continue;
		if (run->stop && run->stop(run->stop_ctx))
			return cairn_fail(run->diag, CAIRN_E_BUSY, "verify.stopped", CAIRN_NO_OFFSET,
					  "the stored bytes were not checked to their end; try again");
		enum cairn_status status = prove_chunk(run, i);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static void prove_freep(uint8_t **bytes)
{
	free(*bytes);
}

enum cairn_status cairn_cas_prove(struct cairn_cas *cas, const struct cairn_hash *xorb,
				  struct cairn_store_object *object, const struct cairn_fetch_range *ranges, size_t n,
				  bool (*stop)(void *ctx), void *stop_ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	CLEANUP(prove_freep) uint8_t *packed = malloc(PROVE_PACKED_MAX);
	if (!codec || !packed)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_index_chunk_list(cas->index, xorb, &list);
	if (status != CAIRN_OK)
		return status;
	const struct prove_run run = {.list = &list,
				      .object = object,
				      .codec = codec,
				      .packed = packed,
				      .stop = stop,
				      .stop_ctx = stop_ctx,
				      .diag = diag};
	status = prove_list(&run, xorb);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++) {
		size_t place;
		uint64_t mark = prove_mark(cas, xorb, &ranges[i], &place);
		if (atomic_load(&cas->proved[place]) == mark)
			continue;
		status = prove_range(&run, &ranges[i]);
		if (status == CAIRN_OK)
			atomic_store(&cas->proved[place], mark);
	}
	return status;
}
