/* Compares the SHA-256 that owners claim with the bytes, in the background, in turns for each owner. */
#ifndef CAIRN_CAS_KEEP_PROOF_H
#define CAIRN_CAS_KEEP_PROOF_H

#include "cas/keep/scrub.h"
#include "index/daemon/lease.h"
#include "index/proof.h"

/** The progress in long files that earlier turns began. For one thread. */
struct cairn_proof_parts;

/** Makes an empty set of parts. @return owned by the caller, cairn_proof_parts_free(); NULL: no memory */
struct cairn_proof_parts *cairn_proof_parts_new(void);

/** Frees the set, and thus the progress. NULL is harmless. */
void cairn_proof_parts_free(struct cairn_proof_parts *parts);

/** The parameters and results of a turn. Set the first group; zero the rest. */
struct cairn_proof_turn {
	struct cairn_proof_parts *parts; /* the same set for all turns */
	int64_t after_owner;             /* owner of the turn before; -1: this is the first */
	int64_t now_unix_s;
	const struct cairn_index_lease *lease;                      /* as cairn_cas_take_proving() set it */
	struct cairn_scrub_pace pace;                               /* called for each byte read, or skipped as known */
	void (*lied)(void *ctx, const struct cairn_index_lie *lie); /* called for each false claim */
	void *lied_ctx;

	int64_t owner; /* owner of this turn; -1: no claim is due after after_owner */
	uint64_t n_proved, n_false, n_unread;
	bool lease_over; /* another daemon has taken over: this turn has no result */
};

/** Takes the job of proving, which only one daemon of the index has. @return CAIRN_OK: this daemon has it until
 * cairn_cas_give_proving(); CAIRN_E_CONFLICT another daemon has it, or the clock is off (index.clock); as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_take_proving(struct cairn_cas *cas, struct cairn_index_lease *lease);
void cairn_cas_give_proving(struct cairn_cas *cas, const struct cairn_index_lease *lease);

/** Proves some claims of the next owner: reads their files, and records which claims are true. If a file is longer than
 * a turn, each turn of its owner reads one part, so that no owner waits for another's long files. A file that was read
 * for any owner is not read again, but the call still takes as long, so that timing does not reveal other owners.
 * Retries an unreadable file after an hour. A claim that is not recorded stays due, so a stop loses only the reading.
 * @return CAIRN_OK; CAIRN_E_BUSY stopped, or store or index do not answer: results up to then are written; else as a
 *         write: the index */
CAIRN_MUST_USE enum cairn_status cairn_cas_prove_turn(struct cairn_cas *cas, struct cairn_proof_turn *turn);

/** Records that the SHA-256 of a file is proved, because it was hashed while it was received. Call it after its shard
 * was registered.
 * @return CAIRN_OK, also if the owner lost the file meanwhile; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_prove_file(struct cairn_cas *cas, const char *owner,
						      const struct cairn_hash *file,
						      const uint8_t sha256[static CAIRN_SHA256_BYTES]);

/** Counts the claims that wait, and the false ones. @return as cairn_index_claims() */
CAIRN_MUST_USE enum cairn_status cairn_cas_claims(struct cairn_cas *cas, struct cairn_index_claims *out);

enum { CAIRN_LIES_PAGE_MAX = 512 }; /* rows of one call of cairn_cas_each_lie() */

/** Visits false claims. @return as cairn_index_each_lie() */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_lie(struct cairn_cas *cas, const struct cairn_index_lie *after,
						    uint32_t limit, cairn_index_visit_lie *visit, void *ctx,
						    bool *more);

#endif
