/* Removes objects that are not needed, and records those that the store does not remove. Used by garbage.h. */
#ifndef CAIRN_CAS_KEEP_REMOVAL_H
#define CAIRN_CAS_KEEP_REMOVAL_H

#include "cas/cas.h"

/** After so many equal refusals in a row, before any removal, the collection stops removing: the store's key may not
 * delete, for example, and trying each object is useless. */
enum { CAS_REMOVAL_REFUSED_MAX = 8 };

/** The removals of one collection. Any thread may record one. */
struct cas_removal {
	struct cairn_cas *cas;
	pthread_mutex_t lock;
	uint64_t n_gone, bytes_freed;
	uint64_t n_kept;                                  /* objects that the store did not remove */
	unsigned refused;                                 /* refusals in a row for the same reason */
	enum cairn_status ended;                          /* CAIRN_OK: continue */
	struct cairn_diag last;                           /* why the last kept object was not removed */
	struct cairn_diag diag;                           /* why it ended */
	struct cairn_hash first;                          /* the first kept object */
	struct cairn_copy_id copy;                        /* id of that object; unset if the store has no copies */
	char why[sizeof(((struct cairn_diag *)0)->text)]; /* the reason, if there is one */
};

void cas_removal_init(struct cas_removal *r, struct cairn_cas *cas);
void cas_removal_fini(struct cas_removal *r);

/** Records how the removal of one object ended. An object that the store does not remove is skipped.
 * @param copy  zeroed: not named
 * @param diag  the store's reason
 * @return CAIRN_OK continue; otherwise stop removing: CAIRN_E_BUSY the store is silent; CAIRN_E_IO it removes no
 *         object; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cas_removal_note(struct cas_removal *r, const struct cairn_hash *hash,
						  const struct cairn_copy_id *copy, uint64_t bytes,
						  enum cairn_status status, const struct cairn_diag *diag);

/** Removes n objects, several at once.
 * @param copies  n copies, which no row names: removes only these. NULL: removes all copies of each hash, unless it has
 *                a row again
 * @param gone    n flags, zeroed; result: the object is gone
 * @return as cas_removal_note(); as the index */
CAIRN_MUST_USE enum cairn_status cas_removal_run(struct cas_removal *r, const struct cairn_hash *hashes,
						 const struct cairn_copy_id *copies, uint32_t n, bool *gone);

/** Returns whether the store removed all objects.
 * @param n_left  objects to be removed that still exist
 * @return CAIRN_OK none is left; CAIRN_E_IO gc.unremoved */
CAIRN_MUST_USE enum cairn_status cas_removal_result(const struct cas_removal *r, uint64_t n_left,
						    struct cairn_diag *diag);

#endif
