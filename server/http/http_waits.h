/* Bodies that wait for their bytes: limits their number, and ends their waits when the client leaves or the server
 * stops. Independent of the HTTP library. */
#ifndef CAIRN_SERVER_HTTP_WAITS_H
#define CAIRN_SERVER_HTTP_WAITS_H

#include "server/http/http.h"

#include <pthread.h>
#include <stdatomic.h>

/** A reserved place for one waiting body. Zeroed at first. */
struct http_place {
	struct http_place *next;
	uint64_t turn;
	bool taken;
};

/** The wait of a body. The owner sets source, ended, is_left and ctx. */
struct http_wait {
	struct http_waiter waiter; /* must be the first member */
	const struct http_source *source;
	/* Called when the wait is over, on any thread. May free the wait. @param has_bytes  false: the client left, or
	 * the server stops */
	void (*ended)(struct http_wait *wait, bool has_bytes);
	bool (*is_left)(void *ctx);
	void *ctx;
	struct http_waits *waits;
	struct http_wait *next, **prev;
};

/** All waiting bodies of a server. Any thread. */
struct http_waits {
	pthread_mutex_t lock; /* guards the other members, and the list's members of each wait */
	struct http_wait *first;
	struct http_place *places;
	atomic_uint n; /* number of waits; changed with the lock held */
	unsigned n_places;
	unsigned places_max, places_of_turn_max;
	bool stopped;
};

/** Initialises the table of waits. @param places_max  all reserved places; one turn gets a third, and at least one */
void http_waits_init(struct http_waits *waits, unsigned places_max);
/** Destroys the table. No body may wait, and no place may be taken. */
void http_waits_fini(struct http_waits *waits);

/** Reserves a place for a turn. @return false: all places are taken, or all of this turn */
bool http_waits_take(struct http_waits *waits, struct http_place *place, uint64_t turn);
/** Frees a place; harmless if none is taken. */
void http_waits_give(struct http_waits *waits, struct http_place *place);

/** Result of http_waits_begin(). BEGUN: ended() is called once, perhaps before the function returns. NO_NEED: bytes are
 * there. STOPPED: the server is stopping, so nothing waits. */
enum http_wait_begin { HTTP_WAIT_BEGUN, HTTP_WAIT_NO_NEED, HTTP_WAIT_STOPPED };
/** Lets a body wait for bytes at pos, after its source returned HTTP_NOT_YET. */
enum http_wait_begin http_waits_begin(struct http_waits *waits, struct http_wait *wait, uint64_t pos);

/** Ends the waiting of clients that have left. */
void http_waits_sweep(struct http_waits *waits);
/** Ends all waits. No body may wait afterwards. */
void http_waits_stop(struct http_waits *waits);

/** Returns how many bodies wait now. */
unsigned http_waits_count(const struct http_waits *waits);

#endif
