#include "server/rest.h"

#include "base/cond.h"

void rest_init(struct rest *r)
{
	pthread_mutex_init(&r->lock, NULL);
	cairn_cond_init(&r->wake);
	r->woken = r->ending = false;
}

void rest_fini(struct rest *r)
{
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
}

bool rest_for(struct rest *r, int64_t us)
{
	const struct timespec until = cairn_cond_in_us(us);
	pthread_mutex_lock(&r->lock);
	while (!r->ending && !r->woken && us > 0 && cairn_cond_wait_until(&r->wake, &r->lock, &until))
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
