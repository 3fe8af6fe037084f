#include "index/postgres/clocks.h"

#include "base/clock.h"

#include <inttypes.h>

static const char CLOCK_NOW[] = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

enum cairn_status cairn_pg_clock_compare(struct cairn_pg_clock *clock, struct cairn_pg *pg)
{
	const PGresult *r;
	int64_t before_ms = cairn_clock_unix_ms(), began_ms = cairn_clock_mono_ms();
	enum cairn_status status = cairn_pg_ask(pg, CLOCK_NOW, NULL, &r);
	if (status != CAIRN_OK)
		return status;
	int64_t half_ms = (cairn_clock_mono_ms() - began_ms) / 2;
	atomic_store(&clock->ahead_ms, before_ms + half_ms - cairn_pg_get_int8(r, 0, 0));
	return CAIRN_OK;
}

bool cairn_pg_clock_is_off(struct cairn_pg_clock *clock, struct cairn_diag *diag)
{
	int64_t ahead_s = clock ? atomic_load(&clock->ahead_ms) / 1000 : 0;
	int64_t off_s = ahead_s < 0 ? -ahead_s : ahead_s;
	if (off_s <= CAIRN_PG_CLOCK_S_MAX)
		return false;
	(void)cairn_fail(diag, CAIRN_E_CONFLICT, "index.clock", CAIRN_NO_OFFSET,
			 "this machine's clock is %" PRIi64
			 " s %s that of the PostgreSQL server, and may be %d s off at "
			 "most where several daemons share an index: set both by NTP",
			 off_s, ahead_s > 0 ? "ahead of" : "behind", CAIRN_PG_CLOCK_S_MAX);
	cairn_diag_numbers(diag, CAIRN_PG_CLOCK_S_MAX, (uint64_t)off_s);
	return true;
}
