/* Commits a transaction, and decides on retries. Measured in docs/scale.md: a commit that waits for a standby cannot
 * time out; a cancelled one is visible but on no standby; and then a retry succeeds at once. Hence the rules ("Commits
 * over PostgreSQL" in ../README.md). T2: a WARNING during COMMIT is no success. T3: a COMMIT is never cancelled.
 * Without an answer in time it has failed for its caller, and its connection is parked: nothing else uses it until the
 * server has reported the outcome. */
#ifndef CAIRN_INDEX_POSTGRES_ENDING_H
#define CAIRN_INDEX_POSTGRES_ENDING_H

#include "index/postgres/connection.h"

/** The state of a connection that commits. Zeroed: nothing was committed. */
struct cairn_pg_ending {
	bool parked; /* the last COMMIT got no answer in time, and its outcome is still unknown */
	bool sent;   /* COMMIT was sent, and no failure was reported */
};

/** Queues a record in the server's log. A standby that has the record has every commit visible before it. */
void cairn_pg_queue_record(struct cairn_pg *pg);

/** Sends COMMIT with the queued statements. @param waits  wait for standbys @return CAIRN_OK committed, as durable as
 * synchronous_commit says; CAIRN_E_BUSY (index.silent) unknown, and the connection may be parked; as cairn_pg_fail() */
CAIRN_MUST_USE enum cairn_status cairn_pg_end(struct cairn_pg *pg, struct cairn_pg_ending *ending, bool waits,
					      struct cairn_diag *diag);
/** Has the last COMMIT ended? Call before any other statement. @return CAIRN_OK; CAIRN_E_BUSY (index.silent) it has
 * not */
CAIRN_MUST_USE enum cairn_status cairn_pg_unpark(struct cairn_pg *pg, struct cairn_pg_ending *ending,
						 struct cairn_diag *diag);

/** Counts the tries of one transaction. Zeroed: none. */
struct cairn_pg_tries {
	int64_t began_ms; /* when the first try began */
	unsigned n;       /* number of failed tries */
};

/** Begins the first try of a transaction. */
void cairn_pg_try(struct cairn_pg *pg, struct cairn_pg_tries *tries);
/** After a failed try. @param may  it is safe to retry @return true, after a short wait: the failure was temporary */
bool cairn_pg_try_again(struct cairn_pg *pg, struct cairn_pg_tries *tries, bool may);

#endif
