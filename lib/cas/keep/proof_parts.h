/* The progress in long files, which are hashed part by part in their owners' turns. For one thread. */
#ifndef CAIRN_CAS_KEEP_PROOF_PARTS_H
#define CAIRN_CAS_KEEP_PROOF_PARTS_H

#include "cas/keep/proof.h"
#include "hash/crypto.h"

/** The progress in one file of an owner. */
struct cas_proof_part {
	int64_t owner_id;
	struct cairn_hash file;
	uint8_t said[CAIRN_SHA256_BYTES];
	uint64_t at; /* bytes of the file handled so far */
	/* owned; digest of those bytes. NULL: the proof is known, and the turns only waited */
	struct cairn_sha256 *digest;
	uint64_t round; /* the round in which it was last taken */
};

/** Begins a round over all owners. If room is needed, parts not taken in the round before are dropped. */
void cas_proof_parts_begin(struct cairn_proof_parts *parts);

/** Returns the progress of a claim, which may be new. Drops progress in another file of the owner.
 * @return valid until the next call; NULL: no room, or no memory, for one more owner */
struct cas_proof_part *cas_proof_parts_take(struct cairn_proof_parts *parts, const struct cairn_index_due *due);

/** Drops a part when its file is done. */
void cas_proof_parts_drop(struct cairn_proof_parts *parts, struct cas_proof_part *part);

#endif
