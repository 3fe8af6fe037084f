/* What uploads left in a store that names copies, since they were killed between their PUT and their row. Part of a
 * collection (garbage.h). */
#ifndef CAIRN_CAS_LEFT_OVERS_H
#define CAIRN_CAS_LEFT_OVERS_H

#include "cas/cas.h"
#include "index/lease.h"

/** How to look, and what was found. Plain value; all is borrowed for the time of the call. */
struct cas_left_overs {
	struct cairn_cas *cas;
	const struct cairn_index_lease *lease; /* of the collection */
	bool (*stop)(void *ctx);               /* looked at after each copy; true ends it early. May be NULL */
	void *stop_ctx;

	uint64_t n, bytes;      /* results: left-overs, and what their removal freed so far */
	struct cairn_diag diag; /* of a refusal */
};

/**
 * List the store, and settle what has been in no row for the grace time, and a day at least: where rows name copies
 * those are written off, and the collection removes them with what else is dead; else they are removed at once, under
 * the guard of their hash. Nothing of a xorb that counts as lost is touched. A store whose objects have no copies is
 * not looked at: fsck tells what is in it alone. Long: a request for each thousand objects. A list that comes to no end
 * goes on where it was with the next collection, of whichever daemon.
 * @return CAIRN_OK, also when it was stopped; CAIRN_E_BUSY the store or the index does not answer, or another daemon
 *         has taken over, as diag says; CAIRN_E_IO; CAIRN_E_NOMEM; as a write
 */
CAIRN_MUST_USE enum cairn_status cas_settle_left_overs(struct cas_left_overs *l);

#endif
