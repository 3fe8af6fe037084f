#include "server/rest.h"

#include <time.h>

void rest_init(struct rest *r)
{
	pthread_condattr_t monotonic;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r->woken = r->ending = false;
}

void rest_fini(struct rest *r)
{
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
}

bool rest_for(struct rest *r, int64_t us)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(us / 1000000);
	until.tv_nsec += (long)(us % 1000000) * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&r->lock);
	while (!r->ending && !r->woken && us > 0 && pthread_cond_timedwait(&r->wake, &r->lock, &until) == 0)
		continue;
	r->woken = false;
	bool ending = r->ending;
	pthread_mutex_unlock(&r->lock);
	return !ending;
}

static void rest_signal(struct rest *r, bool *what)
{
	pthread_mutex_lock(&r->lock);
	*what = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

void rest_wake(struct rest *r)
{
	rest_signal(r, &r->woken);
}

void rest_end(struct rest *r)
{
	rest_signal(r, &r->ending);
}
