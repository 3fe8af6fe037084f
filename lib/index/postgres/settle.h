/* Settles commits made ahead. A transaction on the settler's own connection reads the writes again, and then adds a
 * record to the server's log. Every write it sees was committed before that record, so a standby with the record has
 * the write. No other write is reported as durable. */
#ifndef CAIRN_INDEX_POSTGRES_SETTLE_H
#define CAIRN_INDEX_POSTGRES_SETTLE_H

#include "index/postgres/ending.h"

struct cairn_index_settling;

/** Used by the settler's thread only. */
struct cairn_pg_settle {
	struct cairn_pg pg;
	struct cairn_pg_ending ending;
};

/** See backend.h. */
CAIRN_MUST_USE enum cairn_status cairn_pg_settle(struct cairn_pg_settle *settle, struct cairn_index_settling *all,
						 unsigned n, struct cairn_diag *diag);

#endif
