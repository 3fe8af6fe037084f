/* Extracts a chunk's bytes from its layout, and repairs them with their parity. */
#ifndef CAIRN_ARCHIVE_FOLD_MEND_H
#define CAIRN_ARCHIVE_FOLD_MEND_H

#include "archive/fold/parity.h"
#include "archive/fold/reader.h"

/** The result of a repair. */
struct cairn_fold_mended {
	uint64_t n_wrong;    /* bytes repaired */
	uint64_t n_lost;     /* code words beyond repair: too many wrong bytes */
	uint64_t first_lost; /* offset of the first of these words in the area */
};

/** Extracts data from woven words. @param area  a chunk's comp_len + ecc_len bytes @param[out] comp  comp_len bytes */
void cairn_fold_unweave(const struct cairn_fold_chunk *c, const uint8_t *area, uint8_t *comp);

/** Repairs woven words, in place. */
struct cairn_fold_mended cairn_fold_mend_woven(const struct cairn_parity *p, uint8_t *area, uint64_t len);

/** Repairs words whose parity is stored apart, in place. */
struct cairn_fold_mended cairn_fold_mend_apart(const struct cairn_parity *p, const struct cairn_fold_chunk *c,
					       uint8_t *area);

#endif
