/* How a transaction ends whose success is to be told, and whether it is tried again. Measured, and written down in
 * docs/scale.md: a commit that waits for a standby cannot be timed out; ended from outside it is visible and on no
 * standby; and whoever does it again is then told success at once. Hence the rules ("Commits over PostgreSQL" in
 * docs/design.md): T2, a WARNING during COMMIT is no success; T3, a COMMIT is never cancelled: without an answer in
 * time it has failed for whom it was for, its connection is parked, and is used for nothing else until the server has
 * said what became of it. */
#ifndef CAIRN_INDEX_POSTGRES_ENDING_H
#define CAIRN_INDEX_POSTGRES_ENDING_H

#include "index/postgres/connection.h"

/** Of a connection that commits. Zeroed: nothing was committed. */
struct cairn_pg_ending {
	bool parked; /* the last COMMIT was not answered in time: what became of it is not known yet */
	bool sent;   /* it was sent, and not answered with a failure */
};

/** A record of its own in the log, so that a standby that has it has all that could be seen before; only queued. */
void cairn_pg_queue_record(struct cairn_pg *pg);

/** COMMIT, with what is queued. @param waits  for standbys @return CAIRN_OK it is as durable as its synchronous_commit
 * says; CAIRN_E_BUSY (index.silent) nobody knows, and it may be parked; cairn_pg_fail() */
CAIRN_MUST_USE enum cairn_status cairn_pg_end(struct cairn_pg *pg, struct cairn_pg_ending *ending, bool waits,
					      struct cairn_diag *diag);
/** Before anything else is asked: is the last COMMIT over? @return CAIRN_OK; CAIRN_E_BUSY (index.silent) it is parked
 */
CAIRN_MUST_USE enum cairn_status cairn_pg_unpark(struct cairn_pg *pg, struct cairn_pg_ending *ending,
						 struct cairn_diag *diag);

/** Tries of one and the same. Zeroed: none. */
struct cairn_pg_tries {
	int64_t began_ms; /* the first */
	unsigned n;       /* that have failed */
};

/** Begin one. */
void cairn_pg_try(struct cairn_pg *pg, struct cairn_pg_tries *tries);
/** One has failed. @param may  it can be done twice @return do it again: what failed passes. A moment has passed */
bool cairn_pg_try_again(struct cairn_pg *pg, struct cairn_pg_tries *tries, bool may);

#endif
