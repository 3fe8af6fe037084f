/* Limits received bytes to a number a second. Pure: callers pass the time. */
#ifndef CAIRN_MIRROR_NET_RATE_H
#define CAIRN_MIRROR_NET_RATE_H

#include <stdint.h>

/** A limit, and what is left of it. The owner sets bytes_s and zeroes the rest. For one thread. */
struct mirror_rate {
	uint64_t bytes_s; /* 0: any number */
	int64_t at_ms;    /* time up to which left is counted; 0: none */
	int64_t left;     /* thousandths of bytes that may come now; below zero: so many came too early */
};

/** Counts bytes that have come, even if they came too early. */
void mirror_rate_take(struct mirror_rate *rate, uint64_t bytes);

/** Returns how many milliseconds to wait for the next bytes; 0: none. An idle time earns at most the bytes of a quarter
 * of a second. */
int64_t mirror_rate_wait_ms(struct mirror_rate *rate, int64_t now_ms);

#endif
