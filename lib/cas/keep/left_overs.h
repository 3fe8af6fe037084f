/* Removes objects without a row in a store that names copies: left by uploads that were killed between their PUT and
 * their row. Part of a collection (garbage.h). */
#ifndef CAIRN_CAS_KEEP_LEFT_OVERS_H
#define CAIRN_CAS_KEEP_LEFT_OVERS_H

#include "cas/cas.h"
#include "cas/keep/removal.h"
#include "index/daemon/lease.h"

/** The parameters and results of a run. Plain value; all pointers are borrowed during the call. */
struct cas_left_overs {
	struct cairn_cas *cas;
	const struct cairn_index_lease *lease; /* lease of the collection */
	struct cas_removal *removal;           /* removals of the collection */
	bool (*stop)(void *ctx);               /* called after each copy; true ends the run. May be NULL */
	void *stop_ctx;

	uint64_t n;             /* result: left-overs that were written off or removed */
	struct cairn_diag diag; /* of an error */
};

/** Lists the store, and sweeps copies that no row has named for the grace time, and for a day at least. In an index
 * whose rows name copies, it marks the swept copies as dead, and the collection removes them with other dead copies.
 * Otherwise it removes them at once, under the guard of their hash. Copies of a lost xorb stay. A store whose objects
 * have no copies is not listed;
 * only fsck checks it. Takes long: a request for each thousand objects. The next collection of any daemon resumes an
 * unfinished listing. After two failures at the same place it starts over, so that objects before that place are
 * swept, too.
 * @return CAIRN_OK, also when stopped; CAIRN_E_BUSY the store or the index does not answer, or another daemon has taken
 *         over, as diag says; CAIRN_E_IO also if the store removes no object; CAIRN_E_NOMEM; as a write */
CAIRN_MUST_USE enum cairn_status cas_sweep_left_overs(struct cas_left_overs *l);

#endif
