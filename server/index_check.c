#include "server/index_check.h"

#include "base/clock.h"
#include "cas/stats.h"

enum { CHECK_EVERY_MS = 24 * 3600 * 1000 };

static bool index_check_stops(void *ctx)
{
	const struct index_check *check = ctx;
	return atomic_load(check->stopping);
}

static void index_check_run(struct cairn_work *work)
{
	struct index_check *check = (struct index_check *)work;
	cairn_cas_check_index(check->cas, index_check_stops, check);
	atomic_store(&check->running, false);
}

void index_check_tick(struct index_check *check, struct cairn_cas *cas, struct cairn_workers *long_workers,
		      const atomic_bool *stopping)
{
	int64_t now_ms = cairn_clock_mono_ms();
	if (now_ms < check->next_ms || atomic_exchange(&check->running, true))
		return;
	check->cas = cas;
	check->stopping = stopping;
	check->work = (struct cairn_work){.run = index_check_run, .lane = CAIRN_LANE_HEAVY};
	check->next_ms = now_ms + CHECK_EVERY_MS;
	if (cairn_workers_submit(long_workers, &check->work) == CAIRN_OK)
		return;
	check->next_ms = 0;
	atomic_store(&check->running, false);
}
