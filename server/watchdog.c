#include "server/watchdog.h"

#include "server/log/log.h"
#include "server/rest.h"

#include <pthread.h>
#include <stdlib.h>

enum { WATCHDOG_QUESTIONS = 4 }; /* rounds of questions within the watchdog's timeout */

struct watchdog {
	struct watchdog_options options;
	pthread_t thread;
	struct rest rest;
};

/* Logs each start and end of a silence once. */
static void watchdog_log(const char *before, const char *silent)
{
	if (silent && !before)
		LOG(LOG_ERROR, "not_answering", LOG_T("what", silent),
		    LOG_T("message", "requests are not served; the watchdog is not fed"));
	else if (before && !silent)
		LOG(LOG_INFO, "answering", LOG_T("message", "requests are served again"));
}

static void *watchdog_loop(void *arg)
{
	struct watchdog *w = arg;
	const struct watchdog_options *o = &w->options;
	uint64_t rest_us = o->bites_us / WATCHDOG_QUESTIONS;
	const char *before = NULL;
	(void)pthread_setname_np(pthread_self(), "watchdog");
	do {
		const char *silent = o->silent(o->ctx, (unsigned)(rest_us / 1000 > 60000 ? 60000 : rest_us / 1000 + 1));
		if (!silent)
			o->feed();
		watchdog_log(before, silent);
		before = silent;
	} while (rest_for(&w->rest, (int64_t)rest_us));
	return NULL;
}

enum cairn_status watchdog_start(struct watchdog **out, const struct watchdog_options *options)
{
	*out = NULL;
	struct watchdog *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->options = *options;
	rest_init(&w->rest);
	if (pthread_create(&w->thread, NULL, watchdog_loop, w) == 0) {
		*out = w;
		return CAIRN_OK;
	}
	rest_fini(&w->rest);
	free(w);
	return CAIRN_E_NOMEM;
}

void watchdog_stop(struct watchdog *w)
{
	if (!w)
		return;
	rest_end(&w->rest);
	pthread_join(w->thread, NULL);
	rest_fini(&w->rest);
	free(w);
}
