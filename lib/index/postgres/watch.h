/* Whether the server answers, for all connections of one index: while it is silent, one asker at a time finds out
 * whether it is back, and all others are refused at once. So nobody waits behind others that wait. */
#ifndef CAIRN_INDEX_POSTGRES_WATCH_H
#define CAIRN_INDEX_POSTGRES_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CAIRN_PG_SLOW_MS = 500,  /* what fails sooner was refused, and costs nobody anything */
	CAIRN_PG_RETRY_MS = 500, /* from one attempt on a silent server to the next */
};

struct cairn_pg_watch {
	pthread_mutex_t lock; /* over the five below */
	bool silent;
	bool gone;   /* it refuses, and whoever could wait for it has done so in vain */
	bool trying; /* somebody tries to connect */
	int64_t try_at_ms;
	unsigned n_silences; /* connections that are older than the last one are not used again */
	_Atomic uint64_t n_asked, n_failed, asked_ms;
};

void cairn_pg_watch_init(struct cairn_pg_watch *w);
void cairn_pg_watch_fini(struct cairn_pg_watch *w);

/** May one try to connect now? After true: cairn_pg_watch_tried(). Any thread, as all below. */
bool cairn_pg_watch_may_try(struct cairn_pg_watch *w);
/** @param ms  how long it took */
void cairn_pg_watch_tried(struct cairn_pg_watch *w, bool connected, int64_t ms);

/** Count what a connection asked. @param silent  there was no answer in time */
void cairn_pg_watch_asked(struct cairn_pg_watch *w, bool well, bool silent, int64_t ms);

/** Somebody has given up retrying: others need not wait as well, until somebody is connected. */
void cairn_pg_watch_give_up(struct cairn_pg_watch *w);
/** Is it silent, or gone? Then there is nothing to wait for. */
bool cairn_pg_watch_is_down(struct cairn_pg_watch *w);
unsigned cairn_pg_watch_silences(struct cairn_pg_watch *w);

#endif
