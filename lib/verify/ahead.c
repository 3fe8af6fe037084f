/* Hashes several terms together, ahead of their turn: a term of few chunks alone leaves the processor's vectors idle.
 * Only for xorbs that the shard describes: for others no work may depend on stored data. */
#include "verify/run.h"

enum cairn_status cairn_verify_gather(struct cairn_chunk_list *list, const struct cairn_shard_xorb *xorb,
				      uint32_t start, uint32_t end)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = start; i < end && status == CAIRN_OK; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		struct cairn_span span = {.unpacked_bytes = chunk.unpacked_bytes};
		status = cairn_chunk_list_add(list, &chunk.hash, span);
	}
	return status;
}

/* Tries the previous term's xorb first: mostly it is the same. */
static const struct verify_place *ahead_find(const struct verify_run *run, const struct cairn_shard_term *term,
					     const struct verify_ahead *before, struct cairn_shard_xorb *xorb)
{
	if (!before || !before->place || !cairn_hash_equal(&before->xorb.hash, &term->xorb))
		return cairn_verify_find(run, &term->xorb, xorb);
	*xorb = before->xorb;
	return before->place;
}

static bool ahead_is_short(const struct cairn_shard_term *term, const struct cairn_shard_xorb *xorb)
{
	return term->start < term->end && term->end <= xorb->n_chunks &&
	       term->end - term->start <= CAIRN_HASH_RANGE_CHUNKS;
}

enum cairn_status cairn_verify_hash_ahead(struct verify_run *run, const struct cairn_shard_file *file, uint32_t i)
{
	struct cairn_chunk_list *chunks = &run->ahead_chunks;
	struct cairn_hash hashes[VERIFY_AHEAD_MAX];
	size_t ends[VERIFY_AHEAD_MAX], n_short = 0;
	uint32_t n = file->n_terms - i < VERIFY_AHEAD_MAX ? file->n_terms - i : VERIFY_AHEAD_MAX;
	chunks->n = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct verify_ahead *ahead = &run->ahead[k];
		struct cairn_shard_term term = cairn_shard_file_term(file, i + k);
		ahead->place = ahead_find(run, &term, k > 0 ? ahead - 1 : NULL, &ahead->xorb);
		if (!ahead->place)
			continue;
		if (!ahead_is_short(&term, &ahead->xorb)) {
			ahead->place = NULL;
			continue;
		}
		ahead->first = chunks->n;
		enum cairn_status status = cairn_verify_gather(chunks, &ahead->xorb, term.start, term.end);
		if (status != CAIRN_OK)
			return status;
		ends[n_short++] = chunks->n;
	}
	if (n_short > 0)
		cairn_hash_ranges(hashes, chunks->hashes, ends, n_short);
	for (uint32_t k = 0, at = 0; k < n; k++)
		if (run->ahead[k].place)
			run->ahead[k].range_hash = hashes[at++];
	return CAIRN_OK;
}
