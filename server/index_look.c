#include "server/index_look.h"

#include "base/clock.h"
#include "cas/stats.h"

enum { LOOK_EVERY_MS = 24 * 3600 * 1000 };

static bool look_stops(void *ctx)
{
	const struct index_look *look = ctx;
	return atomic_load(look->stopping);
}

static void look_run(struct cairn_work *work)
{
	struct index_look *look = (struct index_look *)work;
	cairn_cas_look(look->cas, look_stops, look);
	atomic_store(&look->running, false);
}

void index_look_tick(struct index_look *look, struct cairn_cas *cas, struct cairn_workers *long_workers,
		     const atomic_bool *stopping)
{
	int64_t now_ms = cairn_clock_mono_ms();
	if (now_ms < look->next_ms || atomic_exchange(&look->running, true))
		return;
	look->cas = cas;
	look->stopping = stopping;
	look->work = (struct cairn_work){.run = look_run, .lane = CAIRN_LANE_HEAVY};
	look->next_ms = now_ms + LOOK_EVERY_MS;
	if (cairn_workers_submit(long_workers, &look->work) == CAIRN_OK)
		return;
	look->next_ms = 0;
	atomic_store(&look->running, false);
}
