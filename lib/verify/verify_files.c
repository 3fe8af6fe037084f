#include "verify/run.h"

#include "base/bytes.h"
#include "hash/crypto.h"
#include "hash/merkle.h"

#include <inttypes.h>
#include <stdio.h>

/* Makes the term's xorb the current one; mostly it is that of the previous term. */
static enum cairn_status term_find_xorb(struct verify_run *run, const struct cairn_shard_term *term, uint64_t offset,
					const struct verify_ahead *ahead)
{
	if (run->has_last && cairn_hash_equal(&run->last_hash, &term->xorb))
		return CAIRN_OK;
	run->last_known = NULL;
	enum cairn_status status = CAIRN_OK;
	run->last_place = ahead->place;
	if (ahead->place)
		run->last_described = ahead->xorb;
	else
		run->last_place = cairn_verify_find(run, &term->xorb, &run->last_described);
	if (!run->last_place)
		status = cairn_verify_ask(run, &term->xorb, false, offset, &run->last_known, &run->last_id);
	if (status == CAIRN_E_NOT_FOUND) {
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(text, &term->xorb);
		return cairn_fail(run->diag, status, "term.unknown_xorb", offset,
				  "a term refers to xorb %s, neither described in this shard nor stored here: upload "
				  "the xorb first; hf_xet does once its cache is removed, ~/.cache/huggingface/xet or "
				  "$HF_HOME/xet",
				  text);
	}
	if (status != CAIRN_OK)
		return status;
	run->has_last = true;
	run->last_hash = term->xorb;
	return CAIRN_OK;
}

struct term_chunks {
	const struct cairn_hash *hashes;
	const struct cairn_span *spans;
	uint32_t n, n_there; /* named by the term, and existing of those; they differ only for a stored xorb */
};

/* Returns whether the shard describes the term's xorb. Any other xorb may belong to somebody else: the sender has not
 * yet proved to know its chunks. Before the range hash is correct, no message and no work may depend on stored data. A
 * value computed from it is never revealed: the sender could send it back as proof. */
static bool term_is_described(const struct verify_run *run)
{
	return run->last_known == NULL;
}

static enum cairn_status term_check_range(struct verify_run *run, const struct cairn_shard_term *term, uint64_t offset)
{
	const char *at_most = term_is_described(run) ? "" : "at most ";
	uint32_t n = term_is_described(run) ? run->last_described.n_chunks : CAIRN_XORB_CHUNKS_MAX;
	if (term->start >= term->end || term->end > n) {
		cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.range", offset + 40,
			   "a term runs over chunks %" PRIu32 " to %" PRIu32 " (exclusive) of a xorb with %s%" PRIu32
			   " chunks: it must be start < end <= chunks",
			   term->start, term->end, at_most, n);
		char actual[56];
		(void)snprintf(actual, sizeof(actual), "%" PRIu32 " to %" PRIu32 " of %s%" PRIu32, term->start,
			       term->end, at_most, n);
		cairn_diag_values(run->diag, "start < end <= chunks of the xorb", actual);
		return CAIRN_E_MISMATCH;
	}
	run->term_chunks += term->end - term->start;
	if (run->term_chunks <= run->options->term_chunks_max)
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_LIMIT, "limit.term_chunks", offset,
		   "the terms up to here run over more than %" PRIu64 " chunks in all: send several smaller shards",
		   run->options->term_chunks_max);
	cairn_diag_numbers(run->diag, run->options->term_chunks_max, run->term_chunks);
	return CAIRN_E_LIMIT;
}

/* Makes the term's chunks contiguous: copies described ones, unless done ahead. Stored ones are contiguous. */
static enum cairn_status term_gather(struct verify_run *run, const struct cairn_shard_term *term,
				     const struct verify_ahead *ahead, struct term_chunks *out)
{
	out->n = term->end - term->start;
	if (!term_is_described(run)) {
		const struct cairn_chunk_list *known = run->last_known;
		uint32_t start = term->start < known->n ? term->start : known->n;
		uint32_t end = term->end < known->n ? term->end : known->n;
		out->hashes = known->hashes + start;
		out->spans = known->spans + start;
		out->n_there = end - start;
		return CAIRN_OK;
	}
	const struct cairn_chunk_list *from = ahead->place ? &run->ahead_chunks : &run->scratch;
	uint32_t first = ahead->place ? ahead->first : 0;
	enum cairn_status status = CAIRN_OK;
	if (!ahead->place) {
		run->scratch.n = 0;
		status = cairn_verify_gather(&run->scratch, &run->last_described, term->start, term->end);
	}
	out->hashes = from->hashes + first;
	out->spans = from->spans + first;
	out->n_there = out->n;
	return status;
}

enum { NOTHING_CHUNKS = 64 }; /* hashed at once */

/* Hashes missing chunks as zeros, so that the time does not reveal how many exist. */
static void term_hash(const struct term_chunks *chunks, struct cairn_hash *out)
{
	static const struct cairn_hash NOTHING[NOTHING_CHUNKS];
	struct cairn_range_hasher hasher;
	cairn_range_hash_init(&hasher);
	cairn_range_hash_add(&hasher, chunks->hashes, chunks->n_there);
	for (uint32_t done = chunks->n_there; done < chunks->n;) {
		uint32_t left = chunks->n - done, piece = left < NOTHING_CHUNKS ? left : NOTHING_CHUNKS;
		cairn_range_hash_add(&hasher, NOTHING, piece);
		done += piece;
	}
	cairn_range_hash_end(&hasher, out);
}

static enum cairn_status term_check_range_hash(struct verify_run *run, const struct cairn_shard_file *file, uint32_t i,
					       const struct verify_ahead *ahead, const struct term_chunks *chunks)
{
	struct cairn_hash computed = ahead->range_hash, claimed = cairn_shard_file_range_hash(file, i);
	if (!ahead->place)
		term_hash(chunks, &computed);
	bool right = cairn_secret_equal(&computed, &claimed, sizeof(computed));
	if (right && chunks->n_there == chunks->n)
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.range_hash", cairn_shard_file_verification_offset(file, i),
		   "the verification hash of term %" PRIu32 " (%" PRIu32 " chunks) is not that of its chunks", i,
		   chunks->n);
	if (term_is_described(run))
		cairn_verify_diag_hashes(run->diag, &computed, &claimed);
	return CAIRN_E_MISMATCH;
}

/* Adds up the chunks' lengths and adds the chunks to the file's root. */
static enum cairn_status term_check_bytes(struct verify_run *run, const struct cairn_shard_term *term, uint64_t offset,
					  const struct term_chunks *chunks, struct cairn_merkle *merkle)
{
	uint64_t unpacked_bytes = 0;
	for (uint32_t k = 0; k < chunks->n; k++) {
		cairn_merkle_add(merkle, &chunks->hashes[k], chunks->spans[k].unpacked_bytes);
		unpacked_bytes += chunks->spans[k].unpacked_bytes;
	}
	run->sum.file_bytes += unpacked_bytes;
	if (unpacked_bytes == term->unpacked_bytes)
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.unpacked_bytes", offset + 36,
		   "unpacked_segment_bytes of a term is %" PRIu32 ", which is not the sum of its chunks' lengths",
		   term->unpacked_bytes);
	if (term_is_described(run))
		cairn_diag_numbers(run->diag, unpacked_bytes, term->unpacked_bytes);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status term_verify(struct verify_run *run, const struct cairn_shard_file *file, uint32_t i,
				     struct cairn_merkle *merkle)
{
	struct cairn_shard_term term = cairn_shard_file_term(file, i);
	uint64_t offset = cairn_shard_file_term_offset(file, i);
	struct term_chunks chunks;
	const struct verify_ahead *ahead = &run->ahead[i % VERIFY_AHEAD_MAX];
	enum cairn_status status = i % VERIFY_AHEAD_MAX == 0 ? cairn_verify_hash_ahead(run, file, i) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = term_find_xorb(run, &term, offset, ahead);
	if (status == CAIRN_OK)
		status = term_check_range(run, &term, offset);
	if (status == CAIRN_OK)
		status = term_gather(run, &term, ahead, &chunks);
	if (status == CAIRN_OK)
		status = term_check_range_hash(run, file, i, ahead, &chunks);
	if (status == CAIRN_OK)
		status = term_check_bytes(run, &term, offset, &chunks, merkle);
	if (status == CAIRN_OK && i == 0)
		run->first_chunk = cairn_get_u64le(chunks.hashes[0].b);
	if (status == CAIRN_OK && run->records)
		status = cairn_verify_record_term(run, &term);
	return status == CAIRN_OK ? cairn_verify_advance(run, 1, (uint64_t)chunks.n + 1) : status;
}

static enum cairn_status file_verify(struct verify_run *run, const struct cairn_shard_file *file)
{
	struct cairn_merkle merkle;
	bool all_described = true;
	cairn_merkle_init(&merkle);
	for (uint32_t i = 0; i < file->n_terms; i++) {
		enum cairn_status status = term_verify(run, file, i, &merkle);
		if (status != CAIRN_OK)
			return status;
		all_described = all_described && term_is_described(run);
	}
	struct cairn_hash root, computed;
	cairn_merkle_root(&merkle, &root);
	cairn_hash_file(&computed, &root);
	if (cairn_hash_equal(&computed, &file->hash)) {
		if (run->records)
			cairn_verify_record_file(run, file);
		return CAIRN_OK;
	}
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "file.hash", file->offset,
		   "the file hash is not that of the chunks its %" PRIu32
		   " terms run over: a term is missing, out of order or of another file, or the hash is wrong",
		   file->n_terms);
	if (all_described)
		cairn_verify_diag_hashes(run->diag, &computed, &file->hash);
	return CAIRN_E_MISMATCH;
}

enum cairn_status cairn_verify_files(struct verify_run *run)
{
	struct cairn_shard_reader r = run->files_start;
	for (;;) {
		struct cairn_shard_file file;
		bool more;
		enum cairn_status status = cairn_shard_next_file(&r, &file, &more, run->diag);
		if (status != CAIRN_OK || !more)
			return status;
		status = file_verify(run, &file);
		if (status != CAIRN_OK)
			return status;
	}
}
