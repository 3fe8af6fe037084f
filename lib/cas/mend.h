/* Objects that are missing or damaged: found out once, told, and not offered any more, until sound bytes are here. */
#ifndef CAIRN_CAS_MEND_H
#define CAIRN_CAS_MEND_H

#include "cas/cas.h"

/**
 * Somebody found that the object of a xorb is not there or not what it should be, or that its row calls it lost. Look
 * at every copy of it, unpacking and hashing all of each, and make the row say what is so: a sound copy is recorded if
 * it is not the one that the row describes; when there is none, the xorb counts as lost. A copy that cannot be read now
 * may be read again later: nothing is called lost because of it. No object is touched. Takes the hash's guard, and as
 * long as it takes to read the copies that are not known as damaged; for workers.
 * @return CAIRN_OK  there is a sound copy, and the row describes it
 *         CAIRN_E_DAMAGED    there is none; diag says what is wrong with the last copy (object.damaged) or that there
 *                            is no copy (object.missing)
 *         CAIRN_E_NOT_FOUND  there is no such xorb
 *         CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_BUSY, CAIRN_E_CONFLICT, CAIRN_E_NOMEM  as a write (cas.h): nothing is
 *         known, or nothing could be written down
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_mend(struct cairn_cas *cas, const struct cairn_hash *xorb,
						struct cairn_diag *diag);

/** Under the guard: record that a xorb is lost, and withdraw it from answers. @param copy  that was found damaged or
 * missing, as the row named it. @return CAIRN_OK; CAIRN_E_NOT_FOUND; what cairn_index_lose_xorb() answers */
CAIRN_MUST_USE enum cairn_status cas_lose(struct cairn_cas *cas, const struct cairn_hash *xorb,
					  const struct cairn_copy *copy);

/** A row names a copy that was found in the store (struct cairn_index_put_xorb): is it there still? Else the xorb is
 *  lost. @return CAIRN_OK; CAIRN_E_DAMAGED it was removed meanwhile; CAIRN_E_IO; CAIRN_E_BUSY; as cas_lose() */
CAIRN_MUST_USE enum cairn_status cas_must_be_there(struct cairn_cas *cas, const struct cairn_hash *xorb,
						   const struct cairn_copy *copy);

#endif
