/* Proof of SHA-256: what owners say of their files is compared with the bytes, in the background, owner by owner in
 * turns. */
#ifndef CAIRN_CAS_PROOF_H
#define CAIRN_CAS_PROOF_H

#include "cas/scrub.h"
#include "index/lease.h"
#include "index/proof.h"

/** How far the long files are that were begun in turns before. One thread's. */
struct cairn_proof_parts;

/** @return owned by the caller, cairn_proof_parts_free(); NULL without memory */
struct cairn_proof_parts *cairn_proof_parts_new(void);

/** What was begun is forgotten. NULL is harmless. */
void cairn_proof_parts_free(struct cairn_proof_parts *parts);

/** What is asked of a turn, and what came of it. Zeroed except for what is asked. */
struct cairn_proof_turn {
	struct cairn_proof_parts *parts; /* the same in all turns */
	int64_t after_owner;             /* whose turn it was before; -1: nobody's */
	int64_t now_unix_s;
	const struct cairn_index_lease *lease; /* of cairn_cas_take_proving() */
	struct cairn_scrub_pace pace;          /* told of each byte that was read, or that could have been */
	void (*lied)(void *ctx, const struct cairn_index_lie *lie); /* told of each claim that is false */
	void *lied_ctx;

	int64_t owner; /* whose turn it was; -1: nothing is due behind after_owner */
	uint64_t n_proved, n_false, n_unread;
	bool lease_over; /* another daemon has taken over: this turn came to nothing */
};

/** Of all daemons that share the index one proves. @return CAIRN_OK: this one, until cairn_cas_give_proving();
 *  CAIRN_E_CONFLICT another does, or the clock is off (index.clock); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_take_proving(struct cairn_cas *cas, struct cairn_index_lease *lease);
void cairn_cas_give_proving(struct cairn_cas *cas, const struct cairn_index_lease *lease);

/**
 * Look at some claims of the next owner: read their files, and write down which are true. Of a file that is longer than
 * a turn a part is read, and the next part in the next turn of that owner: nobody waits for another's long files. A
 * file that was read before, for any owner, is not read again, but takes as long: the time must not tell whose it is,
 * too. What cannot be read now is looked at again an hour later. A claim that is not written down is due as before, so
 * a stop at any moment loses no more than the reading.
 * @return CAIRN_OK
 *         CAIRN_E_BUSY  stopped, or store or index do not answer; what was read before is written down
 *         else as a write: the index
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_prove_turn(struct cairn_cas *cas, struct cairn_proof_turn *turn);

/** A file was hashed here while it came, after its shard was registered: write down that this is proved.
 *  @return CAIRN_OK, also when the file was taken from its owner meanwhile; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_prove_file(struct cairn_cas *cas, const char *owner,
						      const struct cairn_hash *file,
						      const uint8_t sha256[static CAIRN_SHA256_BYTES]);

/** How many claims wait, and are false. @return as cairn_index_claims() */
CAIRN_MUST_USE enum cairn_status cairn_cas_claims(struct cairn_cas *cas, struct cairn_index_claims *out);

enum { CAIRN_LIES_PAGE_MAX = 512 }; /* rows of one call of cairn_cas_each_lie() */

/** Visit claims that are false. @return as cairn_index_each_lie() */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_lie(struct cairn_cas *cas, const struct cairn_index_lie *after,
						    uint32_t limit, cairn_index_visit_lie *visit, void *ctx,
						    bool *more);

#endif
