#include "cas/slow_disk.h"

#include "base/clock.h"

#include <stdatomic.h>

int64_t cairn_slow_disk_begin(struct cairn_slow_disk *d)
{
	int64_t now_ms = cairn_clock_mono_ms(), none = 0;
	(void)atomic_compare_exchange_strong(&d->began_ms, &none, now_ms);
	return now_ms;
}

/* Two that began in the same millisecond pass for one: the first to end is then taken for the other, too. */
void cairn_slow_disk_end(struct cairn_slow_disk *d, int64_t began_ms)
{
	int64_t now_ms = cairn_clock_mono_ms(), watched = began_ms;
	(void)atomic_compare_exchange_strong(&d->began_ms, &watched, 0);
	if (now_ms - began_ms < CAIRN_SLOW_WRITE_MS)
		return;
	atomic_store(&d->slow_until_ms, now_ms + CAIRN_SLOW_DISK_LASTS_MS);
	atomic_fetch_add(&d->n_slow, 1);
}

bool cairn_slow_disk_is_slow(const struct cairn_slow_disk *d)
{
	int64_t now_ms = cairn_clock_mono_ms(), began_ms = atomic_load(&d->began_ms);
	return now_ms < atomic_load(&d->slow_until_ms) || (began_ms != 0 && now_ms - began_ms >= CAIRN_SLOW_WRITE_MS);
}
