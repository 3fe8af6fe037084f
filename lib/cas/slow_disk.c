#include "cas/slow_disk.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <sys/resource.h>

static long slow_disk_waits(void)
{
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

struct cairn_slow_write cairn_slow_disk_begin(struct cairn_slow_disk *d)
{
	struct cairn_slow_write write = {cairn_clock_mono_ms(), slow_disk_waits()};
	if (atomic_load(&d->n_under_way) == 0)
		atomic_store(&d->moved_ms, write.began_ms);
	atomic_fetch_add(&d->n_under_way, 1);
	return write;
}

void cairn_slow_disk_end(struct cairn_slow_disk *d, struct cairn_slow_write write)
{
	int64_t now_ms = cairn_clock_mono_ms();
	atomic_store(&d->moved_ms, now_ms);
	atomic_fetch_sub(&d->n_under_way, 1);
	if (now_ms - write.began_ms < CAIRN_SLOW_WRITE_MS || slow_disk_waits() == write.n_waits)
		return;
	atomic_store(&d->slow_until_ms, now_ms + CAIRN_SLOW_DISK_LASTS_MS);
	atomic_fetch_add(&d->n_slow, 1);
}

bool cairn_slow_disk_is_slow(const struct cairn_slow_disk *d)
{
	int64_t now_ms = cairn_clock_mono_ms();
	return now_ms < atomic_load(&d->slow_until_ms) ||
	       (atomic_load(&d->n_under_way) > 0 && now_ms - atomic_load(&d->moved_ms) >= CAIRN_SLOW_WRITE_MS);
}
