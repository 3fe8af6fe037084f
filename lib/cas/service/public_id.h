/* Turns row numbers into ids for the hub's answers, so that nobody learns how many rows there are. Computes digests of
 * short codes, too, against which nobody can try codes. */
#ifndef CAIRN_CAS_SERVICE_PUBLIC_ID_H
#define CAIRN_CAS_SERVICE_PUBLIC_ID_H

#include "cas/cas.h"

enum { CAIRN_PUBLIC_ID_TEXT_BYTES = 2 * 12 + 1 }; /* as long as those of the public hub; a zero */

/** The kind of a row. A repository and an account with the same number have different ids. */
enum cairn_public_kind {
	CAIRN_PUBLIC_REPO = 1,
	CAIRN_PUBLIC_ACCOUNT = 2,
};

/** Writes the id, which stays the same while the server keeps its secret. Any thread. */
void cairn_public_id(const struct cairn_cas *cas, enum cairn_public_kind kind, int64_t number,
		     char out[static CAIRN_PUBLIC_ID_TEXT_BYTES]);

/** Computes the digest under which a code is stored. The code is short enough to be guessed, so the digest needs the
 * server's secret: without it nobody can try codes against a digest, or choose a code for a digest. Any thread. */
void cairn_code_digest(const struct cairn_cas *cas, const char *code, uint8_t out[static CAIRN_HASH_BYTES]);

#endif
