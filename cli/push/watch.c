#include "cli/push/watch.h"

#include "base/clock.h"

#include <time.h>

enum { WATCH_LOOK_MS = 100 };

void watch_cond_init(pthread_cond_t *changed)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void watch_wait(const struct watch *w, pthread_cond_t *changed, pthread_mutex_t *lock)
{
	if (!w->look) {
		pthread_cond_wait(changed, lock);
		return;
	}
	int64_t until_ms = cairn_clock_mono_ms() + WATCH_LOOK_MS;
	const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
				       .tv_nsec = (long)(until_ms % 1000) * 1000000};
	(void)pthread_cond_timedwait(changed, lock, &until);
	pthread_mutex_unlock(lock);
	w->look(w->ctx);
	pthread_mutex_lock(lock);
}
