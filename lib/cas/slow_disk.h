/* Is the disk slow now? Writes go to memory at once, until the system has too many unwritten bytes. Then each writer
 * waits, up to some tenths of a second, which a thread that serves many connections must not. Handing each write to a
 * worker would add a tenth to an upload's time. So writes go to workers only while writes wait, and briefly after. */
#ifndef CAIRN_CAS_SLOW_DISK_H
#define CAIRN_CAS_SLOW_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CAIRN_SLOW_WRITE_MS = 5,          /* shortest slow write; a write to memory takes a tenth of 1 ms */
	CAIRN_SLOW_DISK_LASTS_MS = 10000, /* how long the disk counts as slow after a slow write */
};

/** The state of a disk. Zeroed: not slow so far. Any thread. */
struct cairn_slow_disk {
	_Atomic int64_t slow_until_ms; /* all times here are of cairn_clock_mono_ms() */
	_Atomic int64_t moved_ms;      /* when a write last ended, or began with no other in progress */
	_Atomic uint32_t n_under_way;
	_Atomic uint64_t n_slow; /* number of slow writes */
};

/** A write in progress in one thread. */
struct cairn_slow_write {
	int64_t began_ms;
	long n_waits; /* waits of the thread before it: a long write without a wait only lacked the processor */
};

/** Record the beginning and the end of a write, on the same thread. */
struct cairn_slow_write cairn_slow_disk_begin(struct cairn_slow_disk *d);
void cairn_slow_disk_end(struct cairn_slow_disk *d, struct cairn_slow_write write);

/** Did a write wait lately, or are writes stuck now? */
bool cairn_slow_disk_is_slow(const struct cairn_slow_disk *d);

#endif
