#include "cli/push/watch.h"

#include "base/cond.h"

enum { WATCH_LOOK_MS = 100 };

void watch_wait(const struct watch *w, pthread_cond_t *changed, pthread_mutex_t *lock)
{
	if (!w->look) {
		pthread_cond_wait(changed, lock);
		return;
	}
	const struct timespec until = cairn_cond_in_ms(WATCH_LOOK_MS);
	(void)cairn_cond_wait_until(changed, lock, &until);
	pthread_mutex_unlock(lock);
	w->look(w->ctx);
	pthread_mutex_lock(lock);
}
