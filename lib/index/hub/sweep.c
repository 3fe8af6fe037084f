#include "index/hub/sweep.h"

#include "base/clock.h"

enum sweep_stage { SWEEP_DROPPED, SWEEP_ENDED, SWEEP_LINES, SWEEP_PROPOSED, SWEEP_UNNAMED, SWEEP_DONE };

static enum cairn_status sweep_piece(const struct cairn_sweep_engine *engine, void *tx,
				     struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more)
{
	if (at->stage == SWEEP_DROPPED)
		return engine->dropped(tx, more);
	if (at->stage == SWEEP_ENDED)
		return cairn_records_sweep_ended(engine->records(tx), before_unix_s, more);
	if (at->stage == SWEEP_LINES)
		return engine->lines(tx, at, more);
	if (at->stage == SWEEP_PROPOSED)
		return cairn_records_sweep_proposed(engine->records(tx), at, more);
	return engine->unnamed(tx, at, before_unix_s, more);
}

enum cairn_status cairn_sweep_repos(const struct cairn_sweep_engine *engine, void *tx,
				    struct cairn_index_sweep_repos *sweep)
{
	int64_t until_ms = cairn_clock_mono_ms() + CAIRN_INDEX_GC_MS, before = cairn_clock_unix_s() - sweep->grace_s;
	do {
		bool more = false;
		enum cairn_status status = sweep_piece(engine, tx, &sweep->at, before, &more);
		if (status != CAIRN_OK)
			return status;
		if (!more)
			sweep->at = (struct cairn_index_sweep_place){.stage = sweep->at.stage + 1};
		sweep->more = sweep->at.stage < SWEEP_DONE;
	} while (sweep->more && cairn_clock_mono_ms() < until_ms);
	return CAIRN_OK;
}
