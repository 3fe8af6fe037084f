/* How fast a thread reads that nobody waits for: at a rate, and when nobody else wants the disk. */
#ifndef CAIRN_SERVER_PACE_H
#define CAIRN_SERVER_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zeroed: nothing was read so far. One thread's. */
struct pace {
	int64_t due_us; /* of the monotonic clock: when what was read so far should have been */
};

/** So many bytes were read. What they took longer is made up for within a second of time, no more.
 *  @param bytes_per_s  at least 1  @return how many microseconds to wait before more is read */
int64_t pace_pay(struct pace *pace, size_t bytes, uint64_t bytes_per_s);

/** Reading by this thread is served when nobody else wants the disk, where its scheduler knows such a thing. */
void pace_be_idle(bool idle);

/** This thread has a tenth of another one's share of a busy processor from now on. It cannot be taken back. */
void pace_be_last(void);

#endif
