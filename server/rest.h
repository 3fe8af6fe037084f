/* Lets a thread wait between two pieces of its work: for a time, until it is woken, or until it must end. */
#ifndef CAIRN_SERVER_REST_H
#define CAIRN_SERVER_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

/** The state of the wait. It must not move. */
struct rest {
	pthread_mutex_t lock; /* guards the other members */
	pthread_cond_t wake;
	bool woken, ending;
};

void rest_init(struct rest *r);
/** Destroys the state. The thread must have ended. */
void rest_fini(struct rest *r);

/** Waits for this time, or until the thread is woken; an earlier wake-up counts, too. Call on the thread. @return
 * false: the thread must end */
bool rest_for(struct rest *r, int64_t us);

/** Wakes the thread from rest_for(). Any thread. */
void rest_wake(struct rest *r);

/** Asks the thread to end, without waiting. Any thread. */
void rest_end(struct rest *r);

#endif
