#include "verify/run.h"

#include "hash/merkle.h"

#include <inttypes.h>
#include <stdio.h>

/* Make the term's xorb the one at hand. Terms mostly run over the same xorb as the one before. */
static enum cairn_status term_find_xorb(struct verify_run *run, const struct cairn_shard_term *term, uint64_t offset)
{
	if (run->has_last && cairn_hash_equal(&run->last_hash, &term->xorb))
		return CAIRN_OK;
	run->last_known = NULL;
	enum cairn_status status = CAIRN_OK;
	run->has_last = cairn_verify_find(run, &term->xorb, &run->last_described);
	if (!run->has_last)
		status = cairn_verify_ask(run, &term->xorb, offset, &run->last_known);
	if (status == CAIRN_E_NOT_FOUND) {
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(text, &term->xorb);
		return cairn_fail(run->diag, status, "term.unknown_xorb", offset,
				  "a term refers to xorb %s, which is neither described in this shard nor stored here: "
				  "upload the xorb first",
				  text);
	}
	if (status != CAIRN_OK)
		return status;
	run->has_last = true;
	run->last_hash = term->xorb;
	return CAIRN_OK;
}

static enum cairn_status term_check_range(struct verify_run *run, const struct cairn_shard_term *term, uint64_t offset)
{
	uint32_t n = run->last_known ? run->last_known->n : run->last_described.n_chunks;
	if (term->start >= term->end || term->end > n) {
		cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.range", offset + 40,
			   "a term runs over chunks %" PRIu32 " to %" PRIu32 " (exclusive) of a xorb with %" PRIu32
			   " chunks: it must be start < end <= chunks",
			   term->start, term->end, n);
		char actual[48];
		(void)snprintf(actual, sizeof(actual), "%" PRIu32 " to %" PRIu32 " of %" PRIu32, term->start, term->end,
			       n);
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

/* The chunks of a term, side by side: those of a stored xorb are so already, those described here are copied. */
static enum cairn_status term_gather(struct verify_run *run, const struct cairn_shard_term *term,
				     const struct cairn_hash **hashes, const struct cairn_span **spans)
{
	if (run->last_known) {
		*hashes = run->last_known->hashes + term->start;
		*spans = run->last_known->spans + term->start;
		return CAIRN_OK;
	}
	run->scratch.n = 0;
	for (uint32_t i = term->start; i < term->end; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(&run->last_described, i);
		struct cairn_span span = {.unpacked_bytes = chunk.unpacked_bytes};
		enum cairn_status status = cairn_chunk_list_add(&run->scratch, &chunk.hash, span);
		if (status != CAIRN_OK)
			return status;
	}
	*hashes = run->scratch.hashes;
	*spans = run->scratch.spans;
	return CAIRN_OK;
}

static enum cairn_status term_check_range_hash(struct verify_run *run, const struct cairn_shard_file *file, uint32_t i,
					       const struct cairn_hash *hashes, uint32_t n)
{
	struct cairn_range_hasher hasher;
	struct cairn_hash computed, claimed = cairn_shard_file_range_hash(file, i);
	cairn_range_hash_init(&hasher);
	cairn_range_hash_add(&hasher, hashes, n);
	cairn_range_hash_end(&hasher, &computed);
	if (cairn_hash_equal(&computed, &claimed))
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.range_hash", cairn_shard_file_verification_offset(file, i),
		   "the verification hash of term %" PRIu32 " (%" PRIu32 " chunks) is not that of its chunks", i, n);
	cairn_verify_diag_hashes(run->diag, &computed, &claimed);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status term_verify(struct verify_run *run, const struct cairn_shard_file *file, uint32_t i,
				     struct cairn_merkle *merkle)
{
	struct cairn_shard_term term = cairn_shard_file_term(file, i);
	uint64_t offset = cairn_shard_file_term_offset(file, i);
	enum cairn_status status = term_find_xorb(run, &term, offset);
	if (status == CAIRN_OK)
		status = term_check_range(run, &term, offset);
	const struct cairn_hash *hashes = NULL;
	const struct cairn_span *spans = NULL;
	if (status == CAIRN_OK)
		status = term_gather(run, &term, &hashes, &spans);
	if (status != CAIRN_OK)
		return status;
	uint32_t n = term.end - term.start;
	uint64_t unpacked_bytes = 0;
	for (uint32_t k = 0; k < n; k++) {
		cairn_merkle_add(merkle, &hashes[k], spans[k].unpacked_bytes);
		unpacked_bytes += spans[k].unpacked_bytes;
	}
	if (unpacked_bytes != term.unpacked_bytes) {
		cairn_fail(run->diag, CAIRN_E_MISMATCH, "term.unpacked_bytes", offset + 36,
			   "unpacked_segment_bytes of a term is %" PRIu32 ", but its chunks have %" PRIu64 " bytes",
			   term.unpacked_bytes, unpacked_bytes);
		cairn_diag_numbers(run->diag, unpacked_bytes, term.unpacked_bytes);
		return CAIRN_E_MISMATCH;
	}
	run->sum.file_bytes += unpacked_bytes;
	status = term_check_range_hash(run, file, i, hashes, n);
	if (status == CAIRN_OK && i == 0 && run->options->first_chunk)
		status = run->options->first_chunk(run->options->first_chunk_ctx, &hashes[0]);
	return status == CAIRN_OK ? cairn_verify_advance(run, 1, (uint64_t)n + 1) : status;
}

static enum cairn_status file_verify(struct verify_run *run, const struct cairn_shard_file *file)
{
	struct cairn_merkle merkle;
	cairn_merkle_init(&merkle);
	for (uint32_t i = 0; i < file->n_terms; i++) {
		enum cairn_status status = term_verify(run, file, i, &merkle);
		if (status != CAIRN_OK)
			return status;
	}
	struct cairn_hash root, computed;
	cairn_merkle_root(&merkle, &root);
	cairn_hash_file(&computed, &root);
	if (cairn_hash_equal(&computed, &file->hash))
		return CAIRN_OK;
	cairn_fail(run->diag, CAIRN_E_MISMATCH, "file.hash", file->offset,
		   "the file hash is not that of the chunks its %" PRIu32
		   " terms run over: a term is missing, out of order or of another file, or the hash is wrong",
		   file->n_terms);
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
