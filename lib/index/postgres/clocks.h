/* How far this machine's clock is from the server's, which all daemons that share an index are compared with. */
#ifndef CAIRN_INDEX_POSTGRES_CLOCKS_H
#define CAIRN_INDEX_POSTGRES_CLOCKS_H

#include "index/postgres/connection.h"

#include <stdatomic.h>

enum { CAIRN_PG_CLOCK_S_MAX = 60 }; /* what grace times allow for */

/** Zeroed: not compared. Any thread. */
struct cairn_pg_clock {
	_Atomic int64_t ahead_ms; /* this machine's; the answer's way is part of it, half a round trip at most */
};

/** Compare it now. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_clock_compare(struct cairn_pg_clock *clock, struct cairn_pg *pg);

/** Is it too far off to judge what is old? @param[out] diag  why (index.clock) */
bool cairn_pg_clock_is_off(struct cairn_pg_clock *clock, struct cairn_diag *diag);

#endif
