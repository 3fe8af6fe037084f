/* Waits for another thread, and calls a function meanwhile. */
#ifndef CAIRN_CLI_WATCH_H
#define CAIRN_CLI_WATCH_H

#include <pthread.h>

/** A function called about ten times a second, without the lock. */
struct watch {
	void (*look)(void *ctx); /* NULL: not called */
	void *ctx;
};

/** Waits like pthread_cond_wait(), which may return without a signal. @param changed  made by cairn_cond_init() */
void watch_wait(const struct watch *w, pthread_cond_t *changed, pthread_mutex_t *lock);

#endif
