#include "base/cond.h"

enum { COND_S_US = 1000000, COND_S_NS = 1000000000 };

void cairn_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct timespec cairn_cond_in_us(int64_t us)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(us % COND_S_US) * 1000;
	t.tv_sec += (time_t)(us / COND_S_US) + t.tv_nsec / COND_S_NS;
	t.tv_nsec %= COND_S_NS;
	return t;
}

struct timespec cairn_cond_in_ms(int64_t ms)
{
	return cairn_cond_in_us(ms * 1000);
}

bool cairn_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
	return pthread_cond_timedwait(cond, lock, until) == 0;
}
