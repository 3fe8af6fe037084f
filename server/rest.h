/* Lets a thread wait between two pieces of its work: for a time, until it is woken, or until it must end. */
#ifndef CAIRN_SERVER_REST_H
#define CAIRN_SERVER_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

/** Must not move. */
struct rest {
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t wake;
	bool woken, ending;
};

void rest_init(struct rest *r);
/** The thread has ended. */
void rest_fini(struct rest *r);

/** Waits so long, or until it is woken; an earlier wake-up counts. On the thread. @return false: the thread must end */
bool rest_for(struct rest *r, int64_t us);

/** Wakes the thread. Any thread. */
void rest_wake(struct rest *r);

/** Asks the thread to end, without waiting. Any thread. */
void rest_end(struct rest *r);

#endif
