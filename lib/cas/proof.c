#include "cas/proof.h"

#include "cas/file_reader.h"
#include "cas/internal.h"
#include "hash/crypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROOF_CLAIMS = 64,                   /* of one turn: as many small files as one write is worth */
	PROOF_BLOCK_BYTES = 128 * 1024,      /* read at once, a chunk's largest */
	PROOF_TURN_BYTES = 64 * 1024 * 1024, /* after which a turn takes no further file */
	PROOF_AGAIN_S = 3600,
};

struct proof_claim {
	struct cairn_index_due due; /* its owner's name is that of the turn */
	struct cairn_index_outcome outcome;
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
	claim->outcome = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id};
	memcpy(claim->outcome.said, due->said, sizeof(due->said));
	(void)snprintf(run->owner, sizeof(run->owner), "%s", due->owner);
}

static bool proof_go_on(const struct proof_run *run, size_t bytes)
{
	return run->turn->pace.go_on(run->turn->pace.ctx, bytes);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Wait as if it were read. */
static enum cairn_status proof_wait(const struct proof_run *run, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += PROOF_BLOCK_BYTES)
		if (!proof_go_on(run, bytes - done < PROOF_BLOCK_BYTES ? (size_t)(bytes - done) : PROOF_BLOCK_BYTES))
			return CAIRN_E_BUSY;
	return CAIRN_OK;
}

static enum cairn_status proof_read_all(struct proof_run *run, const struct cairn_index_due *due,
					struct cairn_sha256 *digest)
{
	static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *reader = NULL;
	struct cairn_file_extent extent;
	struct cairn_diag unsaid = {0};
	size_t n = 1;
	enum cairn_status status = cairn_file_reader_open(run->cas, NULL, &due->file, &ALL, &extent, &reader, &unsaid);
	while (status == CAIRN_OK && n > 0) {
		status = cairn_file_reader_read(reader, run->block, sizeof(run->block), &n, &unsaid);
		cairn_sha256_add(digest, run->block, n);
		if (n > 0 && !proof_go_on(run, n))
			return CAIRN_E_BUSY;
	}
	return status;
}

/* @return CAIRN_OK with the proof, or that it cannot be had now; CAIRN_E_BUSY; CAIRN_E_NOMEM */
static enum cairn_status proof_read(struct proof_run *run, struct proof_claim *claim)
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *digest = cairn_sha256_new();
	if (!digest)
		return CAIRN_E_NOMEM;
	enum cairn_status status = proof_read_all(run, &claim->due, digest);
	if (status == CAIRN_E_BUSY || status == CAIRN_E_NOMEM)
		return status;
	claim->outcome.is_unread = status != CAIRN_OK;
	if (status == CAIRN_OK)
		cairn_sha256_end(digest, claim->outcome.proof);
	return CAIRN_OK;
}

/* @param before  the claim before it, which may be of the same file; NULL: none */
static enum cairn_status proof_look(struct proof_run *run, struct proof_claim *claim, const struct proof_claim *before)
{
	bool same = before && before->due.file_id == claim->due.file_id && !before->outcome.is_unread;
	if (!same && !claim->due.is_known)
		return proof_read(run, claim);
	memcpy(claim->outcome.proof, same ? before->outcome.proof : claim->due.proof, sizeof(claim->outcome.proof));
	return proof_wait(run, claim->due.size_bytes);
}

/* --- settling ----------------------------------------------------------------------------------------------------- */

static void proof_tell(struct proof_run *run, const struct proof_claim *claim)
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

/* @param n  claims that were looked at */
static enum cairn_status proof_settle(struct proof_run *run, uint32_t n)
{
	struct cairn_index_settle_claims settle = {
		.outcomes = run->outcomes, .n = n, .again_unix_s = run->turn->now_unix_s + PROOF_AGAIN_S};
	for (uint32_t i = 0; i < n; i++)
		run->outcomes[i] = run->claims[i].outcome;
	enum cairn_status status = n > 0 ? cairn_index_settle_claims(run->cas->index, &settle) : CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++)
		proof_tell(run, &run->claims[i]);
	return status;
}

static enum cairn_status proof_turn(struct proof_run *run)
{
	uint64_t bytes = 0;
	uint32_t n = 0;
	enum cairn_status status = CAIRN_OK;
	for (; n < run->n && bytes < PROOF_TURN_BYTES; n++) {
		status = proof_look(run, &run->claims[n], n > 0 ? &run->claims[n - 1] : NULL);
		if (status != CAIRN_OK)
			break;
		bytes += run->claims[n].due.size_bytes;
	}
	enum cairn_status settled = proof_settle(run, n);
	return settled == CAIRN_OK ? status : settled;
}

enum cairn_status cairn_cas_prove_turn(struct cairn_cas *cas, struct cairn_proof_turn *turn)
{
	struct proof_run *run = calloc(1, sizeof(*run));
	if (!run)
		return CAIRN_E_NOMEM;
	run->cas = cas;
	run->turn = turn;
	turn->n_proved = turn->n_false = turn->n_unread = 0;
	enum cairn_status status =
		cairn_index_each_due(cas->index, turn->after_owner, turn->now_unix_s, PROOF_CLAIMS, proof_take, run);
	turn->owner = run->n > 0 ? run->claims[0].due.owner_id : -1;
	if (status == CAIRN_OK)
		status = proof_turn(run);
	free(run);
	return status;
}

enum cairn_status cairn_cas_prove_file(struct cairn_cas *cas, const char *owner, const struct cairn_hash *file,
				       const uint8_t sha256[static 32])
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

enum cairn_status cairn_cas_each_lie(struct cairn_cas *cas, uint32_t limit,
				     void (*visit)(void *ctx, const struct cairn_index_lie *lie), void *ctx)
{
	return cairn_index_each_lie(cas->index, limit, visit, ctx);
}
