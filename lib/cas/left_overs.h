/* Removes objects without a row in a store that names copies: uploads left them that were killed between their PUT and
 * their row. Part of a collection (garbage.h). */
#ifndef CAIRN_CAS_LEFT_OVERS_H
#define CAIRN_CAS_LEFT_OVERS_H

#include "cas/cas.h"
#include "cas/removal.h"
#include "index/lease.h"

/** The parameters and results of a run. Plain value; all is borrowed during the call. */
struct cas_left_overs {
	struct cairn_cas *cas;
	const struct cairn_index_lease *lease; /* of the collection */
	struct cas_removal *removal;           /* likewise */
	bool (*stop)(void *ctx);               /* looked at after each copy; true ends it early. May be NULL */
	void *stop_ctx;

	uint64_t n;             /* result: left-overs that were written off or removed */
	struct cairn_diag diag; /* of a refusal */
};

/**
 * List the store, and settle what has been in no row for the grace time, and a day at least: where rows name copies
 * those are written off, and the collection removes them with what else is dead; else they are removed at once, under
 * the guard of their hash. Nothing of a xorb that counts as lost is touched. A store whose objects have no copies is
 * not looked at: fsck tells what is in it alone. Long: a request for each thousand objects. A list that comes to no end
 * goes on where it was with the next collection, of whichever daemon; one that has failed twice at the same place is
 * begun anew, so that nothing before that place waits for what may fail for ever.
 * @return CAIRN_OK, also when it was stopped; CAIRN_E_BUSY the store or the index does not answer, or another daemon
 *         has taken over, as diag says; CAIRN_E_IO also when the store removes nothing; CAIRN_E_NOMEM; as a write
 */
CAIRN_MUST_USE enum cairn_status cas_settle_left_overs(struct cas_left_overs *l);

#endif
