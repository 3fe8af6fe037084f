/* Bodies that wait for their bytes: how many there may be, and the end of waiting when the client leaves or the server
 * stops. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_WAITS_H
#define CAIRN_SERVER_HTTP_WAITS_H

#include "server/http/http.h"

#include <pthread.h>
#include <stdatomic.h>

/** A reserved place. Zeroed at first. */
struct http_place {
	struct http_place *next;
	uint64_t turn;
	bool taken;
};

/** A body that waits. The owner sets source, ended, is_left and ctx. */
struct http_wait {
	struct http_waiter waiter; /* first */
	const struct http_source *source;
	/* Waiting is over, on any thread. The wait may be freed. @param has_bytes  false: the client left, or the
	 * server stops */
	void (*ended)(struct http_wait *wait, bool has_bytes);
	bool (*is_left)(void *ctx);
	void *ctx;
	struct http_waits *waits;
	struct http_wait *next, **prev;
};

/** All bodies of a server. Any thread. */
struct http_waits {
	pthread_mutex_t lock; /* guards the rest, and the list's members of each wait */
	struct http_wait *first;
	struct http_place *places;
	atomic_uint n; /* written under the lock */
	unsigned n_places;
	unsigned places_max, places_of_turn_max;
	bool stopped;
};

/** @param places_max  limit of reserved places in all; a turn gets a third of it, and at least one */
void http_waits_init(struct http_waits *waits, unsigned places_max);
/** No body waits, and no place is taken. */
void http_waits_fini(struct http_waits *waits);

/** Takes a place for the turn. @return false: all are taken, or the turn's */
bool http_waits_take(struct http_waits *waits, struct http_place *place, uint64_t turn);
/** Gives a place back; harmless if it is not taken. */
void http_waits_give(struct http_waits *waits, struct http_place *place);

/** BEGUN: ended() is called, once, maybe before the function returns. NO_NEED: there are bytes. STOPPED: nobody waits
 * any more. */
enum http_wait_begin { HTTP_WAIT_BEGUN, HTTP_WAIT_NO_NEED, HTTP_WAIT_STOPPED };
/** Lets a body wait for bytes at pos, after its source said HTTP_NOT_YET. */
enum http_wait_begin http_waits_begin(struct http_waits *waits, struct http_wait *wait, uint64_t pos);

/** Ends the waiting of clients that have left. */
void http_waits_sweep(struct http_waits *waits);
/** Ends all waiting, and lets nobody wait from now on. */
void http_waits_stop(struct http_waits *waits);

/** How many bodies wait now. */
unsigned http_waits_count(const struct http_waits *waits);

#endif
