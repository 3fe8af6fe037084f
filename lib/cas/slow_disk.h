/* Is the disk slow just now? Files take what is written into memory, at once, until the system has too much that is not
 * on the disk yet: then whoever writes waits, for up to some tenths of a second each time. A thread that serves many
 * connections must not be one of these, and to hand each write to a worker costs a tenth of an upload: so it is done
 * only while a write waits, and for some seconds after. */
#ifndef CAIRN_CAS_SLOW_DISK_H
#define CAIRN_CAS_SLOW_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CAIRN_SLOW_WRITE_MS = 5, /* a write that takes so long has waited: for memory it takes a tenth of one */
	CAIRN_SLOW_DISK_LASTS_MS = 10000, /* after such a one */
};

/** What is known of a disk. Zeroed: nothing. Any thread. */
struct cairn_slow_disk {
	_Atomic int64_t slow_until_ms; /* as all times here, by cairn_clock_mono_ms() */
	_Atomic int64_t began_ms;      /* the write that is watched while it goes on; 0: none */
	_Atomic uint64_t n_slow;       /* writes, so far */
};

/** A write begins. @return when */
int64_t cairn_slow_disk_begin(struct cairn_slow_disk *d);

/** It has ended. @param began_ms  as cairn_slow_disk_begin() said */
void cairn_slow_disk_end(struct cairn_slow_disk *d, int64_t began_ms);

bool cairn_slow_disk_is_slow(const struct cairn_slow_disk *d);

#endif
