/* Slows background reads: limits a thread to a rate, and yields the disk to other work. */
#ifndef CAIRN_SERVER_PACE_H
#define CAIRN_SERVER_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The rate of one thread. Zeroed: nothing was read so far. */
struct pace {
	int64_t due_us; /* on the monotonic clock: when the bytes read so far are due */
};

/** Notes that bytes were read. After a delay, at most one second is caught up. @param bytes_per_s  at least 1  @return
 * how many microseconds to wait before the next read */
int64_t pace_pay(struct pace *pace, size_t bytes, uint64_t bytes_per_s);

/** Gives this thread's reads idle priority, if the disk's scheduler supports that. */
void pace_be_idle(bool idle);

/** Lowers this thread to a tenth of another thread's share of a busy processor. Cannot be undone. */
void pace_be_last(void);

#endif
