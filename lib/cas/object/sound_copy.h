/* Finds a copy of a xorb whose needed bytes are sound. */
#ifndef CAIRN_CAS_OBJECT_SOUND_COPY_H
#define CAIRN_CAS_OBJECT_SOUND_COPY_H

#include "cas/cas.h"
#include "cas/object/fetch_grant.h"
#include "store/store.h"

/** Reads the size of a xorb's object from the index. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cas_object_bytes(struct cairn_cas *cas, const struct cairn_hash *xorb,
						  uint64_t *bytes);

/** Judges an opened copy of a xorb: are its needed bytes sound? */
struct cas_judge {
	void *ctx;
	/** @param list  the index's list of the xorb, not yet verified
	 * @param[out] damaged  pass false; set if bytes were found to be wrong, even outside the ranges
	 * @return CAIRN_OK  this copy will do
	 *         CAIRN_E_DAMAGED, CAIRN_E_IO the next copy may do; CAIRN_E_DAMAGED counts as damage
	 *         CAIRN_E_BUSY, CAIRN_E_NOMEM, CAIRN_E_CONFLICT  no copy will do */
	enum cairn_status (*judge)(void *ctx, struct cairn_store_object *copy, const struct cairn_chunk_list *list,
				   bool *damaged, struct cairn_diag *diag);
};

/** Opens the first copy of a xorb that the judge accepts. Mends the xorb if a copy on the way is damaged or missing
 * (cairn_cas_mend()), and then judges the copies once more. Takes as long as reading the bytes; for workers.
 * @param[out] list  the list by which that copy was judged; owned by the caller, empty after a failure
 * @return CAIRN_OK
 *         CAIRN_E_DAMAGED    there is no such copy (object.damaged, object.missing)
 *         CAIRN_E_NOT_FOUND  there is no such xorb, or it was removed meanwhile
 *         CAIRN_E_BUSY       from the judge, or the index accepts no writes
 *         CAIRN_E_IO         cannot be read now (object.unreadable)
 *         CAIRN_E_CONFLICT   from the judge
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cas_judged_copy(struct cairn_cas *cas, const struct cairn_hash *xorb,
						 const struct cas_judge *judge, struct cairn_store_object **out,
						 struct cairn_chunk_list *list, struct cairn_diag *diag);

/** Opens the first copy of a xorb whose chunks in n ranges are as uploaded (cairn_cas_verify_read()).
 * @param ranges  within cas_object_bytes()
 * @param stop    called before each chunk; true ends the call. May be NULL
 * @return as cas_judged_copy(); CAIRN_E_BUSY also if it was stopped (verify.stopped) */
CAIRN_MUST_USE enum cairn_status cas_sound_copy(struct cairn_cas *cas, const struct cairn_hash *xorb,
						const struct cairn_fetch_range *ranges, size_t n,
						bool (*stop)(void *ctx), void *stop_ctx,
						struct cairn_store_object **out, struct cairn_diag *diag);

#endif
