#include "server/watchdog.h"

#include "server/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { WATCHDOG_QUESTIONS = 4 }; /* in the time after which it bites */

struct watchdog {
	struct watchdog_options options;
	pthread_t thread;
	pthread_mutex_t lock; /* over stopping */
	pthread_cond_t wake;
	bool stopping;
};

/* Once for each time that it begins and ends. */
static void watchdog_tell(const char *before, const char *silent)
{
	if (silent && !before)
		LOG(LOG_ERROR, "not_answering", LOG_T("what", silent),
		    LOG_T("message", "requests are not served; the watchdog is not fed"));
	else if (before && !silent)
		LOG(LOG_INFO, "answering", LOG_T("message", "requests are served again"));
}

/* @return is it time to end? */
static bool watchdog_rest(struct watchdog *w, uint64_t us)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(us / 1000000);
	until.tv_nsec += (long)(us % 1000000) * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	while (!w->stopping && pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0)
		continue;
	bool stopping = w->stopping;
	pthread_mutex_unlock(&w->lock);
	return stopping;
}

static void *watchdog_loop(void *arg)
{
	struct watchdog *w = arg;
	const struct watchdog_options *o = &w->options;
	uint64_t rest_us = o->bites_us / WATCHDOG_QUESTIONS;
	const char *before = NULL;
	do {
		const char *silent = o->silent(o->ctx, (unsigned)(rest_us / 1000 > 60000 ? 60000 : rest_us / 1000 + 1));
		if (!silent)
			o->feed();
		watchdog_tell(before, silent);
		before = silent;
	} while (!watchdog_rest(w, rest_us));
	return NULL;
}

enum cairn_status watchdog_start(struct watchdog **out, const struct watchdog_options *options)
{
	pthread_condattr_t monotonic;
	*out = NULL;
	struct watchdog *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->options = *options;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&w->thread, NULL, watchdog_loop, w) == 0) {
		*out = w;
		return CAIRN_OK;
	}
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return CAIRN_E_NOMEM;
}

void watchdog_stop(struct watchdog *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
