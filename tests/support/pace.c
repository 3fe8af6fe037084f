#include "support/pace.h"

#include "base/clock.h"

enum {
	PACE_STEPS = 60 * 1000 * 1000,
	PACE_AT_REST_MS = 50, /* how long these steps take at rest, with sanitizers */
	PACE_WORK_MS = 1000,
};

static int64_t pace_measure_ms(void)
{
	volatile uint32_t x = 1;
	int64_t began_ms = cairn_clock_mono_ms();
	for (uint32_t i = 0; i < PACE_STEPS; i++)
		x = x * 31 + i;
	return cairn_clock_mono_ms() - began_ms;
}

bool pace_in_time(int64_t took_ms, int64_t within_ms)
{
	if (took_ms < within_ms)
		return true;
	int64_t more_ms = pace_measure_ms() - PACE_AT_REST_MS;
	return more_ms > 0 && took_ms < within_ms + PACE_WORK_MS * more_ms / PACE_AT_REST_MS;
}
