/* Removes objects that nobody needs, and notes those that the store does not remove. Part of a collection
 * (garbage.h). */
#ifndef CAIRN_CAS_REMOVAL_H
#define CAIRN_CAS_REMOVAL_H

#include "cas/cas.h"

/** After so many refusals of the same kind in a row, before any removal, the collection stops removing. For example the
 * store's key may not delete: then trying each object is no use. */
enum { CAS_REMOVAL_REFUSED_MAX = 8 };

/** The removals of one collection. Any thread may note one. */
struct cas_removal {
	struct cairn_cas *cas;
	pthread_mutex_t lock;
	uint64_t n_gone, bytes_freed;
	uint64_t n_kept;                                  /* passed over: the store did not remove them */
	unsigned refused;                                 /* in a row, and for the same reason */
	enum cairn_status ended;                          /* CAIRN_OK: it goes on */
	struct cairn_diag last;                           /* what the store said of the last one that was kept */
	struct cairn_diag diag;                           /* of the end */
	struct cairn_hash first;                          /* of those that were kept */
	struct cairn_copy copy;                           /* likewise, where it has a name */
	char why[sizeof(((struct cairn_diag *)0)->text)]; /* likewise */
};

void cas_removal_init(struct cas_removal *r, struct cairn_cas *cas);
void cas_removal_fini(struct cas_removal *r);

/**
 * How the removal of one object ended. One that the store does not remove is passed over.
 * @param copy  zeroed: it is not named
 * @param diag  what the store said
 * @return CAIRN_OK go on; otherwise nothing more is to be removed: CAIRN_E_BUSY the store is silent; CAIRN_E_IO it
 *         removes nothing; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cas_removal_note(struct cas_removal *r, const struct cairn_hash *hash,
						  const struct cairn_copy *copy, uint64_t bytes,
						  enum cairn_status status, const struct cairn_diag *diag);

/**
 * Remove n objects, several at once.
 * @param copies  of the same number: these alone, which no row names. NULL: all copies of each hash, unless it has a
 *                row again
 * @param gone    n of them, zeroed; result
 * @return as cas_removal_note(); as the index
 */
CAIRN_MUST_USE enum cairn_status cas_removal_run(struct cas_removal *r, const struct cairn_hash *hashes,
						 const struct cairn_copy *copies, uint32_t n, bool *gone);

/** @param n_left  objects that are to be removed and are still there @return CAIRN_OK none is; CAIRN_E_IO gc.unremoved
 */
CAIRN_MUST_USE enum cairn_status cas_removal_result(const struct cas_removal *r, uint64_t n_left,
						    struct cairn_diag *diag);

#endif
