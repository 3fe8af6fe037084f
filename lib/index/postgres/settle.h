/* What was committed ahead: looked at again, and followed by a record of its own, in one transaction on a connection of
 * the settler's. What it sees was committed before that record, and so is wherever that is; nothing else is told. */
#ifndef CAIRN_INDEX_POSTGRES_SETTLE_H
#define CAIRN_INDEX_POSTGRES_SETTLE_H

#include "index/postgres/ending.h"

struct cairn_index_settling;

/** Of the settler's thread. */
struct cairn_pg_settle {
	struct cairn_pg pg;
	struct cairn_pg_ending ending;
};

/** What backend.h says of it. */
CAIRN_MUST_USE enum cairn_status cairn_pg_settle(struct cairn_pg_settle *settle, struct cairn_index_settling *all,
						 unsigned n, struct cairn_diag *diag);

#endif
