#include "cas/keep/proof.h"

#include "cas/internal.h"
#include "cas/keep/proof_parts.h"
#include "cas/serve/file_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROOF_CLAIMS = 64,                   /* claims in a turn: as many small files as are worth one write */
	PROOF_BLOCK_BYTES = 128 * 1024,      /* bytes read at once: the largest chunk */
	PROOF_TURN_BYTES = 64 * 1024 * 1024, /* a turn starts no file beyond this, and interrupts a longer one */
};

struct proof_claim {
	struct cairn_index_due due; /* due.owner points to the owner in struct proof_run */
	struct cairn_index_outcome outcome;
	bool is_begun; /* the next turn continues it; there is no outcome yet */
};

struct proof_run {
	struct cairn_cas *cas;
	struct cairn_proof_turn *turn;
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint32_t n; /* claims */
	struct proof_claim claims[PROOF_CLAIMS];
	struct cairn_index_outcome outcomes[PROOF_CLAIMS];
	uint8_t block[PROOF_BLOCK_BYTES];
};

static void proof_take(void *ctx, const struct cairn_index_due *due)
{
	struct proof_run *run = ctx;
	struct proof_claim *claim = &run->claims[run->n++];
	claim->due = *due;
	claim->due.owner = run->owner;
	claim->outcome =
		(struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(claim->outcome.said, due->said, sizeof(due->said));
	(void)snprintf(run->owner, sizeof(run->owner), "%s", due->owner);
}

static bool proof_go_on(const struct proof_run *run, size_t bytes)
{
	return run->turn->pace.go_on(run->turn->pace.ctx, bytes);
}

/* Waits as long as reading the bytes would take. */
static enum cairn_status proof_wait(const struct proof_run *run, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += PROOF_BLOCK_BYTES)
		if (!proof_go_on(run, bytes - done < PROOF_BLOCK_BYTES ? (size_t)(bytes - done) : PROOF_BLOCK_BYTES))
			return CAIRN_E_BUSY;
	return CAIRN_OK;
}

/* @param at  position in the file; on return, the end of the bytes added to the digest, also after a failure
 * @param end  exclusive */
static enum cairn_status proof_read_to(struct proof_run *run, const struct cairn_index_due *due, uint64_t *at,
				       uint64_t end, struct cairn_sha256 *digest)
{
	const struct cairn_byte_range part = {.kind = CAIRN_RANGE_FROM_TO, .first = *at, .last = end - 1};
	static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *reader = NULL;
	bool whole = *at == 0 && end == due->size_bytes;
	struct cairn_file_extent extent;
	struct cairn_diag unsaid = {0};
	size_t n = 1;
	if (*at == end && !whole)
		return CAIRN_OK; /* the last turn stopped exactly here */
	enum cairn_status status =
		cairn_file_reader_open(run->cas, NULL, &due->file, whole ? &ALL : &part, &extent, &reader, &unsaid);
	while (status == CAIRN_OK && n > 0) {
		status = cairn_file_reader_read(reader, run->block, sizeof(run->block), &n, &unsaid);
		cairn_sha256_add(digest, run->block, n);
		*at += n;
		if (n > 0 && !proof_go_on(run, n))
			return CAIRN_E_BUSY;
	}
	return status;
}

/* Reads the file of a claim. @return CAIRN_OK: the outcome has the proof, or that the file cannot be read now;
 * CAIRN_E_BUSY; CAIRN_E_NOMEM */
static enum cairn_status proof_read(struct proof_run *run, struct proof_claim *claim)
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	uint64_t at = 0;
	if (!digest)
		return CAIRN_E_NOMEM;
	enum cairn_status status = proof_read_to(run, &claim->due, &at, claim->due.size_bytes, digest);
	if (status == CAIRN_E_BUSY || status == CAIRN_E_NOMEM)
		return status;
	claim->outcome.is_unread = status != CAIRN_OK;
	if (status == CAIRN_OK)
		cairn_sha256_end(digest, claim->outcome.proof);
	return CAIRN_OK;
}

/* Waits for a part, up to end, of a long file whose proof is known. Drops a digest that was begun before. */
static enum cairn_status proof_wait_part(struct proof_run *run, struct cas_proof_part *part, uint64_t end)
{
	cairn_sha256_freep(&part->digest);
	enum cairn_status status = proof_wait(run, end - part->at);
	if (status == CAIRN_OK)
		part->at = end;
	return status;
}

/* Reads a part, up to end, of a long file whose proof is unknown. */
static enum cairn_status proof_read_part(struct proof_run *run, struct proof_claim *claim, struct cas_proof_part *part,
					 uint64_t end)
{
	enum cairn_status status = proof_read_to(run, &claim->due, &part->at, end, part->digest);
	claim->outcome.is_unread = status != CAIRN_OK && status != CAIRN_E_BUSY && status != CAIRN_E_NOMEM;
	if (status == CAIRN_OK && part->at == claim->due.size_bytes)
		cairn_sha256_end(part->digest, claim->outcome.proof);
	return claim->outcome.is_unread ? CAIRN_OK : status;
}

/* Handles the next part of a long file. If there is no room for its progress, the owner waits for another file. */
static enum cairn_status proof_read_turn(struct proof_run *run, struct proof_claim *claim, bool is_known)
{
	struct cas_proof_part *part = cas_proof_parts_take(run->turn->parts, &claim->due);
	claim->is_begun = true;
	if (!part)
		return CAIRN_OK;
	if (!is_known && !part->digest) {
		part->at = 0;
		part->digest = cairn_sha256_new();
	}
	if (!is_known && !part->digest)
		return CAIRN_E_NOMEM;
	uint64_t left = claim->due.size_bytes - part->at;
	uint64_t end = part->at + (left < PROOF_TURN_BYTES ? left : PROOF_TURN_BYTES);
	enum cairn_status status = is_known ? proof_wait_part(run, part, end) : proof_read_part(run, claim, part, end);
	claim->is_begun = !claim->outcome.is_unread && part->at < claim->due.size_bytes;
	if (status == CAIRN_OK && !claim->is_begun)
		cas_proof_parts_drop(run->turn->parts, part);
	return status;
}

/* @param before  the previous claim, which may be of the same file; NULL: none */
static enum cairn_status proof_prove(struct proof_run *run, struct proof_claim *claim, const struct proof_claim *before)
{
	bool same = before && before->due.file_id == claim->due.file_id && !before->outcome.is_unread;
	bool is_known = same || claim->due.is_known;
	if (is_known)
		memcpy(claim->outcome.proof, same ? before->outcome.proof : claim->due.proof,
		       sizeof(claim->outcome.proof));
	if (claim->due.size_bytes > PROOF_TURN_BYTES)
		return proof_read_turn(run, claim, is_known);
	return is_known ? proof_wait(run, claim->due.size_bytes) : proof_read(run, claim);
}

static void proof_report(struct proof_run *run, const struct proof_claim *claim)
{
	struct cairn_proof_turn *turn = run->turn;
	const struct cairn_index_outcome *o = &claim->outcome;
	bool is_true = memcmp(o->said, o->proof, sizeof(o->said)) == 0;
	turn->n_unread += o->is_unread;
	turn->n_proved += !o->is_unread && is_true;
	if (o->is_unread || is_true)
		return;
	struct cairn_index_lie lie = {.file = claim->due.file, .owner = run->owner};
	memcpy(lie.said, o->said, sizeof(lie.said));
	memcpy(lie.proof, o->proof, sizeof(lie.proof));
	turn->n_false++;
	turn->lied(turn->lied_ctx, &lie);
}

/* @param n  number of claims that were decided */
static enum cairn_status proof_record(struct proof_run *run, uint32_t n)
{
	struct cairn_index_record_outcomes record = {.write.lease = run->turn->lease,
						     .outcomes = run->outcomes,
						     .n = n,
						     .again_unix_s = run->turn->now_unix_s + CAIRN_INDEX_PUT_OFF_S};
	for (uint32_t i = 0; i < n; i++)
		run->outcomes[i] = run->claims[i].outcome;
	enum cairn_status status = n > 0 ? cairn_index_record_outcomes(run->cas->index, &record) : CAIRN_OK;
	run->turn->lease_over = status == CAIRN_E_BUSY && cairn_diag_has(&record.write.diag, "lease.over");
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++)
		proof_report(run, &run->claims[i]);
	return status;
}

static enum cairn_status proof_turn(struct proof_run *run)
{
	uint64_t bytes = 0;
	uint32_t n = 0;
	enum cairn_status status = CAIRN_OK;
	for (; n < run->n && bytes < PROOF_TURN_BYTES; n++) {
		status = proof_prove(run, &run->claims[n], n > 0 ? &run->claims[n - 1] : NULL);
		if (status != CAIRN_OK || run->claims[n].is_begun)
			break;
		bytes += run->claims[n].due.size_bytes;
	}
	enum cairn_status recorded = proof_record(run, n);
	return recorded == CAIRN_OK ? status : recorded;
}

enum cairn_status cairn_cas_take_proving(struct cairn_cas *cas, struct cairn_index_lease *lease)
{
	struct cairn_index_job_state state;
	struct cairn_diag unsaid = {0};
	cairn_index_job_state(cas->index, CAIRN_INDEX_PROVE, &state);
	return state.taken ? CAIRN_E_CONFLICT : cairn_index_take_lease(cas->index, CAIRN_INDEX_PROVE, lease, &unsaid);
}

void cairn_cas_give_proving(struct cairn_cas *cas, const struct cairn_index_lease *lease)
{
	(void)!cairn_index_give_lease(cas->index, lease, 0, 0);
}

enum cairn_status cairn_cas_prove_turn(struct cairn_cas *cas, struct cairn_proof_turn *turn)
{
	struct proof_run *run = calloc(1, sizeof(*run));
	if (!run)
		return CAIRN_E_NOMEM;
	run->cas = cas;
	run->turn = turn;
	turn->n_proved = turn->n_false = turn->n_unread = 0;
	if (turn->after_owner < 0)
		cas_proof_parts_begin(turn->parts);
	turn->lease_over = false;
	enum cairn_status status =
		cairn_index_each_due(cas->index, turn->after_owner, turn->now_unix_s, PROOF_CLAIMS, proof_take, run);
	turn->owner = run->n > 0 ? run->claims[0].due.owner_id : -1;
	if (status == CAIRN_OK)
		status = proof_turn(run);
	free(run);
	return status;
}

enum cairn_status cairn_cas_prove_file(struct cairn_cas *cas, const char *owner, const struct cairn_hash *file,
				       const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	struct cairn_index_prove_file prove = {.hash = *file, .owner = owner};
	memcpy(prove.sha256, sha256, sizeof(prove.sha256));
	enum cairn_status status = cairn_index_prove_file(cas->index, &prove);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_cas_claims(struct cairn_cas *cas, struct cairn_index_claims *out)
{
	return cairn_index_claims(cas->index, out);
}

enum cairn_status cairn_cas_each_lie(struct cairn_cas *cas, const struct cairn_index_lie *after, uint32_t limit,
				     cairn_index_visit_lie *visit, void *ctx, bool *more)
{
	return cairn_index_each_lie(cas->index, after, limit, visit, ctx, more);
}
