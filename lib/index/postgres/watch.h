/* Watches whether the server answers, for all connections of one index. While it is silent, one thread at a time tries
 * to connect, and all others fail at once, so that waits do not add up. */
#ifndef CAIRN_INDEX_POSTGRES_WATCH_H
#define CAIRN_INDEX_POSTGRES_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CAIRN_PG_SLOW_MS = 500,  /* a faster failure is a refusal, which costs no wait */
	CAIRN_PG_RETRY_MS = 500, /* time between attempts to reach a silent server */
};

struct cairn_pg_watch {
	pthread_mutex_t lock; /* guards the next five members */
	bool silent;
	bool gone;   /* it refuses connections, and a caller has retried in vain */
	bool trying; /* a thread is trying to connect */
	int64_t try_at_ms;
	unsigned n_silences; /* number of silences; a connection opened before the last is not reused */
	_Atomic uint64_t n_asked, n_failed, asked_ms;
};

void cairn_pg_watch_init(struct cairn_pg_watch *w);
void cairn_pg_watch_fini(struct cairn_pg_watch *w);

/** May the caller try to connect now? If true, it must call cairn_pg_watch_tried(). Any thread, as below. */
bool cairn_pg_watch_may_try(struct cairn_pg_watch *w);
/** Records the outcome of an attempt to connect. @param ms  how long it took */
void cairn_pg_watch_tried(struct cairn_pg_watch *w, bool connected, int64_t ms);

/** Counts an exchange of a connection. @param silent  the answer did not arrive in time */
void cairn_pg_watch_asked(struct cairn_pg_watch *w, bool well, bool silent, int64_t ms);

/** Records that a caller has given up. Others need not retry either, until a connection succeeds. */
void cairn_pg_watch_give_up(struct cairn_pg_watch *w);
/** Is the server silent or gone? Then do not wait for it. */
bool cairn_pg_watch_is_down(struct cairn_pg_watch *w);
unsigned cairn_pg_watch_silences(struct cairn_pg_watch *w);

#endif
