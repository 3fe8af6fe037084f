/* What failed or was slow within the last hour, for the operator's home: in memory, so a restart forgets it. */
#ifndef CAIRN_SERVER_RECENT_H
#define CAIRN_SERVER_RECENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	RECENT_SPAN_S = 3600,
	RECENT_FAILED = 500,      /* a status from then on */
	RECENT_SLOW_US = 1000000, /* from then on a request is slow */
	RECENT_KEPT = 128,        /* of each, the last ones */
	RECENT_ID_BYTES = 64,
};

/** An ended request. Plain value. */
struct recent_request {
	int64_t at_unix_s;
	const char *route; /* static */
	unsigned code;
	uint64_t duration_us;
	char id[RECENT_ID_BYTES]; /* by which the log has it, cut */
};

/** Zeroed except for its lock, which recent_init() makes, it is empty. Any thread. */
struct recent {
	pthread_mutex_t lock; /* over all */
	struct recent_ring {
		uint64_t n; /* since the start */
		struct recent_request kept[RECENT_KEPT];
	} failed, slow;
};

void recent_init(struct recent *r);
void recent_fini(struct recent *r);

/** Is it one to be added: with a status of 500 or more it has failed. */
static inline bool recent_is_kept(unsigned code, uint64_t duration_us)
{
	return code >= RECENT_FAILED || duration_us >= RECENT_SLOW_US;
}

/** A request has ended; one that is not to be kept is not. */
void recent_add(struct recent *r, const struct recent_request *request);

/** What is known of the last hour. */
struct recent_told {
	unsigned n; /* of those that are kept */
	bool more;  /* there were more */
	struct recent_request all[RECENT_KEPT];
};
/** Those that failed, the last one first. */
void recent_failed(struct recent *r, int64_t now_unix_s, struct recent_told *out);
/** Those that were slow, the slowest first. */
void recent_slow(struct recent *r, int64_t now_unix_s, struct recent_told *out);

#endif
