/* Measures the difference between this machine's clock and the server's, which stands for the clocks of all daemons. */
#ifndef CAIRN_INDEX_POSTGRES_CLOCKS_H
#define CAIRN_INDEX_POSTGRES_CLOCKS_H

#include "index/postgres/connection.h"

#include <stdatomic.h>

enum { CAIRN_PG_CLOCK_S_MAX = 60 }; /* the largest difference that grace times allow for */

/** Zeroed: not compared. Any thread. */
struct cairn_pg_clock {
	_Atomic int64_t ahead_ms; /* this clock minus the server's, with up to half a round trip */
};

/** Compares the clocks now. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_clock_compare(struct cairn_pg_clock *clock, struct cairn_pg *pg);

/** Do the clocks differ too much to judge ages? @param[out] diag  the reason (index.clock) */
bool cairn_pg_clock_is_off(struct cairn_pg_clock *clock, struct cairn_diag *diag);

#endif
