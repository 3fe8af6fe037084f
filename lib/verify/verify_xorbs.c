#include "verify/run.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum cairn_status xorb_check_count(struct verify_run *run, const struct cairn_shard_xorb *xorb)
{
	if (xorb->n_chunks == 0)
		return cairn_fail(run->diag, CAIRN_E_FORMAT, "xorb.empty", xorb->offset,
				  "a xorb without chunks is described: leave its block out");
	if (xorb->n_chunks <= CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_FORMAT, "xorb.chunk_count", xorb->offset,
		   "a xorb of %" PRIu32 " chunks is described: a xorb has at most 8192", xorb->n_chunks);
	cairn_diag_numbers(run->diag, CAIRN_XORB_CHUNKS_MAX, xorb->n_chunks);
	return CAIRN_E_FORMAT;
}

static enum cairn_status xorb_check_chunk(struct verify_run *run, const struct cairn_shard_chunk *chunk,
					  uint64_t unpacked_bytes, uint64_t offset)
{
	if (chunk->unpacked_bytes == 0 || chunk->unpacked_bytes > CAIRN_CHUNK_BYTES_MAX) {
		cairn_fail(run->diag, CAIRN_E_FORMAT, "xorb.chunk_length", offset + 36,
			   "a chunk of %" PRIu32 " bytes is described: a chunk has 1 to 131072", chunk->unpacked_bytes);
		char actual[16];
		(void)snprintf(actual, sizeof(actual), "%" PRIu32, chunk->unpacked_bytes);
		cairn_diag_values(run->diag, "1 to 131072", actual);
		return CAIRN_E_FORMAT;
	}
	if (chunk->start != unpacked_bytes) {
		cairn_fail(run->diag, CAIRN_E_MISMATCH, "xorb.chunk_offset", offset + 32,
			   "a chunk does not start where the one before it ends: the chunks of a xorb follow each "
			   "other without gaps, from 0");
		cairn_diag_numbers(run->diag, unpacked_bytes, chunk->start);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

/* Reads a block's chunks into the scratch list, and checks lengths, places and their sum. */
static enum cairn_status xorb_read_chunks(struct verify_run *run, const struct cairn_shard_xorb *xorb)
{
	uint64_t unpacked_bytes = 0;
	run->scratch.n = 0;
	for (uint32_t i = 0; i < xorb->n_chunks; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		enum cairn_status status =
			xorb_check_chunk(run, &chunk, unpacked_bytes, cairn_shard_xorb_chunk_offset(xorb, i));
		if (status != CAIRN_OK)
			return status;
		unpacked_bytes += chunk.unpacked_bytes;
		struct cairn_span span = {.unpacked_bytes = chunk.unpacked_bytes};
		status = cairn_chunk_list_add(&run->scratch, &chunk.hash, span);
		if (status == CAIRN_OK && run->records)
			status = cairn_verify_record_chunk(run, &chunk, i);
		if (status != CAIRN_OK)
			return status;
	}
	if (unpacked_bytes != xorb->unpacked_bytes) {
		cairn_fail(run->diag, CAIRN_E_MISMATCH, "xorb.unpacked_bytes", xorb->offset + 40,
			   "num_bytes_in_cas is %" PRIu32 ", but the xorb's chunks have %" PRIu64 " bytes",
			   xorb->unpacked_bytes, unpacked_bytes);
		cairn_diag_numbers(run->diag, unpacked_bytes, xorb->unpacked_bytes);
		return CAIRN_E_MISMATCH;
	}
	return CAIRN_OK;
}

static enum cairn_status xorb_check_root(struct verify_run *run, const struct cairn_shard_xorb *xorb)
{
	struct cairn_hash root;
	cairn_chunk_list_root(&run->scratch, &root);
	if (cairn_hash_equal(&root, &xorb->hash))
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "xorb.hash", xorb->offset,
		   "the hash of a described xorb is not the merkle root of its chunks: a chunk hash, a length or the "
		   "xorb hash is wrong, or a chunk is missing");
	cairn_verify_diag_hashes(run->diag, &root, &xorb->hash);
	return CAIRN_E_MISMATCH;
}

/* Looks up the xorb described in the scratch list. @param[out] known  NULL: unknown */
static enum cairn_status xorb_find_known(struct verify_run *run, const struct cairn_shard_xorb *xorb,
					 const struct cairn_chunk_list **known, int64_t *id)
{
	*known = NULL;
	enum cairn_status status = cairn_verify_ask(run, &xorb->hash, true, xorb->offset, known, id);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	*known = NULL;
	return CAIRN_OK;
}

/* Does not stop at the first difference: the time must depend only on the description. */
static bool xorb_matches_known(const struct cairn_chunk_list *described, const struct cairn_chunk_list *known)
{
	uint64_t differs = described->n ^ known->n;
	for (uint32_t i = 0; i < described->n && known->n > 0; i++) {
		uint32_t k = i < known->n ? i : 0;
		for (unsigned at = 0; known->hashes && at < CAIRN_HASH_BYTES; at += 8)
			differs |=
				cairn_get_u64le(described->hashes[i].b + at) ^ cairn_get_u64le(known->hashes[k].b + at);
		differs |= described->spans[i].unpacked_bytes ^ known->spans[k].unpacked_bytes;
	}
	return differs == 0;
}

static enum cairn_status xorb_is_unknown(struct verify_run *run, const struct cairn_shard_xorb *xorb)
{
	if (run->options->xorbs_external)
		return CAIRN_OK;
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &xorb->hash);
	return cairn_fail(run->diag, CAIRN_E_NOT_FOUND, "xorb.not_stored", xorb->offset,
			  "xorb %s is described, but its bytes are not stored here: upload the xorb first", text);
}

/* Reports a differing xorb. A single chunk with this hash has the same xorb hash, so knowing the hash suffices to come
 * here: reveal no stored chunk and no count. */
static enum cairn_status xorb_is_other(struct verify_run *run, const struct cairn_shard_xorb *xorb)
{
	return cairn_fail(run->diag, CAIRN_E_CONFLICT, "xorb.conflict", xorb->offset,
			  "the chunks of a described xorb are not those of the stored one: describe what was uploaded");
}

/* Checks the description's root. Known chunks have this root, so an equal description need not be hashed. If their
 * hashes are missing, equal lengths suffice for a description with this root: lists under one root differ only where
 * one has a single, longer chunk instead of several. A single chunk's root leaves its length open. */
static enum cairn_status xorb_check_chunks(struct verify_run *run, const struct cairn_shard_xorb *xorb,
					   struct verify_place *place)
{
	const struct cairn_chunk_list *known;
	int64_t id;
	enum cairn_status status = xorb_find_known(run, xorb, &known, &id);
	if (status != CAIRN_OK)
		return status;
	bool same = known && xorb_matches_known(&run->scratch, known);
	if (!same || !known->hashes)
		status = xorb_check_root(run, xorb);
	if (status == CAIRN_OK && !same)
		status = known ? xorb_is_other(run, xorb) : xorb_is_unknown(run, xorb);
	return status == CAIRN_OK && run->records ? cairn_verify_record_xorb(run, &xorb->hash, known, id, place)
						  : status;
}

/* Same number of chunks, and the same hash, place and length each; flags and reserved fields are not judged. */
static bool xorb_same(const struct cairn_shard_xorb *a, const struct cairn_shard_xorb *b)
{
	if (a->n_chunks != b->n_chunks)
		return false;
	for (uint32_t i = 0; i < a->n_chunks; i++)
		if (memcmp(a->chunks + (size_t)i * CAIRN_SHARD_RECORD_BYTES,
			   b->chunks + (size_t)i * CAIRN_SHARD_RECORD_BYTES, CAIRN_HASH_BYTES + 8) != 0)
			return false;
	return true;
}

static enum cairn_status xorb_check_repeats(struct verify_run *run)
{
	for (size_t i = 1; i < run->n_places; i++) {
		if (run->places[i - 1].prefix != run->places[i].prefix)
			continue;
		struct cairn_shard_xorb a = cairn_verify_xorb_at(run, run->places[i - 1].offset);
		struct cairn_shard_xorb b = cairn_verify_xorb_at(run, run->places[i].offset);
		if (!cairn_hash_equal(&a.hash, &b.hash) || xorb_same(&a, &b))
			continue;
		return cairn_fail(
			run->diag, CAIRN_E_MISMATCH, "xorb.described_twice", a.offset > b.offset ? a.offset : b.offset,
			"a xorb is described twice, with different chunks; the other block is at byte %" PRIu64,
			a.offset < b.offset ? a.offset : b.offset);
	}
	return CAIRN_OK;
}

static enum cairn_status xorb_verify(struct verify_run *run, const struct cairn_shard_xorb *xorb,
				     struct verify_place *place)
{
	*place = (struct verify_place){.prefix = cairn_get_u64le(xorb->hash.b), .offset = xorb->offset};
	enum cairn_status status = xorb_check_count(run, xorb);
	if (status == CAIRN_OK)
		status = xorb_read_chunks(run, xorb);
	if (status == CAIRN_OK)
		status = xorb_check_chunks(run, xorb, place);
	if (status == CAIRN_OK)
		status = cairn_verify_advance(run, xorb->n_chunks, xorb->n_chunks);
	return status;
}

enum cairn_status cairn_verify_xorbs(struct verify_run *run)
{
	if (run->sum.n_xorbs == 0)
		return CAIRN_OK;
	run->places = calloc((size_t)run->sum.n_xorbs, sizeof(*run->places));
	if (!run->places)
		return CAIRN_E_NOMEM;
	struct cairn_shard_reader r = run->xorbs_start;
	for (;;) {
		struct cairn_shard_xorb xorb;
		bool more;
		enum cairn_status status = cairn_shard_next_xorb(&r, &xorb, &more, run->diag);
		if (status == CAIRN_OK && !more)
			break;
		if (status == CAIRN_OK)
			status = xorb_verify(run, &xorb, &run->places[run->n_places]);
		if (status != CAIRN_OK)
			return status;
		run->n_places++;
	}
	cairn_verify_sort_places(run);
	return xorb_check_repeats(run);
}
