/* The rest of a thread between two pieces of its work: for a time, until it is woken, or until it is to end. */
#ifndef CAIRN_SERVER_REST_H
#define CAIRN_SERVER_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

/** Must not move. */
struct rest {
	pthread_mutex_t lock; /* over the rest */
	pthread_cond_t wake;
	bool woken, ending;
};

void rest_init(struct rest *r);
/** The thread has ended. */
void rest_fini(struct rest *r);

/** On the thread: wait so long, or until somebody wakes it, which may have been before. @return false: it is to end */
bool rest_for(struct rest *r, int64_t us);

/** Have it go on at once. Any thread. */
void rest_wake(struct rest *r);

/** Tell it to end, without waiting. Any thread. */
void rest_end(struct rest *r);

#endif
