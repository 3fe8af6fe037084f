/* Commits a transaction whose success will be reported, and decides on retries. docs/scale.md has these measurements: a
 * commit that waits for a standby cannot time out; if it is cancelled, it is visible but on no standby; and a retry
 * then succeeds at once. Hence the rules ("Commits over PostgreSQL" in ../README.md). T2: a WARNING during COMMIT is
 * no success. T3: a COMMIT is never cancelled. Without an answer in time it has failed for its caller, and its
 * connection is parked: it is used for nothing else until the server has reported the outcome. */
#ifndef CAIRN_INDEX_POSTGRES_ENDING_H
#define CAIRN_INDEX_POSTGRES_ENDING_H

#include "index/postgres/connection.h"

/** The state of a connection that commits. Zeroed: nothing was committed. */
struct cairn_pg_ending {
	bool parked; /* the last COMMIT was not answered in time, and its outcome is not known yet */
	bool sent;   /* the COMMIT was sent, and no failure was answered */
};

/** Queues a record in the server's log. A standby that has the record has every commit that was visible before. */
void cairn_pg_queue_record(struct cairn_pg *pg);

/** Sends COMMIT with the queued statements. @param waits  for standbys @return CAIRN_OK committed, as durable as
 * synchronous_commit says; CAIRN_E_BUSY (index.silent) unknown, and the connection may be parked; cairn_pg_fail() */
CAIRN_MUST_USE enum cairn_status cairn_pg_end(struct cairn_pg *pg, struct cairn_pg_ending *ending, bool waits,
					      struct cairn_diag *diag);
/** Has the last COMMIT ended? Call before any other statement. @return CAIRN_OK; CAIRN_E_BUSY (index.silent) not yet */
CAIRN_MUST_USE enum cairn_status cairn_pg_unpark(struct cairn_pg *pg, struct cairn_pg_ending *ending,
						 struct cairn_diag *diag);

/** Counts the tries of one transaction. Zeroed: none. */
struct cairn_pg_tries {
	int64_t began_ms; /* when the first try began */
	unsigned n;       /* failed tries */
};

/** Begins a transaction: counts from its first try. */
void cairn_pg_try(struct cairn_pg *pg, struct cairn_pg_tries *tries);
/** Called after a failed try. @param may  it is safe to retry @return retry: the failure was temporary. Returns after a
 * short wait */
bool cairn_pg_try_again(struct cairn_pg *pg, struct cairn_pg_tries *tries, bool may);

#endif
