/* Feeds the watchdog of the manager of services (service.h) for as long as requests are served: each quarter of its
 * time the server is asked as a client would ask it, on each of its threads, and the workers for a moment of theirs.
 * What does not answer is logged, and then the watchdog starves. */
#ifndef CAIRN_SERVER_WATCHDOG_H
#define CAIRN_SERVER_WATCHDOG_H

#include "base/status.h"

#include <stdint.h>

/** The thread that asks. */
struct watchdog;

struct watchdog_options {
	uint64_t bites_us; /* after so long without being fed */
	/** @param timeout_ms  for each question. @return NULL: all is well; else the name of what gives no answer */
	const char *(*silent)(void *ctx, unsigned timeout_ms);
	void (*feed)(void);
	void *ctx;
};

/** Signals must be blocked, and the process be what it will be. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status watchdog_start(struct watchdog **out, const struct watchdog_options *options);

/** End the thread, and wait until it has. NULL is harmless. */
void watchdog_stop(struct watchdog *w);

#endif
