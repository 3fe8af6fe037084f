#include "cli/pull/pull_blame.h"

#include "cli/common/answer.h"
#include "cli/common/client.h"
#include "cli/pull/pull_plan.h"

#include <inttypes.h>

enum { BLAME_QUERIES_MAX = 4 }; /* queries for the chunk list of a xorb */

struct blame {
	struct client *client;
	struct cairn_diag *diag;
	struct cairn_buf bytes; /* the current answer */
	bool found;
};

/* A window of the file: the terms of its plan, and the chunks of these terms. */
struct blame_window {
	struct pull_plan plan;
	struct pull_chunks chunks;
};

static void blame_window_fini(struct blame_window *w)
{
	pull_plan_fini(&w->plan);
	pull_chunks_fini(&w->chunks);
}

static void blame_fini(struct blame *b)
{
	cairn_buf_fini(&b->bytes);
}

static void blame_chunk(struct blame *b, const struct cairn_hash *xorb, uint32_t chunk, const struct pull_chunk *got)
{
	char xorb_text[CAIRN_HASH_TEXT_BYTES], got_text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(xorb_text, xorb);
	cairn_hash_text(got_text, &got->hash);
	b->found = true;
	(void)cairn_fail(b->diag, CAIRN_E_MISMATCH, "chunk.hash", CAIRN_NO_OFFSET,
			 "chunk %" PRIu32 " of xorb %s, byte %" PRIu64
			 " of the file, is not what the server's index says; run cairn fsck on the server",
			 chunk, xorb_text, got->at);
	cairn_diag_values(b->diag, "", got_text);
}

/* Compares the terms among the uses [from, end) of the plan, which are of one xorb. */
static void blame_compare(struct blame *b, const struct blame_window *w, const struct cairn_shard_xorb *xorb,
			  const struct cairn_hash *key, size_t from, size_t end)
{
	for (size_t i = from; i < end && !b->found; i++) {
		const struct pull_term *t = &w->plan.terms[w->plan.uses[i]];
		for (uint32_t c = t->start; c < t->end && c < xorb->n_chunks && !b->found; c++) {
			const struct pull_chunk *got = &w->chunks.at[t->slot + (c - t->start)];
			struct cairn_shard_chunk want = cairn_shard_xorb_chunk(xorb, c);
			struct cairn_hash keyed;
			cairn_hash_keyed(&keyed, key, &got->hash);
			if (!cairn_hash_equal(&keyed, &want.hash))
				blame_chunk(b, &t->xorb, c, got);
		}
	}
}

/* Asks about a chunk. @return true: the answer contains the xorb */
static bool blame_ask(struct blame *b, const struct blame_window *w, const struct cairn_hash *chunk, size_t from,
		      size_t end)
{
	struct answer answer;
	struct cairn_shard_xorb xorb;
	bool more = true;
	if (answer_ask(b->client, chunk, &b->bytes, NULL) != CAIRN_OK ||
	    answer_read(&answer, b->bytes.bytes, b->bytes.len, NULL) != CAIRN_OK)
		return false;
	while (cairn_shard_next_xorb(&answer.xorbs, &xorb, &more, NULL) == CAIRN_OK && more) {
		if (!cairn_hash_equal(&xorb.hash, &w->plan.terms[w->plan.uses[from]].xorb))
			continue;
		blame_compare(b, w, &xorb, &answer.footer.chunk_hash_key, from, end);
		return true;
	}
	return false;
}

static void blame_xorb(struct blame *b, const struct blame_window *w, size_t from, size_t end)
{
	unsigned queries = 0;
	for (size_t i = from; i < end; i++) {
		const struct pull_term *t = &w->plan.terms[w->plan.uses[i]];
		for (uint32_t c = 0; c < t->end - t->start; c++) {
			const struct pull_chunk *chunk = &w->chunks.at[t->slot + c];
			if (chunk->at != 0 && !cairn_hash_is_eligible(&chunk->hash))
				continue;
			if (blame_ask(b, w, &chunk->hash, from, end) || ++queries == BLAME_QUERIES_MAX)
				return;
		}
	}
}

static void blame_window(struct blame *b, const struct blame_window *w)
{
	for (size_t i = 0, end; i < w->plan.n_terms && !b->found; i = end) {
		const struct cairn_hash *xorb = &w->plan.terms[w->plan.uses[i]].xorb;
		for (end = i + 1; end < w->plan.n_terms; end++)
			if (!cairn_hash_equal(xorb, &w->plan.terms[w->plan.uses[end]].xorb))
				break;
		blame_xorb(b, w, i, end);
	}
}

void pull_blame(struct client *client, const struct pull_state *state, const struct cairn_hash *file,
		uint64_t file_bytes, struct cairn_diag *diag)
{
	CLEANUP(blame_fini)
	struct blame b = {.client = client, .diag = diag, .bytes = cairn_buf_init(ANSWER_BYTES_MAX)};
	uint64_t at = 0, offset = PULL_STATE_HEADER_BYTES;
	while (at < file_bytes && !b.found) {
		CLEANUP(blame_window_fini) struct blame_window w = {0};
		if (pull_state_read(state, offset, &w.chunks, &offset, NULL) != CAIRN_OK || !w.chunks.ended ||
		    w.chunks.window_end <= at ||
		    pull_plan_get(&w.plan, client, file, at, w.chunks.window_end, file_bytes, NULL) != CAIRN_OK)
			return;
		if (w.plan.n_chunks == w.chunks.n)
			blame_window(&b, &w);
		at = w.chunks.window_end;
	}
}
