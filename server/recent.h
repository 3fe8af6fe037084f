/* Requests of the last hour that failed or were slow, for the operator's home. Kept in memory, lost at a restart. */
#ifndef CAIRN_SERVER_RECENT_H
#define CAIRN_SERVER_RECENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	RECENT_SPAN_S = 3600,
	RECENT_FAILED = 500,      /* requests with this status or a higher one count as failed */
	RECENT_SLOW_US = 1000000, /* requests of at least this duration count as slow */
	RECENT_KEPT = 128,        /* how many requests of each kind are kept */
	RECENT_ID_BYTES = 64,
};

/** An ended request. Plain value. */
struct recent_request {
	int64_t at_unix_s;
	const char *route; /* static */
	unsigned code;
	uint64_t duration_us;
	char id[RECENT_ID_BYTES]; /* as in the log; cut */
};

/** The kept requests. Empty when zeroed, except for the lock, which recent_init() makes. Any thread. */
struct recent {
	pthread_mutex_t lock; /* guards all members */
	struct recent_ring {
		uint64_t n; /* number of requests since the start */
		struct recent_request kept[RECENT_KEPT];
	} failed, slow;
};

void recent_init(struct recent *r);
void recent_fini(struct recent *r);

/** Does recent_add() keep a request with this code and duration? */
static inline bool recent_is_kept(unsigned code, uint64_t duration_us)
{
	return code >= RECENT_FAILED || duration_us >= RECENT_SLOW_US;
}

/** Adds an ended request, if recent_is_kept(). */
void recent_add(struct recent *r, const struct recent_request *request);

/** The kept requests of the last hour. */
struct recent_list {
	unsigned n; /* number of requests in the array */
	bool more;  /* there were more requests */
	struct recent_request all[RECENT_KEPT];
};
/** Copies the failed requests, the newest first. */
void recent_failed(struct recent *r, int64_t now_unix_s, struct recent_list *out);
/** Copies the slow requests, the slowest first. */
void recent_slow(struct recent *r, int64_t now_unix_s, struct recent_list *out);

#endif
