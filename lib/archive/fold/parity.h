/* Reed-Solomon parity of FOLD: code words of up to 255 bytes over GF(2^8) (polynomial 0x11d, generator 2, first root
 * 2^0), data before parity. Half as many wrong bytes of a word as it has parity bytes can be repaired. */
#ifndef CAIRN_ARCHIVE_FOLD_PARITY_H
#define CAIRN_ARCHIVE_FOLD_PARITY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_PARITY_WORD_BYTES = 255,
	CAIRN_PARITY_MIN = 1, /* parity bytes of a word */
	CAIRN_PARITY_MAX = 254,
};

/** The tables for one number of parity bytes: 64 to 512 KiB. Immutable; any thread may use them. */
struct cairn_parity;

/** Makes the tables. @param n  CAIRN_PARITY_MIN .. CAIRN_PARITY_MAX @return NULL without memory */
struct cairn_parity *cairn_parity_new(unsigned n);
void cairn_parity_free(struct cairn_parity *p);

/** Returns the data bytes of a full word. */
size_t cairn_parity_data_bytes(const struct cairn_parity *p);

/** Returns the parity bytes for len bytes of data. */
uint64_t cairn_parity_bytes(unsigned n, uint64_t len);

/** Writes the n parity bytes of one word. @param len  0 .. cairn_parity_data_bytes() */
void cairn_parity_make(const struct cairn_parity *p, uint8_t *out, const uint8_t *data, size_t len);

/** Writes data and parity word by word: data, its parity, data, its parity.
 * @param out  room for len bytes and cairn_parity_bytes() more
 * @return bytes written */
size_t cairn_parity_weave(const struct cairn_parity *p, uint8_t *out, const uint8_t *data, size_t len);

/** Repairs one word, data and parity.
 * @param len  length of the whole word, n + 1 .. CAIRN_PARITY_WORD_BYTES
 * @param[out] n_wrong  bytes that were wrong
 * @return CAIRN_OK; CAIRN_E_MISMATCH more than n/2 bytes are wrong, and the word is unchanged */
CAIRN_MUST_USE enum cairn_status cairn_parity_mend(const struct cairn_parity *p, uint8_t *word, size_t len,
						   unsigned *n_wrong);

#endif
