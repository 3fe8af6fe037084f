/* Long files that are hashed part by part, in their owners' turns: how far each is. Of one thread. */
#ifndef CAIRN_CAS_PROOF_PARTS_H
#define CAIRN_CAS_PROOF_PARTS_H

#include "cas/proof.h"
#include "hash/crypto.h"

/** One file of an owner's. */
struct cas_proof_part {
	int64_t owner_id;
	struct cairn_hash file;
	uint8_t said[CAIRN_SHA256_BYTES];
	uint64_t at;                 /* of the file: bytes that were looked at */
	struct cairn_sha256 *digest; /* of those; owned. NULL: they were waited for, since the file is known */
	uint64_t round;              /* in which it was taken last */
};

/** A round over all owners begins: what was not taken in the one before makes room where there is none. */
void cas_proof_parts_begin(struct cairn_proof_parts *parts);

/** How far the claim is, from nothing on; what else its owner had begun is dropped.
 *  @return valid until the next call; NULL: there is no room, or no memory, for one more owner */
struct cas_proof_part *cas_proof_parts_take(struct cairn_proof_parts *parts, const struct cairn_index_due *due);

/** It is at its end. */
void cas_proof_parts_drop(struct cairn_proof_parts *parts, struct cas_proof_part *part);

#endif
