/* Conditions that are waited for with a limit. The limit goes by the clock that only goes forward: nobody waits longer
 * or shorter because the wall clock is set. */
#ifndef CAIRN_BASE_COND_H
#define CAIRN_BASE_COND_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>
#include <time.h>

/** Make a condition for the waits below; pthread_cond_destroy() as any. */
void cairn_cond_init(pthread_cond_t *cond);

/** The moment so many microseconds from now, for cairn_cond_wait_until(). @param us  at least 0 */
struct timespec cairn_cond_in_us(int64_t us);

/** The same of milliseconds. */
struct timespec cairn_cond_in_ms(int64_t ms);

/** As pthread_cond_wait(), it may end without a reason; but at that moment at the latest. @return false: it has come */
bool cairn_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);

#endif
