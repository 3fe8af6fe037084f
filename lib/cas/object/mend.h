/* Handles missing or damaged objects: reports each once, and stops offering the xorb until it has sound bytes again. */
#ifndef CAIRN_CAS_OBJECT_MEND_H
#define CAIRN_CAS_OBJECT_MEND_H

#include "cas/cas.h"

/** Corrects the row of a xorb whose object was found missing or damaged, or whose row marks it as lost. Unpacks and
 * hashes every copy. Records a sound copy if the row does not describe it already; without one the xorb counts as
 * lost. A copy that cannot be read now may be readable later, so it does not make the xorb lost. Changes no object.
 * Takes the hash's guard, and the time to read all copies that are not known as damaged; for workers.
 * @return CAIRN_OK  there is a sound copy, and the row describes it
 *         CAIRN_E_DAMAGED    no copy is sound; diag has the fault of the last one (object.damaged) or that there is no
 *         copy (object.missing)
 *         CAIRN_E_NOT_FOUND  there is no such xorb; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_BUSY, CAIRN_E_CONFLICT,
 *         CAIRN_E_NOMEM as a write (cas.h): nothing was found out, or the result could not be written */
CAIRN_MUST_USE enum cairn_status cairn_cas_mend(struct cairn_cas *cas, const struct cairn_hash *xorb,
						struct cairn_diag *diag);

/** Records that a xorb is lost, and stops offering it. Call it under the guard. @param copy  the copy that was found
 * damaged or missing, as the row named it. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as cairn_index_lose_xorb() */
CAIRN_MUST_USE enum cairn_status cas_lose(struct cairn_cas *cas, const struct cairn_hash *xorb,
					  const struct cairn_copy_id *copy);

/** Checks that the store still has the copy that a new row names (struct cairn_index_put_xorb). If not, records the
 * xorb as lost. @return CAIRN_OK; CAIRN_E_DAMAGED it was removed meanwhile; CAIRN_E_IO; CAIRN_E_BUSY; as cas_lose() */
CAIRN_MUST_USE enum cairn_status cas_must_be_there(struct cairn_cas *cas, const struct cairn_hash *xorb,
						   const struct cairn_copy_id *copy);

/** Opens the n-th copy for a row: the only one that the row names, or else one of all copies in the store's order.
 * @return as cairn_store_get_copy() */
CAIRN_MUST_USE enum cairn_status cas_open_copy(struct cairn_cas *cas, const struct cairn_index_xorb *row, unsigned n,
					       struct cairn_store_object **out);

/** Sets *there: has the store an object of this length? @return CAIRN_OK in both cases; else as cairn_store_get() */
CAIRN_MUST_USE enum cairn_status cas_object_there(struct cairn_cas *cas, const struct cairn_hash *hash, uint64_t bytes,
						  bool *there);

#endif
