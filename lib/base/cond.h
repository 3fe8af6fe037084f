/* Conditions with a deadline. The deadline uses the monotonic clock, so setting the wall clock changes no wait. */
#ifndef CAIRN_BASE_COND_H
#define CAIRN_BASE_COND_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>
#include <time.h>

/** Makes a condition for the waits below; release it with pthread_cond_destroy(). */
void cairn_cond_init(pthread_cond_t *cond);

/** Returns the deadline us microseconds from now, for cairn_cond_wait_until(). @param us  at least 0 */
struct timespec cairn_cond_in_us(int64_t us);

/** Does what cairn_cond_in_us() does, in milliseconds. */
struct timespec cairn_cond_in_ms(int64_t ms);

/** Waits as pthread_cond_wait(), but at most until the deadline. @return false: the deadline has passed */
bool cairn_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);

#endif
