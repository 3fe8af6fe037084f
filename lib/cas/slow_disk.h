/* Is the disk slow just now? Files take what is written into memory, at once, until the system has too much that is not
 * on the disk yet: then whoever writes waits, for up to some tenths of a second each time. A thread that serves many
 * connections must not be one of these for long, and to hand each write to a worker costs a tenth of an upload: so it
 * is done only while writes wait, and for some seconds after. */
#ifndef CAIRN_CAS_SLOW_DISK_H
#define CAIRN_CAS_SLOW_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CAIRN_SLOW_WRITE_MS = 5,          /* for which a write has to last; into memory it takes a tenth of one */
	CAIRN_SLOW_DISK_LASTS_MS = 10000, /* after such a one */
};

/** What is known of the speed of a disk. Zeroed: nothing. Any thread. */
struct cairn_slow_disk {
	_Atomic int64_t slow_until_ms; /* as all times here, by cairn_clock_mono_ms() */
	_Atomic int64_t moved_ms;      /* when a write last ended, or began while there was no other */
	_Atomic uint32_t n_under_way;
	_Atomic uint64_t n_slow; /* writes, so far */
};

/** A write under way, of one thread. */
struct cairn_slow_write {
	int64_t began_ms;
	long n_waits; /* of the thread, so far: one that lasts because others have the processor has not waited */
};

/** Note the begin and the end of a write, on the same thread. */
struct cairn_slow_write cairn_slow_disk_begin(struct cairn_slow_disk *d);
void cairn_slow_disk_end(struct cairn_slow_disk *d, struct cairn_slow_write write);

/** Did a write wait lately, or are writes stuck now? */
bool cairn_slow_disk_is_slow(const struct cairn_slow_disk *d);

#endif
