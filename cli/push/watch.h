/* Waiting for another thread while somebody looks on. */
#ifndef CAIRN_CLI_WATCH_H
#define CAIRN_CLI_WATCH_H

#include <pthread.h>

/** What is called some ten times a second, without the lock. */
struct watch {
	void (*look)(void *ctx); /* NULL: nobody looks */
	void *ctx;
};

/** As pthread_cond_wait(): it may end without a reason. @param changed  of cairn_cond_init() */
void watch_wait(const struct watch *w, pthread_cond_t *changed, pthread_mutex_t *lock);

#endif
